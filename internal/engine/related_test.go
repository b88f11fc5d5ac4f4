package engine

import (
	"context"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// silent is a cluster whose watches report nothing by themselves.
type silent struct{ cluster.Writer }

func (silent) WatchQuery(context.Context, cluster.Query, func(cluster.ObjectEvent)) {}

var pods = []schema.GroupKind{{Kind: "Pod"}}

// podEvent is an event about a pod with labels.
func podEvent(w *relatedWatch, name string, with map[string]string) relatedEvent {
	pod := &unstructured.Unstructured{Object: map[string]any{}}
	pod.SetName(name)
	pod.SetLabels(with)
	ref := object.Ref{Kind: "Pod", Namespace: "n", Name: name}
	return relatedEvent{watch: w, ObjectEvent: cluster.ObjectEvent{Ref: ref, Object: pod}}
}

func listEnd(w *relatedWatch) relatedEvent {
	return relatedEvent{watch: w, ObjectEvent: cluster.ObjectEvent{Listed: true}}
}

// The child objects of a step are not returned while they are being listed, although those of other
// steps may be known.
func TestChildrenAreWholeLists(t *testing.T) {
	r := newRelatedTracker(silent{}, true)
	for step, of := range []string{"a", "b"} {
		with := map[string]string{"of": of}
		r.watchChildren(t.Context(), step, "n", &childQuery{pods, with}, with)
	}
	p := r.at(place{GroupKind: pods[0], namespace: "n"})
	report := func(watch int, name, of string) []int {
		return r.handle(podEvent(p.watches[watch], name, map[string]string{"of": of}))
	}
	expect := func(judged, want []int, first, second int) {
		t.Helper()
		if !slices.Equal(judged, want) || len(r.childrenOf(0)) != first ||
			len(r.childrenOf(1)) != second {
			t.Errorf("judged %v, want %v; %d and %d children, want %d and %d", judged, want,
				len(r.childrenOf(0)), len(r.childrenOf(1)), first, second)
		}
	}
	expect(report(0, "a1", "a"), nil, 0, 0)
	expect(report(1, "b1", "b"), nil, 0, 0)
	expect(r.handle(listEnd(p.watches[0])), []int{0, 1}, 1, 0)
	expect(report(0, "a2", "a"), []int{0}, 2, 0)
	expect(report(1, "b2", "b"), nil, 2, 0)
	expect(r.handle(listEnd(p.watches[1])), []int{0, 1}, 2, 2)
	expect(report(0, "a1", "b"), []int{0, 1}, 1, 3)
}

// The child objects of one kind are not returned while those of another are being listed.
func TestChildrenOfAllKinds(t *testing.T) {
	r := newRelatedTracker(silent{}, true)
	with := map[string]string{"of": "a"}
	sets := schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	kinds := []schema.GroupKind{sets, pods[0]}
	r.watchChildren(t.Context(), 0, "n", &childQuery{kinds, with}, with)
	of := r.at(place{GroupKind: pods[0], namespace: "n"}).watches[0]
	r.handle(podEvent(of, "a1", with))
	if judged := r.handle(listEnd(of)); len(judged) != 1 || r.childrenOf(0) != nil {
		t.Errorf("judged %v by %v before all kinds are listed", judged, r.childrenOf(0))
	}
	r.handle(listEnd(r.at(place{GroupKind: sets, namespace: "n"}).watches[0]))
	if len(r.childrenOf(0)) != 1 {
		t.Errorf("%d child objects, want 1", len(r.childrenOf(0)))
	}
}

// Child objects that only settled steps needed are dropped, and are not kept when they change. A
// later step that needs them has them listed again.
func TestUnusedChildrenAreDropped(t *testing.T) {
	r := newRelatedTracker(silent{}, true)
	watch := func(step int, of string) {
		query := &childQuery{pods, map[string]string{"app": "x", "of": of}}
		r.watchChildren(t.Context(), step, "n", query, labels.Set{"app": "x"})
	}
	watch(0, "a")
	watch(1, "a")
	watch(2, "b")
	p := r.at(place{GroupKind: pods[0], namespace: "n"})
	report := func(watch int, name, of string) {
		r.handle(podEvent(p.watches[watch], name, map[string]string{"app": "x", "of": of}))
	}
	expect := func(watches, known int, children ...int) {
		t.Helper()
		if len(p.watches) != watches || len(p.objects) != known {
			t.Errorf("%d watches and %d objects, want %d and %d", len(p.watches), len(p.objects),
				watches, known)
		}
		for step, number := range children {
			if len(r.childrenOf(step)) != number {
				t.Errorf("%d children of step %d, want %d", len(r.childrenOf(step)), step, number)
			}
		}
	}
	report(0, "a1", "a")
	report(0, "b1", "b")
	report(0, "c1", "c")
	r.handle(listEnd(p.watches[0]))
	expect(1, 3, 1, 1, 1)
	r.dropChildren(0)
	expect(1, 3, 0, 1, 1)
	r.dropChildren(1)
	expect(1, 2, 0, 0, 1)
	report(0, "a1", "a")
	report(0, "c2", "c")
	expect(1, 3, 0, 0, 1)
	watch(3, "c")
	expect(1, 3, 0, 0, 1, 2)
	watch(4, "a")
	report(1, "a1", "a")
	r.handle(listEnd(p.watches[1]))
	expect(2, 4, 0, 0, 1, 2, 1)
}

// A watch for causes keeps no objects, so that rules do not share it. One for rules covers more
// labels than it selects by.
func TestWatchesThatKeepObjects(t *testing.T) {
	r := newRelatedTracker(silent{}, false)
	p, with := r.at(place{GroupKind: pods[0], namespace: "n"}), labels.Set{"of": "a", "app": "x"}
	r.start(t.Context(), &relatedWatch{place: p, selector: labels.Everything()})
	r.handle(listEnd(p.watches[0]))
	r.handle(podEvent(p.watches[0], "a1", with))
	if len(p.objects) > 0 || p.watchOf(with, false) == nil || p.watchOf(with, true) != nil {
		t.Errorf("a watch for causes: %+v", p)
	}
	r.watchChildren(t.Context(), 0, "n", &childQuery{pods, with}, labels.Set{"app": "x"})
	r.handle(podEvent(p.watches[1], "a1", with))
	if len(p.objects) != 1 || p.watchOf(with, true) != p.watches[1] ||
		p.watchOf(labels.Set{"app": "y"}, true) != nil {
		t.Errorf("a watch for rules: %+v", p)
	}
}
