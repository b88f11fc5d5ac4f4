// Package recordtest is a conformance suite for record stores: every dialect's format must pass it.
package recordtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// Place is where one record is kept. Open returns a new store of it, as another process would open
// it. Writes returns the number of changes sent so far.
type Place struct {
	Open   func() record.Store
	Writes func() int
	Sorted bool // the format orders members itself instead of keeping the order of Save
}

// Run tests the stores of a format. place returns an empty place for each test.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"nothing is recorded at first":            empty,
		"what is saved is loaded":                 roundTrip,
		"saving the same writes nothing":          same,
		"members of others are kept":              concurrent,
		"what two runs added, one cannot give up": both,
		"members leave":                           shrink,
		"deleting forgets, also twice":            forget,
		"what comes before a deletion keeps it":   keepsFailed,
		"a thousand members":                      many,
		"a record without members is a record":    nobody,
		"the condition of a member changes":       progress,
		"a member without a condition keeps it":   unconditional,
		"what others added is not deleted":        keepsAdded,
		"what others may create is not deleted":   keepsGone,
		"what others may create is not dropped":   dropsGone,
		"a record of others is not deleted":       replaced,
		"a touched record is written":             touched,
	} {
		t.Run(name, func(t *testing.T) { test(t, place(t)) })
	}
}

// members returns the state of config maps that were applied.
func members(names ...string) *record.State {
	state := &record.State{}
	for _, name := range names {
		state.Members = append(state.Members, record.Member{
			Ref:      object.Ref{Kind: "ConfigMap", Namespace: "n", Name: name},
			Strategy: record.Apply, Actuation: record.Succeeded, Reconcile: record.Succeeded,
		})
	}
	return state
}

func load(t *testing.T, store record.Store) *record.State {
	t.Helper()
	state, err := store.Load(t.Context())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return state
}

func save(t *testing.T, store record.Store, state *record.State) {
	t.Helper()
	if err := store.Save(t.Context(), state); err != nil {
		t.Fatalf("save: %v", err)
	}
}

func expect(t *testing.T, p Place, want *record.State) {
	t.Helper()
	if got := load(t, p.Open()); !got.Equal(want) {
		t.Errorf("loaded (-want +got):\n%s", cmp.Diff(want, got))
	}
}

func empty(t *testing.T, p Place) {
	expect(t, p, &record.State{})
	if p.Writes() != 0 {
		t.Error("loading wrote something")
	}
}

func roundTrip(t *testing.T, p Place) {
	member := func(ref object.Ref, s record.Strategy, act, reconcile record.Progress) record.Member {
		return record.Member{Ref: ref, Strategy: s, Actuation: act, Reconcile: reconcile}
	}
	namespace := object.Ref{Kind: "Namespace", Name: "n"}
	deployment := object.Ref{Group: "apps", Kind: "Deployment", Namespace: "n", Name: "web"}
	role := object.Ref{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: "system:thing"}
	want := &record.State{Members: []record.Member{
		member(namespace, record.Apply, record.Succeeded, record.Pending),
		member(deployment, record.Apply, record.Succeeded, record.TimedOut),
		member(role, record.Delete, record.Failed, record.Skipped),
	}}
	store := p.Open()
	load(t, store)
	save(t, store, want)
	expect(t, p, want)
	if got := load(t, p.Open()).Refs(); !p.Sorted && cmp.Diff(want.Refs(), got) != "" {
		t.Errorf("the order changed: %v", got)
	}
}

func same(t *testing.T, p Place) {
	store := p.Open()
	load(t, store)
	save(t, store, members("a", "b"))
	before := p.Writes()
	save(t, store, members("b", "a"))
	again := p.Open()
	load(t, again)
	save(t, again, members("a", "b"))
	if after := p.Writes(); after != before {
		t.Errorf("%d writes for a record that had not changed", after-before)
	}
}

func concurrent(t *testing.T, p Place) {
	first, second := p.Open(), p.Open()
	load(t, first)
	load(t, second)
	save(t, first, members("a"))
	save(t, second, members("b"))
	expect(t, p, members("a", "b"))
	save(t, first, members("a", "c"))
	expect(t, p, members("a", "b", "c"))
}

func both(t *testing.T, p Place) {
	first, second := p.Open(), p.Open()
	load(t, first)
	load(t, second)
	save(t, first, members("a", "b"))
	save(t, second, members("a", "b", "c"))
	save(t, second, members("b"))
	expect(t, p, members("a", "b"))
	save(t, first, members("b"))
	expect(t, p, members("b"))
}

func shrink(t *testing.T, p Place) {
	store := p.Open()
	load(t, store)
	save(t, store, members("a", "b", "c"))
	again := p.Open()
	load(t, again)
	save(t, again, members("a", "b", "c"))
	save(t, again, members("b"))
	expect(t, p, members("b"))
}

func forget(t *testing.T, p Place) {
	store := p.Open()
	load(t, store)
	save(t, store, members("a"))
	for range 2 {
		if err := store.Delete(t.Context(), nil, nil); err != nil {
			t.Fatalf("delete: %v", err)
		}
	}
	expect(t, p, &record.State{})
	fresh := p.Open()
	load(t, fresh)
	if err := fresh.Delete(t.Context(), nil, nil); err != nil {
		t.Errorf("delete of what is not there: %v", err)
	}
}

