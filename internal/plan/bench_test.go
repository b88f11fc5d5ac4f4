package plan_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// BenchmarkTakes plans pairs of which one object takes a value from the other. The time of a pair
// must not grow with their number.
func BenchmarkTakes(b *testing.B) {
	for _, pairs := range []int{100, 1000, 10000} {
		b.Run(fmt.Sprint(pairs), func(b *testing.B) {
			in := plan.Input{Policy: plan.Policy{Substitutions: takesFrom}}
			for i := range pairs {
				for _, annotations := range []map[string]any{{}, {"from": fmt.Sprintf("source-%d", i)}} {
					name := fmt.Sprintf("source-%d", i)
					if len(annotations) > 0 {
						name = fmt.Sprintf("taker-%d", i)
					}
					in.Desired = append(
						in.Desired,
						plan.Desired{Object: &unstructured.Unstructured{Object: map[string]any{
							"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"x": "value"},
							"metadata": map[string]any{"name": name, "namespace": "demo", "annotations": annotations},
						}}},
					)
				}
			}
			for b.Loop() {
				if _, err := plan.Build(in); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*pairs), "ns/pair")
		})
	}
}

// takesFrom has an object with the annotation from take a value of the ConfigMap that it names.
func takesFrom(obj *unstructured.Unstructured) ([]mutation.Substitution, error) {
	name := obj.GetAnnotations()["from"]
	if name == "" {
		return nil, nil
	}
	source := object.Ref{Kind: "ConfigMap", Namespace: "demo", Name: name}
	return []mutation.Substitution{{Source: source, From: "$.data.x", To: "$.data.x"}}, nil
}
