package change

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// BenchmarkDeployment calculates the changes of 5,000 deployed objects with kapp's own rules and
// history.
func BenchmarkDeployment(b *testing.B) {
	const count = 5000
	conf := config.Default()
	describe := func(replicas int64) []*unstructured.Unstructured {
		var all []*unstructured.Unstructured
		for i := range count {
			all = append(
				all,
				&unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment",
					"metadata": map[string]any{
						"name":      fmt.Sprintf("web-%d", i),
						"namespace": "demo",
						"labels":    map[string]any{"app": "web"},
					},
					"spec": map[string]any{
						"replicas": replicas,
						"selector": map[string]any{"matchLabels": map[string]any{"app": "web"}},
						"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "web"}},
							"spec": map[string]any{
								"containers": []any{map[string]any{"name": "main", "image": "nginx"}},
							}},
					}}},
			)
		}
		return all
	}
	var live []*unstructured.Unstructured
	for _, obj := range describe(1) {
		signed, err := lastapplied.Annotate(obj, obj, nil, conf)
		if err != nil {
			b.Fatal(err)
		}
		stored := signed.DeepCopy()
		unstructured.SetNestedField(
			stored.Object,
			"2026-03-01T10:00:00Z",
			"metadata",
			"creationTimestamp",
		)
		amended, err := amend(stored, obj, conf)
		if err != nil {
			b.Fatal(err)
		}
		if amended != nil {
			stored = amended
		}
		live = append(live, stored)
	}
	o := Options{
		LastApplied: func(live *unstructured.Unstructured) (*unstructured.Unstructured, bool) {
			return lastapplied.Base(live, conf)
		},
	}
	for _, want := range []int{0, count} {
		replicas := int64(1)
		if want > 0 {
			replicas = 2
		}
		b.Run(fmt.Sprintf("%d changes", want), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				new := describe(replicas)
				b.StartTimer()
				changes, err := Calculate(live, new, conf, o)
				if err != nil || len(changes) != want {
					b.Fatalf("%d changes: %v", len(changes), err)
				}
			}
		})
	}
}