func keepsFailed(t *testing.T, p Place) {
	store := p.Open()
	load(t, store)
	save(t, store, members("a"))
	failed, calls := errors.New("failed"), 0
	before := func(context.Context, func(context.Context) error) error {
		calls++
		expect(t, p, members("a"))
		if calls == 1 {
			return failed
		}
		return nil
	}
	if err := store.Delete(t.Context(), nil, before); !errors.Is(err, failed) {
		t.Errorf("delete: %v", err)
	}
	expect(t, p, members("a"))
	if err := store.Delete(t.Context(), nil, before); err != nil || calls != 2 {
		t.Errorf("delete: %v, after %d calls", err, calls)
	}
	expect(t, p, &record.State{})
}

func many(t *testing.T, p Place) {
	names := make([]string, 1000)
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	store := p.Open()
	load(t, store)
	save(t, store, members(names...))
	expect(t, p, members(names...))
}

func nobody(t *testing.T, p Place) {
	store := p.Open()
	load(t, store)
	save(t, store, members("a"))
	save(t, store, &record.State{})
	expect(t, p, &record.State{})
}

func progress(t *testing.T, p Place) {
	store := p.Open()
	load(t, store)
	pending := members("a")
	pending.Members[0].Actuation, pending.Members[0].Reconcile = record.Pending, record.Pending
	save(t, store, pending)
	expect(t, p, pending)
	save(t, store, members("a"))
	expect(t, p, members("a"))
}

// gone returns the references of members.
func gone(names ...string) []object.Ref { return members(names...).Refs() }

func unconditional(t *testing.T, p Place) {
	store := p.Open()
	load(t, store)
	save(t, store, members("a", "b"))
	state := members("a", "b")
	state.Members[0] = record.Member{Ref: state.Members[0].Ref}
	save(t, store, state)
	expect(t, p, members("a", "b"))
}

// expectChanged deletes a record and expects that it is not, for the reason.
func expectChanged(
	t *testing.T, store record.Store, deleted []object.Ref, want record.ChangedError,
) {
	t.Helper()
	err := store.Delete(t.Context(), deleted, nil)
	changed := (*record.ChangedError)(nil)
	if !errors.As(err, &changed) {
		t.Fatalf("delete: %v", err)
	}
	if diff := cmp.Diff(&want, changed); diff != "" {
		t.Errorf("the error (-want +got):\n%s", diff)
	}
}

func keepsAdded(t *testing.T, p Place) {
	first, second := p.Open(), p.Open()
	load(t, first)
	save(t, first, members("a"))
	load(t, second)
	save(t, second, members("a", "b"))
	expectChanged(t, first, gone("a"), record.ChangedError{Added: gone("b"), Gone: gone("a")})
	expect(t, p, members("a", "b"))
	save(t, first, &record.State{})
	expect(t, p, members("b"))
}

func keepsGone(t *testing.T, p Place) {
	first, second := p.Open(), p.Open()
	load(t, first)
	save(t, first, members("a", "b"))
	load(t, second)
	save(t, second, members("a"))
	expectChanged(t, first, gone("a", "b"), record.ChangedError{Gone: gone("a")})
	if err := first.Delete(t.Context(), nil, nil); err != nil {
		t.Errorf("delete: %v", err)
	}
	expect(t, p, &record.State{})
}

func dropsGone(t *testing.T, p Place) {
	first, second := p.Open(), p.Open()
	load(t, first)
	save(t, first, members("a", "b"))
	load(t, second)
	state := members("a")
	state.Gone = gone("b")
	save(t, second, state)
	expect(t, p, members("a"))
	third := p.Open()
	load(t, third)
	save(t, second, members("a", "c"))
	state = members("c")
	state.Gone = gone("a")
	save(t, third, state)
	expect(t, p, members("a", "c"))
}

func replaced(t *testing.T, p Place) {
	first, second := p.Open(), p.Open()
	load(t, first)
	save(t, first, members("a"))
	load(t, second)
	if err := second.Delete(t.Context(), gone("a"), nil); err != nil {
		t.Fatal(err)
	}
	third := p.Open()
	load(t, third)
	save(t, third, members("a"))
	expectChanged(t, first, gone("a"), record.ChangedError{Added: gone("a")})
	expect(t, p, members("a"))
}

func touched(t *testing.T, p Place) {
	store := p.Open()
	load(t, store)
	save(t, store, members("a"))
	other := p.Open()
	load(t, other)
	before := p.Writes()
	save(t, store, &record.State{Members: []record.Member{{Ref: gone("a")[0]}}, Touch: true})
	if p.Writes() == before {
		t.Error("nothing was written")
	}
	expectChanged(t, other, gone("a"), record.ChangedError{Gone: gone("a")})
	save(t, store, members("a"))
	expect(t, p, members("a"))
	before = p.Writes()
	save(t, store, members("a"))
	if p.Writes() != before {
		t.Error("the same was written twice")
	}
}
