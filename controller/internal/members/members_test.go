package members

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/controller/internal/clusters"
)

// meta returns the metadata of an object whose fields some managers wrote at a time.
func meta(seconds int64, managers ...string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.Name, m.Generation = "web", seconds
	at := metav1.NewTime(time.Unix(seconds, 0))
	for _, name := range managers {
		m.ManagedFields = append(m.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: name, Operation: metav1.ManagedFieldsOperationUpdate, Time: &at,
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:replicas":{}}}`),
		})
	}
	return m
}

// status returns the metadata with a write of the status by a controller.
func status(m *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	m.ManagedFields = append(m.ManagedFields, metav1.ManagedFieldsEntry{
		Manager: "kubelet", Subresource: "status", Time: &metav1.Time{Time: time.Unix(77, 0)},
	})
	m.ResourceVersion = "77"
	return m
}

// Changes are reported once each, with whether the same managers own the same fields as before;
// those of the status, and of objects that no Set has, are not.
func TestSource(t *testing.T) {
	set := types.NamespacedName{Namespace: "shop", Name: "shop"}
	client, err := metadata.NewForConfig(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	s := newSource(place{}, client, func(name types.NamespacedName, again bool) {
		if name != set {
			t.Errorf("%s was changed", name)
		}
		got = append(got, map[bool]string{true: "again", false: "news"}[again])
	})
	if !s.track(set, []string{"web"}) || s.track(set, []string{"web"}) {
		t.Error("an object is new once")
	}
	other := meta(1, "muster")
	other.Name = "other"
	for i, step := range []struct {
		object *metav1.PartialObjectMetadata
		want   string // empty: nothing is reported
	}{
		{meta(1, "muster"), "news"}, // it is seen first, and may have changed before
		{meta(1, "muster"), ""},
		{status(meta(1, "muster")), ""},
		{other, ""},
		{meta(2, "muster"), "again"},
		{meta(3, "kubectl-edit"), "news"},
		{meta(4, "kubectl-edit"), "again"},
		{meta(5, "keda"), "news"},
		{meta(6, "kubectl-edit"), "again"}, // the two take it from each other
		{meta(7, "keda"), "again"},
		{meta(8, "muster"), "news"},
	} {
		got = nil
		if err := s.Update(step.object); err != nil {
			t.Fatal(err)
		}
		if want := []string{step.want}; !slices.Equal(got, want) && (step.want != "" || got != nil) {
			t.Errorf("step %d: got %q, want %q", i, got, want)
		}
	}
	got = nil
	if err := s.Replace(nil, ""); err != nil || !slices.Equal(got, []string{"news"}) {
		t.Errorf("it is gone: got %q, %v", got, err)
	}
	for range 2 { // deleted and created again
		_ = s.Update(meta(9, "muster"))
		got = nil
		_ = s.Delete(meta(9, "muster"))
		if !slices.Equal(got, []string{"news"}) {
			t.Errorf("it is deleted: got %q", got)
		}
	}
	if !s.untrack(set) {
		t.Error("nothing is watched for anybody any more")
	}
}

// Two Sets may claim one object, and both are reported. A list reports each Set once.
func TestTwoSets(t *testing.T) {
	var got []string
	client, err := metadata.NewForConfig(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := newSource(place{}, client, func(set types.NamespacedName, _ bool) {
		got = append(got, set.Name)
	})
	expect := func(what string, want ...string) {
		t.Helper()
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
		got = nil
	}
	first, second := types.NamespacedName{Name: "first"}, types.NamespacedName{Name: "second"}
	list := func(seconds int64) {
		web, db := meta(seconds, "muster"), meta(seconds, "muster")
		db.Name = "db"
		if err := s.Replace([]any{web, db}, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.track(first, []string{"web", "db", "late"})
	list(1)
	expect("the first list", "first")
	s.track(second, []string{"web"})
	_ = s.Update(meta(2, "muster"))
	expect("an object of both", "first", "second")
	list(3)
	expect("a list after a gap", "first", "second")
	list(3)
	expect("the same list")
	s.untrack(second)
	_ = s.Update(meta(4, "muster"))
	expect("an object of both, when one is gone", "first")
}

// With another kubeconfig the watches of the one before end.
func TestForgetOthers(t *testing.T) {
	set := types.NamespacedName{Namespace: "shop", Name: "shop"}
	client, err := metadata.NewForConfig(&rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := New(func(types.NamespacedName, bool) {})
	before, now := place{identity: "before"}, place{identity: "now"}
	places := map[place][]string{before: {"web"}, now: {"web"}}
	w.sets[set] = tracked{places: places}
	for p, names := range places {
		w.sources[p] = newSource(p, client, w.changed)
		w.sources[p].track(set, names)
	}
	ended := w.sources[before]
	w.ForgetOthers(set, &clusters.Identity{Key: "now"})
	if w.sources[before] != nil || ended.ctx.Err() == nil || len(w.sets[set].places) != 1 {
		t.Error("the watch of the kubeconfig before continues")
	}
	if w.sources[now] == nil || w.sources[now].ctx.Err() != nil {
		t.Error("the watch of the present kubeconfig has ended")
	}
}

// Two writes within one second differ by the version of an object that has neither a generation nor
// a status.
func TestPrintOfUncounted(t *testing.T) {
	first, second := meta(1, "kubectl-edit"), meta(1, "kubectl-edit")
	first.Generation, second.Generation = 0, 0
	first.ResourceVersion, second.ResourceVersion = "7", "8"
	if PrintOf(&first.ObjectMeta) == PrintOf(&second.ObjectMeta) {
		t.Error("the second write is not seen")
	}
	if PrintOf(&status(first).ObjectMeta) != PrintOf(&status(second).ObjectMeta) {
		t.Error("a write of the status is seen")
	}
}
