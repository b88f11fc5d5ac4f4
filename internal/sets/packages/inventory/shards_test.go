package inventory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
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

// numbered is the state with the members m100+first to m100+last.
func numbered(first, last int) *record.State {
	var names []string
	for i := first; i <= last; i++ {
		names = append(names, fmt.Sprintf("m%d", 100+i))
	}
	return aState(names...)
}

// joined is the members of several states.
func joined(states ...*record.State) *record.State {
	all := &record.State{}
	for _, state := range states {
		all.Members = append(all.Members, state.Members...)
	}
	return all
}

// divided is a store whose objects hold four of the numbered members each.
func divided(c cluster.Writer) *Store {
	s := NewStore(c, anInventory(), true)
	s.capacity = 4 * memberSize(numbered(1, 1).Members[0].Ref, true)
	return s
}

func loaded(t *testing.T, c cluster.Writer) *record.State {
	t.Helper()
	state, err := divided(c).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// holds checks that a state has these members, and perhaps others.
func holds(t *testing.T, when string, state, want *record.State) {
	t.Helper()
	has := object.NewSet(state.Refs()...)
	for _, ref := range want.Refs() {
		if !has.Has(ref) {
			t.Errorf("%s: %s is not in the record", when, ref)
		}
	}
}

// layout returns the members that each object in the cluster lists.
func layout(c *enginetest.Cluster) map[string]string {
	found := map[string]string{}
	for _, ref := range c.Refs().Refs() {
		var names []string
		for _, item := range listAt(c.Object(ref), "spec", "resources") {
			names = append(names, refOf(item.(map[string]any)).Name)
		}
		found[ref.Name] = strings.Join(names, " ")
	}
	return found
}

func expectLayout(t *testing.T, c *enginetest.Cluster, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, layout(c)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

// The main object fills up first; members stay where they are; what fits into one object is in one,
// as it ever was.
func TestDivision(t *testing.T) {
	c := &enginetest.Cluster{}
	save(t, divided(c), numbered(1, 10))
	expectLayout(t, c, map[string]string{
		"inventory": "m101 m102 m103 m104", "inventory-2": "m105 m106 m107 m108",
		"inventory-3": "m109 m110",
	})
	main, part := c.Object(anInventory().Ref), c.Object(divided(c).refOf(3))
	if got := main.GetAnnotations()[shardsKey]; got != "3" {
		t.Errorf("the main object names %q objects", got)
	}
	if diff := cmp.Diff(map[string]string{shardOfKey: "id-1"}, part.GetLabels()); diff != "" {
		t.Errorf("labels of a part (-want +got):\n%s", diff)
	}
	save(t, divided(c), joined(numbered(11, 13), numbered(1, 6), numbered(8, 10)))
	expectLayout(t, c, map[string]string{
		"inventory": "m101 m102 m103 m104", "inventory-2": "m111 m105 m106 m108",
		"inventory-3": "m112 m113 m109 m110",
	})
	save(t, divided(c), joined(numbered(2, 2), numbered(5, 8)))
	expectLayout(t, c, map[string]string{"inventory": "m102 m107", "inventory-2": "m105 m106 m108"})
	save(t, divided(c), numbered(5, 8))
	expectLayout(t, c, map[string]string{"inventory": "m105 m106 m107 m108"})
	if annotations := c.Object(anInventory().Ref).GetAnnotations(); len(annotations) > 0 {
		t.Errorf("annotations %v stay", annotations)
	}
}

// What does not change is not written, and that members are about to be written is no change.
func TestFewWrites(t *testing.T) {
	c := &enginetest.Cluster{}
	save(t, divided(c), numbered(1, 18))
	wrote := func(want ...string) {
		t.Helper()
		slices.Sort(c.Wrote)
		if diff := cmp.Diff(want, c.Wrote); diff != "" {
			t.Errorf("wrote (-want +got):\n%s", diff)
		}
		c.Wrote = nil
	}
	c.Wrote = nil
	save(t, divided(c), numbered(1, 18))
	wrote()

	s := divided(c)
	intent := numbered(1, 19)
	for i := range intent.Members {
		intent.Members[i] = record.Member{Ref: intent.Members[i].Ref}
	}
	save(t, s, intent)
	main := "replace n/resourcegroup.kpt.dev/inventory"
	part := main + "-5"
	wrote(main, part)
	if err := s.Save(t.Context(), numbered(1, 19)); err != nil {
		t.Fatal(err)
	}
	wrote(part)
	if state := loaded(t, c); !state.Equal(numbered(1, 19)) {
		t.Errorf("loaded %v", state)
	}
}

// client is one of several users of a cluster. Before each of its requests something may happen.
type client struct {
	*enginetest.Cluster
	before func(request int) error

	mu       sync.Mutex
	requests int
}

func (c *client) step() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests++
	return c.before(c.requests)
}

func (c *client) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	if err := c.step(); err != nil {
		return nil, err
	}
	return c.Cluster.Write(ctx, w)
}

