// Package recordtest is a conformance suite for record stores: every dialect's format must pass it.
package recordtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// Place is where one record is kept. Open returns a new store of it, as another process would open
// it. Writes returns the number of changes sent so far. Die lets the server store the given one of
// the next changes, counted from 1, and answer nothing from then on; 0 ends that.
type Place struct {
	Open    func() record.Store
	Destroy func() record.Store // opens one for a run that destroys the set; nil is Open
	Writes  func() int
	Die     func(change int)
	Sorted  bool // the format orders members itself instead of keeping the order of Save
	// Mark makes nothing exist but these objects, with the mark of the set. It is nil for a format
	// whose record alone decides what the members are. With a mark
	//   - Load returns objects that exist. They are as many as the record leads to, so that it still
	//     has to cover every object that may exist.
	//   - The first run chooses the mark: another one that has found no record, either, is refused.
	//   - A record that others have written is never deleted: other tools use the mark as well, and
	//     do not list in the record what they are about to create.
	Mark func(refs ...object.Ref)
}

// Run tests the stores of a format. place returns an empty place for each test.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for name, test := range map[string]func(*testing.T, Place){
		"nothing is recorded at first":            empty,
		"what is saved is loaded":                 roundTrip,
		"saving the same writes nothing":          same,
		"the first members of others are kept":    first,
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
	for name, before := range map[string][]string{"first": nil, "later": {"a", "b"}} {
		t.Run("a "+name+" run that dies is covered", func(t *testing.T) {
			for change := 1; dies(t, place(t), before, change); change++ {
			}
		})
	}
}

// kinds are those of some members, by name: a record may have to name the kinds of its members.
var kinds = map[string]string{"b": "Secret", "c": "Service", "d": "ServiceAccount"}

// members returns the state of objects that were applied.
func members(names ...string) *record.State {
	state := &record.State{}
	for _, name := range names {
		state.Members = append(state.Members, record.Member{
			Ref:      object.Ref{Kind: cmp.Or(kinds[name], "ConfigMap"), Namespace: "n", Name: name},
			Strategy: record.Apply, Actuation: record.Succeeded, Reconcile: record.Succeeded,
		})
	}
	return state
}

// refs returns the references of members.
func refs(names ...string) []object.Ref { return members(names...).Refs() }

// run is a store that has loaded its record, with the members that it knows.
type run struct {
	record.Store
	known []object.Ref
}

// start returns a run that loads a record where some members exist.
func (p Place) start(t *testing.T, open func() record.Store, exist []string) *run {
	t.Helper()
	if p.Mark != nil {
		p.Mark(refs(exist...)...)
		defer p.Mark()
	}
	store := open()
	return &run{store, load(t, store).Refs()}
}

// open returns a run that applies the set.
func (p Place) open(t *testing.T, exist ...string) *run {
	t.Helper()
	return p.start(t, p.Open, exist)
}

// destroy returns a run that destroys the set and has begun.
func (p Place) destroy(t *testing.T, exist ...string) *run {
	t.Helper()
	open := p.Destroy
	if open == nil {
		open = p.Open
	}
	r := p.start(t, open, exist)
	if len(r.known) > 0 {
		r.begin(t, nil)
	}
	return r
}

func load(t *testing.T, store record.Store) *record.State {
	t.Helper()
	state, err := store.Load(t.Context())
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return state
}

// intend saves what a run knows, and what it is about to write.
func (r *run) intend(ctx context.Context, more []object.Ref) error {
	all := object.NewSet(slices.Concat(r.known, more)...)
	state := &record.State{}
	for _, ref := range all.Refs() {
		state.Members = append(state.Members, record.Member{Ref: ref})
	}
	return r.Save(ctx, state)
}

// begin calls intend, which must succeed.
func (r *run) begin(t *testing.T, more []object.Ref) {
	t.Helper()
	if err := r.intend(t.Context(), more); err != nil {
		t.Fatalf("save before the first write: %v", err)
	}
}

// end saves the members after a run, which succeeded unless the state has a result.
func (r *run) end(ctx context.Context, state *record.State) error {
	ended := *state
	ended.Result = cmp.Or(state.Result, record.RunSucceeded)
	r.known = state.Refs()
	return r.Save(ctx, &ended)
}

// save saves the members before and after a run.
func save(t *testing.T, r *run, state *record.State) {
	t.Helper()
	r.begin(t, state.Refs())
	if err := r.end(t.Context(), state); err != nil {
		t.Fatalf("save: %v", err)
	}
}

