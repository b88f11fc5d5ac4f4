package change

import (
	"fmt"
	"runtime"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// BenchmarkCalculate compares Deployments with what was applied last, of which none or all differ,
// and reports how much memory the changes hold beyond the objects given.
func BenchmarkCalculate(b *testing.B) {
	for _, count := range []int{5000, 20000} {
		for _, name := range []string{"unchanged", "changed", "deleted"} {
			b.Run(fmt.Sprintf("%s/%d", name, count), func(b *testing.B) {
				live, base, described := fleet(b, count, name == "changed")
				o := Options{
					Wait: true,
					LastApplied: func(live *unstructured.Unstructured) (*unstructured.Unstructured, bool) {
						return base[live.GetName()], true
					},
				}
				var held uint64
				b.ReportAllocs()
				for b.Loop() {
					b.StopTimer()
					new := make([]*unstructured.Unstructured, 0, count)
					if name != "deleted" {
						new = append(new, described...)
					}
					before := heap()
					b.StartTimer()
					changes, err := Calculate(live, new, config.Default(), o)
					b.StopTimer()
					if err != nil {
						b.Fatal(err)
					}
					held = heap() - before
					if want := map[string]int{"changed": count, "deleted": count}[name]; len(changes) != want {
						b.Fatalf("%d changes, want %d", len(changes), want)
					}
					b.StartTimer()
				}
				b.ReportMetric(float64(held)/float64(count), "held-B/object")
			})
		}
	}
}

// BenchmarkVersions has as many objects with versions, and objects that refer to them.
func BenchmarkVersions(b *testing.B) {
	conf := configOf(b, testRules)
	for _, count := range []int{1000, 10000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				var existing, new []*unstructured.Unstructured
				for i := range count {
					name := fmt.Sprintf("conf-%d", i)
					old := small(name+"-ver-1", name)
					unstructured.SetNestedField(
						old.Object,
						resource.Identity(old),
						"metadata",
						"annotations",
						resource.AnnIdentity,
					)
					holder := small("web-"+name, name)
					unstructured.SetNestedField(holder.Object, name, "ref", "name")
					unstructured.RemoveNestedField(holder.Object, "metadata", "annotations")
					existing, new = append(existing, old), append(new, small(name, name), holder)
				}
				b.StartTimer()
				if _, err := Calculate(existing, new, conf,
					Options{Wait: true, LastApplied: lastApplied(conf)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func small(name, value string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name":        name,
			"namespace":   "demo",
			"annotations": map[string]any{resource.AnnVersioned: ""},
		},
		"data": map[string]any{"key": "of " + value}}}
}

// fleet gives live Deployments, what was applied last of each, and what is described now.
func fleet(
	b *testing.B,
	count int,
	changed bool,
) (live []*unstructured.Unstructured, base map[string]*unstructured.Unstructured,
	described []*unstructured.Unstructured) {
	b.Helper()
	const text = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x, namespace: demo, labels: {app: x, kapp.k14s.io/app: "1"}},
		spec: {replicas: 3, selector: {matchLabels: {app: x}}, template: {metadata: {labels: {app: x}}, spec: {containers: [
		{name: main, image: nginx, env: [{name: A, value: b}, {name: C, value: d}], ports: [{containerPort: 80}], resources: {limits: {cpu: 1, memory: 1Gi}}}]}}}}`
	model := decode(b, text)[0]
	base = make(map[string]*unstructured.Unstructured, count)
	for i := range count {
		obj := model.DeepCopy()
		obj.SetName(fmt.Sprintf("x-%d", i))
		there := obj.DeepCopy()
		there.SetUID("u")
		unstructured.RemoveNestedField(there.Object, "metadata", "uid")
		unstructured.SetNestedField(
			there.Object,
			resource.Identity(there),
			"metadata",
			"annotations",
			resource.AnnIdentity,
		)
		unstructured.SetNestedField(there.Object, int64(3), "status", "readyReplicas")
		last, err := config.Default().Rebase(there, obj)
		if err != nil {
			b.Fatal(err)
		}
		base[obj.GetName()] = last
		if changed {
			unstructured.SetNestedField(obj.Object, int64(5), "spec", "replicas")
		}
		live, described = append(live, there), append(described, obj)
	}
	return live, base, described
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
