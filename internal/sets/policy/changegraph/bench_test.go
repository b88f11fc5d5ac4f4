package changegraph

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// large gives objects of which three in five are related to pods and one in five waits for all of
// those, as the bindings that are built in have it. Of the related ones, some have to come after
// all deployments, so that the rule gives way for them.
func large(count, late int) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, 0, count)
	add := func(version, kind, namespace string, spec map[string]any) map[string]any {
		metadata := map[string]any{"name": fmt.Sprint("object-", len(objects))}
		if namespace != "" {
			metadata["namespace"] = namespace
		}
		objects = append(objects, &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec,
		}})
		return metadata
	}
	for i := range count / 20 {
		add("v1", "Namespace", "", nil)
		space := fmt.Sprint("object-", len(objects)-1)
		for range 12 {
			metadata := add("v1", "ConfigMap", space, nil)
			if i < late {
				metadata["annotations"] = map[string]any{
					"kapp.k14s.io/change-rule": "upsert after upserting demo/deployments",
				}
			}
		}
		for range 4 {
			add("apps/v1", "Deployment", space, nil)["annotations"] = map[string]any{
				"kapp.k14s.io/change-group": "demo/deployments",
			}
		}
		add("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", map[string]any{
			"group": "example.com", "names": map[string]any{"kind": fmt.Sprint("Kind", i)},
		})
		add("example.com/v1", fmt.Sprint("Kind", i), space, nil)
		add("rbac.authorization.k8s.io/v1", "RoleBinding", space, nil)
	}
	return objects
}

// BenchmarkGraph reads the groups and rules of objects and orders them. The time of an object must
// not grow with their number; the part that gives way is allowed to.
func BenchmarkGraph(b *testing.B) {
	for _, size := range []struct{ count, late int }{{1_000, 0}, {20_000, 0}, {20_000, 8}} {
		b.Run(fmt.Sprintf("%d/%d", size.count, 12*size.late), func(b *testing.B) {
			objects, conf := large(size.count, size.late), config.Default()
			b.ReportAllocs()
			for b.Loop() {
				nodes := make([]Node, len(objects))
				for i, obj := range objects {
					node, err := NodeOf(resource.Describe(obj), Upsert, obj, conf)
					if err != nil {
						b.Fatal(err)
					}
					nodes[i] = node
				}
				if _, err := Build(nodes, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(objects)), "ns/object")
		})
	}
}

// BenchmarkBuild orders changes whose groups and rules are read.
func BenchmarkBuild(b *testing.B) {
	for _, late := range []int{0, 8, 100} {
		b.Run(fmt.Sprint(12*late), func(b *testing.B) {
			conf := config.Default()
			var nodes []Node
			for _, obj := range large(20_000, late) {
				node, err := NodeOf(resource.Describe(obj), Upsert, obj, conf)
				if err != nil {
					b.Fatal(err)
				}
				nodes = append(nodes, node)
			}
			b.ReportAllocs()
			for b.Loop() {
				g, err := Build(nodes, Options{})
				if err != nil {
					b.Fatal(err)
				}
				edges := 0
				for _, needs := range g.Needs {
					edges += len(needs)
				}
				b.ReportMetric(float64(edges), "edges")
			}
		})
	}
}
