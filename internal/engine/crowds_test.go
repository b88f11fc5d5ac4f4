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

func (silent) Survey(context.Context, cluster.Survey, func(cluster.Sighting)) {}

// Nothing is given of what was made for a step while that is still being listed, although more may be known of others there.
func TestCrowdsGiveNoPartOfAList(t *testing.T) {
	pods := schema.GroupKind{Kind: "Pod"}
	c := newCrowds(silent{})
	for step, of := range []string{"a", "b"} {
		c.want(t.Context(), step, "n", []schema.GroupKind{pods}, map[string]string{"of": of})
	}
	in := c.places[place{pods, "n"}]
	report := func(survey int, name, of string) []int {
		pod := &unstructured.Unstructured{Object: map[string]any{}}
		pod.SetName(name)
		pod.SetLabels(map[string]string{"of": of})
		return c.take(crowdNews{in, in.surveys[survey], cluster.Sighting{Ref: object.Ref{Kind: "Pod", Namespace: "n", Name: name}, Object: pod}})
	}
	expect := func(judged, want []int, first, second int) {
		t.Helper()
		if !slices.Equal(judged, want) || len(c.made(0)) != first || len(c.made(1)) != second {
			t.Errorf("judged %v, want %v; made %d and %d, want %d and %d", judged, want, len(c.made(0)), len(c.made(1)), first, second)
		}
	}
	expect(report(0, "a1", "a"), nil, 0, 0)
	expect(report(1, "b1", "b"), nil, 0, 0)
	expect(c.take(crowdNews{in, in.surveys[0], cluster.Sighting{Listed: true}}), []int{0, 1}, 1, 0)
	expect(report(0, "a2", "a"), []int{0}, 2, 0)
	expect(report(1, "b2", "b"), nil, 2, 0)
	expect(c.take(crowdNews{in, in.surveys[1], cluster.Sighting{Listed: true}}), []int{0, 1}, 2, 2)
	expect(report(0, "a1", "b"), []int{0, 1}, 1, 3)
}