func (c *client) Delete(ctx context.Context, d cluster.Delete) (bool, error) {
	if err := c.step(); err != nil {
		return false, err
	}
	return c.Cluster.Delete(ctx, d)
}

func (c *client) Read(ctx context.Context, targets []cluster.Target) (*cluster.Snapshot, error) {
	if err := c.step(); err != nil {
		return nil, err
	}
	return c.Cluster.Read(ctx, targets)
}

func (c *client) List(
	ctx context.Context, gk schema.GroupKind, namespace string, with map[string]string,
) ([]*unstructured.Unstructured, error) {
	if err := c.step(); err != nil {
		return nil, err
	}
	return c.Cluster.List(ctx, gk, namespace, with)
}

// dying is a client that is gone from its n-th request on.
func dying(c *enginetest.Cluster, n int) *client {
	return &client{Cluster: c, before: func(request int) error {
		if request >= n {
			return enginetest.ErrDead
		}
		return nil
	}}
}

// changes are saves: what is in the record, and what one run, or two, make of it.
var changes = map[string]struct{ from, to, other *record.State }{
	"begins":          {&record.State{}, numbered(1, 11), numbered(5, 20)},
	"grows":           {numbered(1, 3), numbered(1, 14), joined(numbered(2, 3), numbered(21, 30))},
	"grows on":        {numbered(1, 7), numbered(1, 14), joined(numbered(1, 7), numbered(21, 24))},
	"fills up":        {numbered(1, 6), numbered(1, 7), joined(numbered(1, 6), numbered(8, 8))},
	"shrinks to one":  {numbered(1, 14), numbered(3, 6), joined(numbered(1, 14), numbered(21, 23))},
	"shrinks":         {numbered(1, 14), numbered(1, 6), joined(numbered(1, 14), numbered(21, 23))},
	"loses a part":    {numbered(1, 14), numbered(1, 12), joined(numbered(1, 14), numbered(21, 21))},
	"shrinks to none": {numbered(1, 14), &record.State{}, joined(numbered(2, 2), numbered(21, 25))},
	"changes":         {numbered(1, 14), numbered(9, 22), numbered(5, 6)},
}

// Wherever a save ends, what it leaves can be read, and leaves nothing out that it should have or
// that was there and stays.
func TestInterruptedSaves(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	for name, test := range changes {
		t.Run(name, func(t *testing.T) {
			kept := common(test.from, test.to)
			for n, done := 2, false; !done; n++ {
				c := &enginetest.Cluster{}
				save(t, divided(c), test.from)
				s := divided(dying(c, n))
				if _, err := s.Load(t.Context()); err != nil {
					continue
				}
				done = s.Save(t.Context(), test.to) == nil
				when := fmt.Sprintf("ended at request %d", n)
				left := loaded(t, c)
				holds(t, when, left, kept)
				if !done && len(test.from.Members) < len(test.to.Members) {
					holds(t, when, left, test.from)
				}
				third := joined(kept, numbered(41, 54))
				save(t, divided(c), third)
				holds(t, when+", then grown", loaded(t, c), third)
				if len(test.to.Members) < len(test.from.Members) {
					if now := loaded(t, c); !now.Equal(third) {
						t.Errorf(
							"%s: members that were given up came back (-want +got):\n%s", when,
							cmp.Diff(third, now),
						)
					}
				}
				settles(t, c, when, test.to)
			}
		})
	}
}

// settles checks that the record comes to hold exactly the state, and that nothing of it is left in
// the end.
func settles(t *testing.T, c *enginetest.Cluster, when string, state *record.State) {
	t.Helper()
	save(t, divided(c), state)
	if now := loaded(t, c); !now.Equal(state) {
		t.Errorf("%s: does not settle (-want +got):\n%s", when, cmp.Diff(state, now))
	}
	c.Wrote = nil
	save(t, divided(c), state)
	if len(c.Wrote) > 0 {
		t.Errorf("%s: saving the same wrote %v", when, c.Wrote)
	}
	s := divided(c)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), nil, nil); err != nil || c.Refs().Len() > 0 {
		t.Errorf("%s: deleting leaves %v, %v", when, c.Refs().Refs(), err)
	}
}

func common(a, b *record.State) *record.State {
	has, both := object.NewSet(a.Refs()...), &record.State{}
	for _, member := range b.Members {
		if has.Has(member.Ref) {
			both.Members = append(both.Members, member)
		}
	}
	return both
}

