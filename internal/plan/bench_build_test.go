package plan_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// lastApplied keeps the configuration of the objects below.
const lastApplied = "example.com/last-applied"

// BenchmarkBuild plans ConfigMaps that are not there, that are there as they should be, that are to
// go, and of which each depends on the one before. The time of an object must not grow with their
// number.
func BenchmarkBuild(b *testing.B) {
	for name, input := range map[string]func(n int) plan.Input{
		"create": func(n int) plan.Input {
			return plan.Input{Desired: someMaps(n)}
		},
		"unchanged": func(n int) plan.Input {
			in := plan.Input{Desired: someMaps(n), Policy: plan.Policy{LastApplied: lastApplied}}
			in.Recorded, in.Live = there(in.Desired)
			return in
		},
		"delete": func(n int) plan.Input {
			in := plan.Input{Policy: plan.Policy{Destroy: true}}
			in.Recorded, in.Live = there(someMaps(n))
			return in
		},
		"chain": func(n int) plan.Input {
			return plan.Input{Desired: someMaps(n), Policy: plan.Policy{DependsOn: theOneBefore}}
		},
	} {
		for _, n := range []int{1000, 10000} {
			in := input(n)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					p, err := plan.Build(in)
					if err != nil || len(p.Steps) < n {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/object")
			})
		}
	}
}

// someMaps are n ConfigMaps, which name the one before.
func someMaps(n int) []plan.Desired {
	desired := make([]plan.Desired, n)
	for i := range desired {
		desired[i].Object = &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap",
			"data": map[string]any{"key": "value", "before": fmt.Sprint(i - 1)},
			"metadata": map[string]any{
				"name":      fmt.Sprintf("map-%d", i),
				"namespace": "demo",
				"labels":    map[string]any{"app": "web"},
			},
		}}
	}
	return desired
}

// there are the objects as they would be in the cluster after they were applied.
func there(desired []plan.Desired) ([]object.Ref, map[object.Ref]*unstructured.Unstructured) {
	live := map[object.Ref]*unstructured.Unstructured{}
	var refs []object.Ref
	for _, d := range desired {
		obj := d.Object.DeepCopy()
		text, err := json.Marshal(obj.Object)
		if err != nil {
			panic(err)
		}
		obj.SetAnnotations(map[string]string{lastApplied: string(text)})
		obj.SetUID("uid-" + types.UID(obj.GetName()))
		ref := object.RefOf(obj)
		refs, live[ref] = append(refs, ref), obj
	}
	return refs, live
}

// theOneBefore is what a ConfigMap depends on.
func theOneBefore(obj *unstructured.Unstructured) ([]object.Ref, error) {
	before, _, _ := unstructured.NestedString(obj.Object, "data", "before")
	if before == "-1" {
		return nil, nil
	}
	return []object.Ref{{Kind: "ConfigMap", Namespace: "demo", Name: "map-" + before}}, nil
}
