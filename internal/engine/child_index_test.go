package engine

import (
	"context"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// silent is a cluster whose surveys report nothing by themselves.
type silent struct{ Cluster }

func (silent) WatchQuery(context.Context, cluster.Query, func(cluster.ObjectEvent)) {}

// Nothing is given of what was made for a step while that is still being listed, although more may
// be known of others there.
func TestChildrenAreWholeLists(t *testing.T) {
	pods := schema.GroupKind{Kind: "Pod"}
	c := newChildTracker(silent{})
	for step, of := range []string{"a", "b"} {
		with := map[string]string{"of": of}
		c.want(t.Context(), step, "n", []schema.GroupKind{pods}, with, with)
	}
	in := c.places[place{pods, "n"}]
	report := func(survey int, name, of string) []int {
		pod := &unstructured.Unstructured{Object: map[string]any{}}
		pod.SetName(name)
		pod.SetLabels(map[string]string{"of": of})
		return c.take(
			childEvent{
				in,
				in.surveys[survey],
				cluster.ObjectEvent{Ref: object.Ref{Kind: "Pod", Namespace: "n", Name: name}, Object: pod},
			},
		)
	}
	expect := func(judged, want []int, first, second int) {
		t.Helper()
		if !slices.Equal(judged, want) || len(c.made(0)) != first || len(c.made(1)) != second {
			t.Errorf(
				"judged %v, want %v; made %d and %d, want %d and %d",
				judged,
				want,
				len(c.made(0)),
				len(c.made(1)),
				first,
				second,
			)
		}
	}
	expect(report(0, "a1", "a"), nil, 0, 0)
	expect(report(1, "b1", "b"), nil, 0, 0)
	expect(c.take(childEvent{in, in.surveys[0], cluster.ObjectEvent{Listed: true}}), []int{0, 1}, 1, 0)
	expect(report(0, "a2", "a"), []int{0}, 2, 0)
	expect(report(1, "b2", "b"), nil, 2, 0)
	expect(c.take(childEvent{in, in.surveys[1], cluster.ObjectEvent{Listed: true}}), []int{0, 1}, 2, 2)
	expect(report(0, "a1", "b"), []int{0, 1}, 1, 3)
}

// What only steps that are over wanted to see is forgotten, and is not kept when it changes;
// whoever wants it later has it looked for again.
func TestChildrenAreForgotten(t *testing.T) {
	pods := schema.GroupKind{Kind: "Pod"}
	c := newChildTracker(silent{})
	want := func(step int, of string) {
		with := map[string]string{"app": "x", "of": of}
		c.want(t.Context(), step, "n", []schema.GroupKind{pods}, with, map[string]string{"app": "x"})
	}
	want(0, "a")
	want(1, "a")
	want(2, "b")
	in := c.places[place{pods, "n"}]
	report := func(survey int, name, of string) {
		pod := &unstructured.Unstructured{Object: map[string]any{}}
		pod.SetName(name)
		pod.SetLabels(map[string]string{"app": "x", "of": of})
		c.take(
			childEvent{
				in,
				in.surveys[survey],
				cluster.ObjectEvent{Ref: object.Ref{Kind: "Pod", Namespace: "n", Name: name}, Object: pod},
			},
		)
	}
	expect := func(surveys, known int, made ...int) {
		t.Helper()
		if len(in.surveys) != surveys || len(in.objects) != known {
			t.Errorf(
				"%d surveys and %d objects, want %d and %d",
				len(in.surveys),
				len(in.objects),
				surveys,
				known,
			)
		}
		for step, number := range made {
			if len(c.made(step)) != number {
				t.Errorf("%d were made for step %d, want %d", len(c.made(step)), step, number)
			}
		}
	}
	report(0, "a1", "a")
	report(0, "b1", "b")
	report(0, "c1", "c")
	c.take(childEvent{in, in.surveys[0], cluster.ObjectEvent{Listed: true}})
	expect(1, 3, 1, 1, 1)
	c.leave(0)
	expect(1, 3, 0, 1, 1)
	c.leave(1)
	expect(1, 2, 0, 0, 1)
	report(0, "a1", "a")
	report(0, "c2", "c")
	expect(1, 3, 0, 0, 1)
	want(3, "c")
	expect(1, 3, 0, 0, 1, 2)
	want(4, "a")
	report(1, "a1", "a")
	c.take(childEvent{in, in.surveys[1], cluster.ObjectEvent{Listed: true}})
	expect(2, 4, 0, 0, 1, 2, 1)
}
