package inventory

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

func aState(names ...string) *record.State {
	state := &record.State{}
	for _, name := range names {
		state.Members = append(state.Members, record.Member{
			Ref:      object.Ref{Kind: "ConfigMap", Namespace: "n", Name: name},
			Strategy: record.Apply, Actuation: record.Succeeded, Reconcile: record.Succeeded,
		})
	}
	return state
}

// save loads and saves as one run does.
func save(t *testing.T, s *Store, state *record.State) {
	t.Helper()
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), state); err != nil {
		t.Fatal(err)
	}
}

// The labels and annotations of the package are on the record, also those that it gets later.
// Others stay.
func TestLabelsFollowThePackage(t *testing.T) {
	for _, inv := range []*Inventory{anInventory(), aMapInventory(IDKey)} {
		c := &enginetest.Cluster{}
		save(t, NewStore(c, inv, true), aState("a"))
		stored := c.Object(inv.Ref)
		stored.SetLabels(merged(stored.GetLabels(), map[string]string{"theirs": "kept"}))
		c.Put(stored)
		inv.Labels["team"] = "blue"
		inv.Annotations = map[string]string{"note": "read me"}
		before := len(c.Wrote)
		save(t, NewStore(c, inv, true), aState("a"))
		save(t, NewStore(c, inv, true), aState("a"))
		if wrote := c.Wrote[before:]; len(wrote) != 1 {
			t.Errorf("%s: wrote %v, want one change", inv.Ref, wrote)
		}
		want := map[string]string{IDKey: "id-1", "team": "blue", "theirs": "kept"}
		if diff := cmp.Diff(want, c.Object(inv.Ref).GetLabels()); diff != "" {
			t.Errorf("%s: labels (-want +got):\n%s", inv.Ref, diff)
		}
		if diff := cmp.Diff(inv.Annotations, c.Object(inv.Ref).GetAnnotations()); diff != "" {
			t.Errorf("%s: annotations (-want +got):\n%s", inv.Ref, diff)
		}
	}
}

// The save before a run writes the members alone, and nothing if there is no new one. The save
// after it writes their statuses.
func TestStatusesAreWrittenOnce(t *testing.T) {
	c := &enginetest.Cluster{}
	wrote := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, c.Wrote); diff != "" {
			t.Errorf("wrote (-want +got):\n%s", diff)
		}
		c.Wrote = nil
	}
	status := func() map[string]any {
		status, _ := c.Object(anInventory().Ref).Object["status"].(map[string]any)
		return status
	}
	intent := func(names ...string) *record.State {
		state := &record.State{}
		for _, ref := range aState(names...).Refs() {
			state.Members = append(state.Members, record.Member{Ref: ref})
		}
		return state
	}
	s := NewStore(c, anInventory(), true)
	save(t, s, intent("a", "b"))
	wrote("create n/resourcegroup.kpt.dev/inventory")
	if status() != nil {
		t.Errorf("status = %v before the end of a run", status())
	}
	save(t, s, aState("a", "b"))
	wrote("replace n/resourcegroup.kpt.dev/inventory")
	save(t, s, intent("a", "b"))
	wrote()
	save(t, s, intent("a", "b", "c"))
	wrote("replace n/resourcegroup.kpt.dev/inventory")
	generation := c.Object(anInventory().Ref).GetGeneration()
	if status()["observedGeneration"] == generation {
		t.Errorf(
			"the statuses of an earlier run are of generation %d, which has a new member",
			generation,
		)
	}
}

// refusing answers its next write with an error, without doing it.
type refusing struct {
	*enginetest.Cluster
	next error
}

func (c *refusing) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	if err := c.next; err != nil {
		c.next = nil
		return nil, err
	}
	return c.Cluster.Write(ctx, w)
}