// unknown is those of the members that a run did not know when it decided what to give up.
func unknown(s *Store, state *record.State) *record.State {
	rest := &record.State{}
	for _, member := range state.Members {
		if !s.loaded.Has(member.Ref) {
			rest.Members = append(rest.Members, member)
		}
	}
	return rest
}

func added(from, to *record.State) *record.State {
	had, new := object.NewSet(from.Refs()...), &record.State{}
	for _, member := range to.Members {
		if !had.Has(member.Ref) {
			new.Members = append(new.Members, member)
		}
	}
	return new
}

// Two runs save at once: the whole save of the second, or the beginning of one that is killed,
// falls between any two requests of the first. Whatever a save that succeeded has added is in the
// record, and what neither gave up.
func TestSavesAtOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("long, and nothing in it is concurrent")
	}
	for name, test := range changes {
		for _, early := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, both loaded before: %v", name, early), func(t *testing.T) {
				for n, met := 1, true; met; n++ {
					for last, whole := 2, false; met && !whole; last++ {
						met, whole = collide(t, test.from, test.to, test.other, early, n, last)
						if t.Failed() {
							t.Fatalf("at request %d of the first, %d of the second", n, last)
						}
					}
				}
			})
		}
	}
}

// collide has the first run meet the second before its n-th request, and the second end at its
// last. It reports whether the first came that far, and whether the second ended by itself.
func collide(
	t *testing.T, from, to, other *record.State, early bool, n, last int,
) (met, whole bool) {
	c := &enginetest.Cluster{}
	save(t, divided(c), from)
	second := divided(dying(c, last))
	load := func() bool {
		_, err := second.Load(t.Context())
		return err == nil
	}
	ready := early && load()
	first := divided(&client{Cluster: c, before: func(request int) error {
		if request == n {
			met = true
			if ready || !early && load() {
				whole = second.Save(t.Context(), other) == nil
			}
		}
		return nil
	}})
	if _, err := first.Load(t.Context()); err != nil {
		t.Errorf("load: %v", err)
		return met, whole
	}
	if err := first.Save(t.Context(), to); err != nil {
		t.Errorf("save: %v", err)
		return met, whole
	}
	now := loaded(t, c)
	holds(t, "both", now, common(from, common(to, other)))
	holds(t, "first", now, unknown(second, added(from, to)))
	if whole {
		holds(t, "second", now, unknown(first, added(from, other)))
	}
	settles(t, c, "afterwards", to)
	return met, whole
}

// A damaged shard, the last one, too, is an error that names it, and nothing is written.
func TestDamagedShards(t *testing.T) {
	type testCluster = *enginetest.Cluster
	const missing = "inventory-%d, part %[1]d of 3, is missing; "
	const count = `its annotation muster.dev/inventory-parts is "many"`
	const entry = "inventory-%d in the cluster is damaged: entry 1 of spec.resources names no object"
	const label = `inventory-%d, part %[1]d of 3, has the label muster.dev/inventory-part-of: "id-2"; `
	for want, harm := range map[string]func(testCluster, *unstructured.Unstructured){
		missing: func(c testCluster, obj *unstructured.Unstructured) {
			if _, err := c.Delete(t.Context(), cluster.Delete{Ref: object.RefOf(obj)}); err != nil {
				t.Fatal(err)
			}
		},
		label: func(c testCluster, obj *unstructured.Unstructured) {
			obj.SetLabels(map[string]string{shardOfKey: "id-2"})
			c.Put(obj)
		},
		entry: func(c testCluster, obj *unstructured.Unstructured) {
			obj.Object["spec"] = map[string]any{"resources": []any{"m101"}}
			c.Put(obj)
		},
		count: func(c testCluster, _ *unstructured.Unstructured) {
			main := c.Object(anInventory().Ref)
			main.SetAnnotations(map[string]string{shardsKey: "many"})
			c.Put(main)
		},
	} {
		for _, number := range []int{2, 3} {
			want := want
			if want != count {
				want = fmt.Sprintf(want, number)
			}
			c := &enginetest.Cluster{}
			save(t, divided(c), numbered(1, 10))
			harm(c, c.Object(divided(nil).refOf(number)))
			c.Wrote = nil
			_, err := divided(c).Load(t.Context())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error = %v, want %s", err, want)
			}
			if len(c.Wrote) > 0 {
				t.Errorf("wrote %v", c.Wrote)
			}
		}
	}
}

