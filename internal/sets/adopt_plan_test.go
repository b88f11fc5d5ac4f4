package sets

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// adoptedPlan returns the plan of a package that adopts a and b of an ApplySet, reduced to marks.
// Of b there is no live object, and c is not one of the set.
func adoptedPlan(t *testing.T) *plan.Plan {
	t.Helper()
	const marks = `labels: {more: z, tier: back}, annotations: {config.k8s.io/owning-inventory: id,
		last: applied, other: text}`
	live := parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u,
		labels: {applyset.kubernetes.io/part-of: old, tier: back}, annotations: {theirs: y}},
		data: {level: "2"}}`)
	want := parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, `+marks+`},
		data: {level: "1"}}`)
	missing := parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}`)
	other := parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}`)
	a := &Adoption{
		From: &adopt.Set{
			Title: "the old set", Labels: []string{"tier", "applyset.kubernetes.io/part-of"},
			Owners: []owner.Owner{{Kind: owner.ApplySet, Name: "old"}},
		},
		members: object.NewSet(object.RefOf(live), object.RefOf(missing)), look: &Look{},
	}
	p := &plan.Plan{LastApplied: "last", Steps: []plan.Step{
		{Ref: object.RefOf(live), Op: plan.Update, Have: live, Want: want, Wait: true, Needs: []int{1}},
		{Ref: object.RefOf(missing), Op: plan.Create, Want: missing},
		{Ref: object.RefOf(other), Op: plan.Delete, Have: other},
	}}
	r := reduction{
		adoption: a, plan: p, marks: a.From.Marks(), own: owner.Owner{Kind: owner.Package, ID: "id"},
		live:      map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
		described: map[object.Ref]any{}, differing: object.NewSet(),
	}
	if err := r.steps(); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAdoptionMarks: the plan of an adoption changes the labels and annotations of the two owners