// expect loads the record where all wanted members exist.
func expect(t *testing.T, p Place, want *record.State) {
	t.Helper()
	if p.Mark != nil {
		p.Mark(want.Refs()...)
		defer p.Mark()
	}
	if got := load(t, p.Open()); !got.Equal(want) {
		t.Errorf("loaded (-want +got):\n%s", gocmp.Diff(want.Members, got.Members))
	}
}

// expectCovered loads the record where members exist that it has to cover. How they are is unknown
// while a run lasts.
func expectCovered(t *testing.T, p Place, names ...string) {
	t.Helper()
	got := object.NewSet(p.open(t, names...).known...)
	for _, ref := range refs(names...) {
		if !got.Has(ref) {
			t.Errorf("%s is not recorded", ref)
		}
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
	want := &record.State{Result: record.RunFailed, Members: []record.Member{
		member(namespace, record.Apply, record.Succeeded, record.Pending),
		member(deployment, record.Apply, record.Succeeded, record.TimedOut),
		member(role, record.Delete, record.Failed, record.Skipped),
	}}
	store := p.open(t)
	save(t, store, want)
	expect(t, p, want)
	if got := load(t, p.Open()).Refs(); !p.Sorted && gocmp.Diff(want.Refs(), got) != "" {
		t.Errorf("the order changed: %v", got)
	}
}

func same(t *testing.T, p Place) {
	save(t, p.open(t), members("a", "b"))
	expectUnchanged(t, p, members("b", "a"))
}

// expectUnchanged ends a run that has written nothing, and expects that it writes no record.
func expectUnchanged(t *testing.T, p Place, state *record.State) {
	t.Helper()
	again := p.open(t)
	before := p.Writes()
	if err := again.end(t.Context(), state); err != nil {
		t.Fatalf("save: %v", err)
	}
	if after := p.Writes(); after != before {
		t.Errorf("%d writes for a record that had not changed", after-before)
	}
}

func first(t *testing.T, p Place) {
	one, other := p.open(t), p.open(t)
	save(t, one, members("a"))
	if p.Mark != nil {
		if err := other.intend(t.Context(), refs("b")); err == nil {
			t.Error("a run has begun with another mark than the recorded one")
		}
		other = p.open(t)
	}
	save(t, other, members("a", "b"))
	expect(t, p, members("a", "b"))
}

func concurrent(t *testing.T, p Place) {
	save(t, p.open(t), members("d"))
	one, other := p.open(t), p.open(t)
	save(t, one, members("d", "a"))
	save(t, other, members("d", "b"))
	expect(t, p, members("d", "a", "b"))
	save(t, one, members("d", "a", "c"))
	expect(t, p, members("d", "a", "b", "c"))
}

func both(t *testing.T, p Place) {
	save(t, p.open(t), members("d"))
	one, other := p.open(t), p.open(t)
	save(t, one, members("d", "a", "b"))
	save(t, other, members("d", "a", "b", "c"))
	save(t, other, members("d", "b"))
	expect(t, p, members("d", "a", "b"))
	save(t, one, members("d", "b"))
	expect(t, p, members("d", "b"))
}

func shrink(t *testing.T, p Place) {
	store := p.open(t)
	save(t, store, members("a", "b", "c"))
	again := p.open(t)
	save(t, again, members("a", "b", "c"))
	save(t, again, members("b"))
	expect(t, p, members("b"))
}

func forget(t *testing.T, p Place) {
	save(t, p.open(t), members("a"))
	store := p.destroy(t, "a")
	for range 2 {
		if err := store.Delete(t.Context(), nil, nil); err != nil {
			t.Fatalf("delete: %v", err)
		}
	}
	expect(t, p, &record.State{})
	if err := p.destroy(t).Delete(t.Context(), nil, nil); err != nil {
		t.Errorf("delete of what is not there: %v", err)
	}
}

func keepsFailed(t *testing.T, p Place) {
	save(t, p.open(t), members("a"))
	store := p.destroy(t, "a")
	failed, calls := errors.New("failed"), 0
	before := func(context.Context, func(context.Context) error) error {
		calls++
		expectCovered(t, p, "a")
		if calls == 1 {
			return failed
		}
		return nil
	}
	if err := store.Delete(t.Context(), nil, before); !errors.Is(err, failed) {
		t.Errorf("delete: %v", err)
	}
	expectCovered(t, p, "a")
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
	store := p.open(t)
	save(t, store, members(names...))
	expect(t, p, members(names...))
}

func nobody(t *testing.T, p Place) {
	store := p.open(t)
	save(t, store, members("a"))
	save(t, store, &record.State{})
	expect(t, p, &record.State{})
}

func progress(t *testing.T, p Place) {
	store := p.open(t)
	pending := members("a")
	pending.Result = record.RunFailed
	pending.Members[0].Actuation, pending.Members[0].Reconcile = record.Pending, record.Pending
	save(t, store, pending)
	expect(t, p, pending)
	save(t, store, members("a"))
	expect(t, p, members("a"))
}

func unconditional(t *testing.T, p Place) {
	store := p.open(t)
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
	if diff := gocmp.Diff(&want, changed); diff != "" {
		t.Errorf("the error (-want +got):\n%s", diff)
	}
}

func keepsAdded(t *testing.T, p Place) {
	save(t, p.open(t), members("a"))
	destroying, other := p.destroy(t, "a"), p.open(t)
	save(t, other, members("a", "b"))
	if p.Mark != nil { // another tool has made it a member
		p.Mark(refs("e")...)
		expectChanged(t, destroying, refs("a"), record.ChangedError{Added: refs("e")})
		p.Mark()
	}
	expectChanged(t, destroying, refs("a"), record.ChangedError{Added: refs("b"), Gone: refs("a")})
	expect(t, p, members("a", "b"))
	if err := destroying.end(t.Context(), &record.State{Result: record.RunFailed}); err != nil {
		t.Fatalf("save: %v", err)
	}
	expect(t, p, members("b"))
}

func keepsGone(t *testing.T, p Place) {
	save(t, p.open(t), members("a", "b"))
	destroying, other := p.destroy(t, "a", "b"), p.open(t)
	save(t, other, members("a"))
	expectChanged(t, destroying, refs("a", "b"), record.ChangedError{Gone: refs("a")})
	err := destroying.Delete(t.Context(), nil, nil)
	if p.Mark != nil {
		if err == nil {
			t.Error("the record that others have written was deleted")
		}
		expect(t, p, members("a"))
		return
	}
	if err != nil {
		t.Errorf("delete: %v", err)
	}
	expect(t, p, &record.State{})
}

func dropsGone(t *testing.T, p Place) {
	save(t, p.open(t), members("a", "b"))
	one := p.open(t)
	state := members("a")
	state.Gone = refs("b")
	save(t, one, state)
	expect(t, p, members("a"))
	other := p.open(t)
	save(t, one, members("a", "c"))
	state = members("c")
	state.Gone = refs("a")
	save(t, other, state)
	expect(t, p, members("a", "c"))
}

func replaced(t *testing.T, p Place) {
	save(t, p.open(t), members("a"))
	one, other := p.destroy(t, "a"), p.destroy(t, "a")
	if err := other.Delete(t.Context(), refs("a"), nil); err != nil {
		t.Fatal(err)
	}
	save(t, p.open(t), members("a"))
	expectChanged(t, one, refs("a"), record.ChangedError{Added: refs("a")})
	expect(t, p, members("a"))
}

func touched(t *testing.T, p Place) {
	save(t, p.open(t), members("a"))
	destroying, other := p.destroy(t, "a"), p.open(t)
	before := p.Writes()
	touch := &record.State{Members: []record.Member{{Ref: refs("a")[0]}}, Touch: true}
	if err := other.Save(t.Context(), touch); err != nil {
		t.Fatalf("save: %v", err)
	}
	if p.Writes() == before {
		t.Error("nothing was written")
	}
	expectChanged(t, destroying, refs("a"), record.ChangedError{Gone: refs("a")})
	if err := other.end(t.Context(), members("a")); err != nil {
		t.Fatalf("save: %v", err)
	}
	expect(t, p, members("a"))
	expectUnchanged(t, p, members("a"))
}

// dies runs a set that has some members, ends with b and c, and dies at a change of the record. It
// reports whether there was such a change.
func dies(t *testing.T, p Place, before []string, change int) bool {
	if before != nil {
		save(t, p.open(t), members(before...))
	}
	store, covered := p.open(t, before...), before
	p.Die(change)
	err := store.intend(t.Context(), refs("b", "c"))
	if err == nil {
		covered = []string{"b", "c"}
		err = store.end(t.Context(), members(covered...))
	}
	p.Die(0)
	expectCovered(t, p, covered...)
	save(t, p.open(t, covered...), members("b", "c"))
	expect(t, p, members("b", "c"))
	return err != nil
}