// Another object with the name of a shard is left alone.
func TestNameOfPartIsTaken(t *testing.T) {
	c := &enginetest.Cluster{}
	foreign := divided(nil).newObject(2)
	c.Put(foreign)
	save(t, divided(c), numbered(1, 4))
	s := divided(c)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := s.Save(t.Context(), numbered(1, 5))
	taken := (*nameTakenError)(nil)
	if !errors.As(err, &taken) || taken.shard != object.RefOf(foreign) {
		t.Errorf("error = %v", err)
	}
	if state := loaded(t, c); !state.Equal(numbered(1, 4)) {
		t.Errorf("loaded %v", state)
	}
	part := anInventory()
	part.Ref.Name, part.ID = "inventory-2", "id-2"
	foreign.SetLabels(map[string]string{shardOfKey: "id-1"})
	c.Put(foreign)
	if _, err = NewStore(c, part, true).Load(t.Context()); err == nil ||
		!strings.Contains(
			err.Error(),
			`is a part of the record of another one, which has the id "id-1"`,
		) {
		t.Errorf("error = %v", err)
	}
}

// unlisted is a cluster in which nothing may be listed.
type unlisted struct{ *enginetest.Cluster }

func (unlisted) List(
	_ context.Context, gk schema.GroupKind, _ string, _ map[string]string,
) ([]*unstructured.Unstructured, error) {
	return nil, apierrors.NewForbidden(
		schema.GroupResource{Group: gk.Group, Resource: gk.Kind}, "", errors.New("list"),
	)
}

// Whoever may not list ResourceGroups finds the parts by their names, also those that an
// interrupted save left.
func TestPartsWithoutTheRightToList(t *testing.T) {
	c := &enginetest.Cluster{}
	save(t, divided(unlisted{c}), numbered(1, 3))
	interrupted := divided(dying(c, 4))
	if _, err := interrupted.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := interrupted.Save(t.Context(), numbered(1, 6)); !errors.Is(err, enginetest.ErrDead) {
		t.Fatalf("error = %v", err)
	}
	save(t, divided(unlisted{c}), numbered(1, 14))
	save(t, divided(unlisted{c}), numbered(1, 11))
	if state := loaded(t, unlisted{c}); !state.Equal(numbered(1, 11)) {
		t.Errorf("loaded %v", state)
	}
}

// Without statuses more members fit, and those of an earlier run take up room. With them again,
// members move on.
func TestPartsWithStatusPolicyNone(t *testing.T) {
	c := &enginetest.Cluster{}
	none := func() *Store {
		s := divided(c)
		s.statuses = false
		return s
	}
	save(t, none(), numbered(1, 10))
	if found := layout(c); len(found) != 1 {
		t.Errorf("objects: %v", found)
	}
	save(t, divided(c), numbered(1, 10))
	if found := layout(c); len(found) != 3 || found["inventory"] != "m101 m102 m103 m104" {
		t.Errorf("objects: %v", found)
	}
	save(t, none(), numbered(1, 20))
	for name := range layout(c) {
		ref := anInventory().Ref
		ref.Name = name
		if all, _ := sizeOf(c.Object(ref)); all > divided(c).capacity {
			t.Errorf("%s has %d bytes of members", name, all)
		}
	}
	settles(t, c, "afterwards", numbered(1, 20))
}

// An object that is fuller than usual, as others may have left it, is left like that.
func TestFullObjectStays(t *testing.T) {
	c := &enginetest.Cluster{}
	save(t, NewStore(c, anInventory(), true), numbered(1, 7))
	save(t, divided(c), numbered(2, 8))
	if found := layout(c); len(found) != 1 {
		t.Errorf("objects: %v", found)
	}
	save(t, divided(c), numbered(2, 9))
	expectLayout(
		t, c,
		map[string]string{"inventory": "m102 m103 m104 m105 m106 m107 m108", "inventory-2": "m109"},
	)
}

// The ConfigMap that holds too much is refused before the server does.
func TestConfigMapIsNotDivided(t *testing.T) {
	s := NewStore(&enginetest.Cluster{}, aMapInventory(IDKey), true)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "a ConfigMap cannot hold 20000 members; run migrate, a ResourceGroup can"
	if err := s.Save(t.Context(), numbered(1, 20_000)); err == nil || err.Error() != want {
		t.Errorf("error = %v", err)
	}
}

// A divided record is not removed if it is not as it was loaded; else it goes with all parts.
func TestRemove(t *testing.T) {
	c := &enginetest.Cluster{}
	save(t, divided(c), numbered(1, 10))
	s := divided(c)
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	save(t, divided(c), numbered(1, 11))
	if err := s.Remove(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("error = %v, want a conflict", err)
	}
	if state := loaded(t, c); !state.Equal(numbered(1, 11)) {
		t.Errorf("loaded %v", state)
	}
	if _, err := s.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(t.Context()); err != nil || c.Refs().Len() > 0 {
		t.Errorf("deleting leaves %v, %v", c.Refs().Refs(), err)
	}
}