// A conflict does not keep members that are gone, unless others have written the record.
func TestConflictWithNobody(t *testing.T) {
	for _, others := range []bool{false, true} {
		c := &refusing{Cluster: &enginetest.Cluster{}}
		s := NewStore(c, anInventory(), true)
		save(t, s, aState("a", "b"))
		if _, err := s.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := 1
		if others {
			want = 2
			theirs := c.Object(anInventory().Ref)
			theirs.SetAnnotations(map[string]string{"theirs": "x"})
			c.Put(theirs)
		}
		c.next = apierrors.NewConflict(schema.GroupResource{}, "inventory", errors.New("changed"))
		state := aState("a")
		state.Gone = aState("b").Refs()
		if err := s.Save(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		members, _, _ := unstructured.NestedSlice(c.Object(anInventory().Ref).Object, "spec", "resources")
		if len(members) != want {
			t.Errorf("written by others: %t, %d members are left, want %d", others, len(members), want)
		}
	}
}

// A run that was interrupted after another one has written the record adds what it may have written
// itself, and leaves the rest to the other one, with the conditions.
func TestOvertaken(t *testing.T) {
	c := &enginetest.Cluster{}
	old, other := NewStore(c, anInventory(), true), NewStore(c, anInventory(), true)
	save(t, old, aState("a", "b", "c"))
	for _, s := range []*Store{old, other} {
		if _, err := s.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	theirs := aState("a")
	theirs.Result = record.RunSucceeded
	theirs.Gone = aState("b", "c").Refs()
	if err := other.Save(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	late := aState("a", "b", "c")
	for i := range late.Members {
		late.Members[i].Actuation = record.Pending
	}
	late.Result, late.Untouched = record.RunInterrupted, aState("a", "c").Refs()
	if err := old.Save(t.Context(), late); err != nil {
		t.Fatal(err)
	}
	state, err := NewStore(c, anInventory(), true).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := aState("a", "b").Refs(); !slices.Equal(state.Refs(), want) {
		t.Errorf("the record has %s, want %s", state.Refs(), want)
	}
	for _, m := range state.Members {
		if m.Ref == aState("a").Refs()[0] && m.Actuation != record.Succeeded {
			t.Errorf("%s: %s, want what the other run has written", m.Ref, m.Actuation)
		}
	}
}

// A run that adds a member and removes it again ends with the statuses that were there: they are
// written all the same, since they belong to another generation.
func TestStatusesAreOfTheGeneration(t *testing.T) {
	c := &enginetest.Cluster{}
	save(t, NewStore(c, anInventory(), true), aState("a"))
	s := NewStore(c, anInventory(), true)
	save(t, s, &record.State{Members: []record.Member{
		{Ref: aState("a").Members[0].Ref}, {Ref: aState("b").Members[0].Ref},
	}})
	if err := s.Save(t.Context(), aState("a")); err != nil {
		t.Fatal(err)
	}
	group := c.Object(anInventory().Ref)
	observed, _, _ := unstructured.NestedInt64(group.Object, "status", "observedGeneration")
	if observed != group.GetGeneration() || observed < 3 {
		t.Errorf("the statuses are of generation %d, the members of %d", observed,
			group.GetGeneration())
	}
}

// A first run without the right to write statuses fails before its first write. A run
// that adds nothing, and one whose record has statuses or is to have none, does not ask.
func TestStatusRight(t *testing.T) {
	c := &enginetest.Cluster{Denied: map[string]bool{"update resourcegroups/status": true}}
	intent := &record.State{Members: []record.Member{{Ref: aState("a").Members[0].Ref}}}
	s := NewStore(c, anInventory(), true)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := s.Save(t.Context(), intent)
	if err == nil || !strings.Contains(err.Error(), "right to update resourcegroups/status in "+
		"namespace n; --status-policy=none") || len(c.Wrote) > 0 {
		t.Errorf("error %v after %v", err, c.Wrote)
	}
	c.Denied["create resourcegroups"] = true // a record without status cannot be written either
	if err = s.Save(t.Context(), intent); err == nil ||
		!strings.HasSuffix(err.Error(), "in namespace n, and to create resourcegroups") {
		t.Errorf("error %v", err)
	}
	save(t, NewStore(c, anInventory(), false), intent)
	save(t, NewStore(c, aMapInventory(IDKey), true), intent)
	save(t, NewStore(c, anInventory(), true), intent)
	save(t, NewStore(c, anInventory(), true), aState("a"))
	intent.Members = append(intent.Members, record.Member{Ref: aState("b").Members[0].Ref})
	save(t, NewStore(c, anInventory(), true), intent)
}

// A record says whether the last run succeeded, unless it has no statuses.
func TestUnfinished(t *testing.T) {
	failed, slow, intent := aState("a", "b"), aState("a", "b"), aState("a", "b")
	failed.Members[1].Actuation = record.Failed
	slow.Members[0].Reconcile = record.TimedOut
	for i := range intent.Members {
		intent.Members[i] = record.Member{Ref: intent.Members[i].Ref}
	}
	skipped := aState("a")
	skipped.Members[0].Actuation, skipped.Members[0].Reconcile = record.Skipped, record.Skipped
	for _, inv := range []*Inventory{anInventory(), aMapInventory(IDKey)} {
		for name, tc := range map[string]struct {
			state            *record.State
			want, noStatuses bool
		}{
			"nothing": {state: aState()}, "succeeded": {state: aState("a", "b")},
			"failed": {state: failed, want: true}, "slow": {state: slow, want: true},
			"killed": {state: intent, want: true}, "skipped": {state: skipped},
			"no statuses": {state: failed, noStatuses: true},
		} {
			c := &enginetest.Cluster{}
			save(t, NewStore(c, inv, !tc.noStatuses), tc.state)
			s := NewStore(c, inv, !tc.noStatuses)
			if _, err := s.Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := s.Unfinished(); got != tc.want {
				t.Errorf("%s, %s: unfinished %v", inv.Ref, name, got)
			}
		}
	}
}

// A run that is about to write members says, in one request, that what is known of them does not
// hold any more: the record of a run that is killed shows no earlier success.
func TestPendingMembers(t *testing.T) {
	for _, inv := range []*Inventory{anInventory(), aMapInventory(IDKey)} {
		c := &enginetest.Cluster{}
		save(t, NewStore(c, inv, true), aState("a", "b"))
		before := len(c.Wrote)
		begun := aState("a", "b")
		begun.Members[0].Actuation, begun.Members[0].Reconcile = record.Pending, record.Pending
		want := slices.Clone(begun.Members)
		begun.Members[1] = record.Member{Ref: begun.Members[1].Ref}
		s := NewStore(c, inv, true)
		save(t, s, begun)
		save(t, s, begun)
		if wrote := len(c.Wrote) - before; wrote != 1 {
			t.Errorf("%s: %d writes", inv.Ref, wrote)
		}
		again := NewStore(c, inv, true)
		state, err := again.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, state.Members); diff != "" || !again.Unfinished() {
			t.Errorf("%s: unfinished %t, members (-want +got):\n%s", inv.Ref, again.Unfinished(), diff)
		}
	}
}

// Without statuses nothing is said of members, and what an earlier run said is left alone.
func TestStatusPolicyNone(t *testing.T) {
	c := &enginetest.Cluster{}
	save(t, NewStore(c, anInventory(), false), aState("a"))
	save(t, NewStore(c, anInventory(), false), aState("a"))
	if diff := cmp.Diff([]string{"create n/resourcegroup.kpt.dev/inventory"}, c.Wrote); diff != "" {
		t.Errorf("wrote (-want +got):\n%s", diff)
	}
	if _, ok := c.Object(anInventory().Ref).Object["status"]; ok {
		t.Error("a status was stored")
	}

	inv := aMapInventory(IDKey)
	save(t, NewStore(c, inv, true), aState("a"))
	save(t, NewStore(c, inv, false), aState("a", "b"))
	want := map[string]string{
		"n_a__ConfigMap": `{"actuation":"Succeeded","reconcile":"Succeeded","strategy":"Apply"}`,
		"n_b__ConfigMap": "",
	}
	if got, _ := dataOf(c.Object(inv.Ref)); cmp.Diff(want, got) != "" {
		t.Errorf("data (-want +got):\n%s", cmp.Diff(want, got))
	}
}

// A record that was edited into something that is none is an error that names the place, and
// nothing is written.
func TestDamagedRecord(t *testing.T) {
	resources := func(items ...any) map[string]any {
		return map[string]any{"spec": map[string]any{"resources": items}}
	}
	fine := map[string]any{"group": "", "kind": "ConfigMap", "namespace": "n", "name": "a"}
	for want, test := range map[string]struct {
		inventory *Inventory
		content   map[string]any
	}{
		"entry 2 of spec.resources names no object": {
			anInventory(), resources(fine, map[string]any{"kind": "ConfigMap", "namespace": "n"}),
		},
		"entry 1 of spec.resources names no object": {anInventory(), resources("ConfigMap")},
		`the key "colour" of its data names no object: it has too few fields`: {
			aMapInventory(IDKey),
			map[string]any{"data": map[string]any{"n_a__ConfigMap": "", "colour": "blue"}}},
		`the key "n_a_b__ConfigMap" of its data names no object: it has too many fields`: {
			aMapInventory(IDKey), map[string]any{"data": map[string]any{"n_a_b__ConfigMap": ""}}},
	} {
		c := &enginetest.Cluster{}
		obj := NewStore(c, test.inventory, true).newObject(1)
		obj.SetLabels(test.inventory.Labels)
		for key, value := range test.content {
			obj.Object[key] = value
		}
		c.Put(obj)
		_, err := NewStore(c, test.inventory, true).Load(t.Context())
		if err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), "is damaged: ") {
			t.Errorf("error = %v, want %s", err, want)
		}
		if len(c.Wrote) > 0 {
			t.Errorf("wrote %v", c.Wrote)
		}
	}
}