// and nothing else, whatever the set describes, and neither creates nor deletes.
func TestAdoptionMarks(t *testing.T) {
	p, got := adoptedPlan(t), map[string]string{}
	for _, step := range p.Steps {
		got[step.Ref.Name] = string(step.Op) + " " + string(step.Patch.Data)
		if step.Wait || len(step.Needs) > 0 {
			t.Errorf("%s waits", step.Ref.Name)
		}
	}
	want := map[string]string{
		"a": `update {"metadata":{"annotations":{"config.k8s.io/owning-inventory":"id",` +
			`"last":"applied"},"labels":{"applyset.kubernetes.io/part-of":null,"tier":null}}}`,
		"b": "skip ", "c": "keep ",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAdoptionAgain: what others change while an adoption runs stays, and what they take over or
// delete is not adopted.
func TestAdoptionAgain(t *testing.T) {
	step := adoptedPlan(t).Steps[0]
	for live, want := range map[string]string{
		`metadata: {name: a, uid: u, labels: {new: x}, annotations: {last: applied}}, data: {b: c}`://
		`{"metadata":{"annotations":{"config.k8s.io/owning-inventory":"id"}}}`,
		`metadata: {name: a, uid: u, annotations: {config.k8s.io/owning-inventory: id, last: applied}}`://
		"",
		`metadata: {name: a, uid: u, annotations: {config.k8s.io/owning-inventory: other}}`://
		"error: it was taken over meanwhile",
		`metadata: {name: a, uid: u, deletionTimestamp: "2026-01-01T00:00:00Z"}`://
		"error: it is being deleted",
	} {
		now := parseObject(t, "{apiVersion: v1, kind: ConfigMap, "+live+"}")
		next, err := step.Reverts(now)
		got := ""
		if err != nil {
			got = "error: " + err.Error()
		} else {
			got = string(next.Patch.Data)
			if next.Reverts == nil {
				t.Errorf("%s: a step that is decided once more has no limits", live)
			}
		}
		if got != want && (err == nil || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: %s, want %s", live, got, want)
		}
	}
}

// TestUndoRestores: an object that replaced an adopted one and has the marks of the new set is not
// restored by an undo.
func TestUndoRestores(t *testing.T) {
	own := owner.Owner{Kind: owner.Package, ID: "id"}
	ref := object.Ref{Kind: "ConfigMap", Name: "a"}
	u := &undoInfo{
		From:    adopt.Set{Objects: []adopt.Object{{Ref: ref}}},
		Objects: []adoptedObject{{Ref: ref, UID: "u"}},
	}
	const marked = ", annotations: {config.k8s.io/owning-inventory: id}"
	for metadata, want := range map[string]bool{
		"name: a, uid: u" + marked: true, "name: a, uid: other" + marked: false,
		"name: a, uid: other": true, "name: b, uid: u" + marked: false, "name: b, uid: u": false,
	} {
		live := parseObject(t, "{apiVersion: v1, kind: ConfigMap, metadata: {"+metadata+"}}")
		if got := u.restores(live, own); got != want {
			t.Errorf("%s: %v", metadata, got)
		}
	}
}

// TestAdoptionCannotMark: an object whose manifest keeps an apply from marking it is reported.
func TestAdoptionCannotMark(t *testing.T) {
	r := reduction{adoption: &Adoption{look: &Look{}}, own: owner.Owner{Kind: owner.Package, ID: "id"}}
	if r.isOwned(texts{"labels": {}, "annotations": {"last": "x"}}) {
		t.Error("marks without an owner name one")
	}
	if !r.isOwned(texts{"annotations": {"config.k8s.io/owning-inventory": "id"}}) {
		t.Error("the mark of a package names no owner")
	}
	r.cannotMark(&plan.Step{Ref: object.Ref{Kind: "ConfigMap", Name: "a"}})
	if err := (&Adoption{From: &adopt.Set{}, look: r.adoption.look}).Check(); err == nil {
		t.Error("it is adopted")
	}
}

// TestRememberDropped: what the old tool applied and the folder does not describe any more is
// recorded as applied, so that the next apply removes it; what the folder changes or adds is not.
func TestRememberDropped(t *testing.T) {
	live := parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}`)
	former := parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: x}}`)
	remembered := func(applied string) string {
		r := reduction{
			adoption: &Adoption{}, plan: &plan.Plan{LastApplied: "last"},
			own:    owner.Owner{Kind: owner.Package, ID: "id"},
			former: map[object.Ref]*unstructured.Unstructured{object.RefOf(live): former},
		}
		set := texts{"annotations": {"last": applied}}
		if _, err := r.rememberDropped(live, live, set); err != nil {
			t.Fatal(err)
		}
		return set["annotations"]["last"].(string)
	}
	const head = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}`
	for applied, want := range map[string]string{
		head + `,"data":{"b":"new","c":"y"}}` + "\n": head + `,"data":{"b":"new","c":"y"}}` + "\n",
	} {
		if got := remembered(applied); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	want := `{"apiVersion":"v1","data":{"b":"x","c":"y"},"kind":"ConfigMap","metadata":{"name":"a"}}`
	if got := remembered(head + `,"data":{"c":"y"}}`); got != want+"\n" {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestUndoSecretNames: no two Secrets of what undos need have one name.
func TestUndoSecretNames(t *testing.T) {
	seen := object.NewSet()
	for _, name := range []string{"x", "x.2"} {
		store := newUndoStore(nil, packageFormat(), "n", name)
		for _, ref := range []object.Ref{store.first(), store.ref(2, 0), store.ref(2, 1)} {
			if !seen.Insert(ref) {
				t.Errorf("%s is used twice", ref)
			}
		}
	}
}

// TestLacks: only fields and items that are missing count, not values; an app has the keys of
// stringData in data.
func TestLacks(t *testing.T) {
	for _, c := range []struct {
		now, former string
		want        bool
	}{
		{`data: {a: x, b: y}`, `data: {a: other}`, false},
		{`data: {b: y}`, `data: {a: x}`, true},
		{`list: [1]`, `list: [1, 2]`, true},
		{`list: [{a: 1}]`, `list: [{a: 1, b: 2}]`, true},
		{`data: {a: eA==}`, `stringData: {a: x}`, false},
		{`data: {b: eA==}`, `stringData: {a: x}`, true},
	} {
		now, former := parseObject(t, "{kind: Secret, "+c.now+"}"), parseObject(t,
			"{kind: Secret, "+c.former+"}")
		if got := lacks(now.Object, withData(former).Object); got != c.want {
			t.Errorf("%s, %s: %v", c.now, c.former, got)
		}
	}
}

// TestUndoDeletesOwn: the first Secret names the others by their number. Only Secrets of the type
// are deleted, as they were read.
func TestUndoDeletesOwn(t *testing.T) {
	c := &uidCluster{Cluster: &enginetest.Cluster{}}
	store := newUndoStore(c, packageFormat(), "n", "x")
	secret := func(ref object.Ref, kind string) *unstructured.Unstructured {
		obj := namedObject(ref, "v1")
		obj.Object["type"] = kind
		return obj
	}
	first := secret(store.first(), undoType)
	first.SetAnnotations(map[string]string{undoParts: "5", undoGeneration: "0"})
	part, foreign := secret(store.ref(2, 0), undoType), secret(store.ref(3, 0), "Opaque")
	for _, obj := range []*unstructured.Unstructured{first, part, foreign} {
		c.Put(obj)
	}
	if err := store.delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := c.Refs().Refs(); len(left) != 1 || left[0] != object.RefOf(foreign) {
		t.Errorf("left: %v", left)
	}
	if c.without > 0 {
		t.Errorf("%d deletions without a UID", c.without)
	}
}

// uidCluster counts deletions without a UID.
type uidCluster struct {
	*enginetest.Cluster
	otherMethods
	without int
}

// otherMethods are those that an API server in memory does not have.
type otherMethods struct{ cluster.Writer }

func (c *uidCluster) Delete(ctx context.Context, d cluster.Delete) (bool, error) {
	if d.UID == "" {
		c.without++
	}
	return c.Cluster.Delete(ctx, d)
}