// The first tools changed the name of the ConfigMap: it is found by its label, whichever that is.
func TestConfigMapIsFoundByItsLabel(t *testing.T) {
	for _, label := range IDKeys {
		c := &enginetest.Cluster{}
		put := func(name string) {
			obj := &unstructured.Unstructured{
				Object: map[string]any{"data": map[string]any{"_n__Namespace": ""}},
			}
			obj.SetGroupVersionKind(ConfigMapKind)
			obj.SetNamespace("n")
			obj.SetName(name)
			obj.SetLabels(map[string]string{label: "id-1"})
			c.Put(obj)
		}
		put("inventory-1e5824fb")
		s := NewStore(c, aMapInventory(IDKey), true)
		state, err := s.Load(t.Context())
		if want := []object.Ref{{Kind: "Namespace", Name: "n"}}; err != nil ||
			cmp.Diff(want, state.Refs()) != "" {
			t.Fatalf("loaded %v, %v", state, err)
		}
		if err := s.Save(t.Context(), aState("a")); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"replace n/configmap/inventory-1e5824fb"}, c.Wrote); diff != "" {
			t.Errorf("wrote (-want +got):\n%s", diff)
		}
		put("inventory-fb5824e1")
		if label != IDKey {
			continue // the first has the present label as well now, and is the one
		}
		_, err = NewStore(c, aMapInventory(IDKey), true).Load(t.Context())
		if err == nil ||
			!strings.Contains(err.Error(), "such as inventory-1e5824fb and inventory-fb5824e1") {
			t.Errorf("error = %v", err)
		}
	}
}

func TestConfigMapOfAnotherIsRefused(t *testing.T) {
	c := &enginetest.Cluster{}
	other := aMapInventory(IDKey)
	other.ID, other.Labels = "id-2", map[string]string{IDKey: "id-2"}
	save(t, NewStore(c, other, true), aState("a"))
	_, err := NewStore(c, aMapInventory(IDKey), true).Load(t.Context())
	if err == nil || !strings.Contains(err.Error(), `has the id "id-2", but this package has "id-1"`) {
		t.Errorf("error = %v", err)
	}
}

// What a run is about to write is unwritten until the run has ended, in both formats. Members that
// were written before, and those of older tools, which store no conditions, are not.
func TestUnwritten(t *testing.T) {
	for _, inv := range []*Inventory{anInventory(), aMapInventory(IDKey)} {
		c := &enginetest.Cluster{}
		expect := func(want ...string) {
			t.Helper()
			state, err := NewStore(c, inv, true).Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, ref := range state.Unwritten {
				names = append(names, ref.Name)
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s: unwritten %v, want %v", inv.Ref, names, want)
			}
		}
		save(t, NewStore(c, inv, true), aState("a"))
		expect()
		intent := aState("a", "b")
		for i, m := range intent.Members {
			intent.Members[i] = record.Member{Ref: m.Ref}
		}
		save(t, NewStore(c, inv, true), intent)
		expect("b")
		save(t, NewStore(c, inv, true), aState("a", "b"))
		expect()
	}
	c, inv := &enginetest.Cluster{}, aMapInventory(IDKey)
	save(t, NewStore(c, inv, false), aState("old"))
	if state, err := NewStore(c, inv, true).Load(t.Context()); err != nil || state.Unwritten != nil {
		t.Errorf("unwritten %v, %v", state.Unwritten, err)
	}
}

// The deletion of a record can be tried before it: what the server refuses is found out by one dry
// run, which changes nothing, in both formats.
func TestTryDelete(t *testing.T) {
	for _, inv := range []*Inventory{anInventory(), aMapInventory(IDKey)} {
		c := &enginetest.Cluster{}
		save(t, NewStore(c, inv, true), &record.State{})
		s := NewStore(c, inv, true)
		if _, err := s.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		forgot := false
		before := func(ctx context.Context, try func(context.Context) error) error {
			err := try(ctx)
			forgot = err == nil
			return err
		}
		refused := errors.New("refused")
		c.Fails = map[object.Ref]error{inv.Ref: refused}
		if err := s.Delete(t.Context(), nil, before); !errors.Is(err, refused) || forgot {
			t.Errorf("%s: error %v, forgot %t", inv.Ref, err, forgot)
		}
		c.Fails = nil
		if err := s.Delete(t.Context(), nil, before); err != nil || !forgot || c.Object(inv.Ref) != nil {
			t.Errorf("%s: error %v, forgot %t", inv.Ref, err, forgot)
		}
	}
}
