package inventory

import (
	"context"
	"maps"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// shelf is a cluster that stores objects without a copy, so that a benchmark measures the store.
type shelf struct {
	*enginetest.Cluster
	mu      sync.Mutex
	objects map[object.Ref]*unstructured.Unstructured
	version int
}

func (c *shelf) Read(_ context.Context, targets []cluster.Target) (*cluster.Snapshot, error) {
	found := map[object.Ref]*unstructured.Unstructured{}
	for _, target := range targets {
		if obj := c.objects[target.Ref]; obj != nil {
			found[target.Ref] = obj
		}
	}
	return &cluster.Snapshot{Objects: found}, nil
}

func (c *shelf) List(
	context.Context, schema.GroupKind, string, map[string]string,
) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for _, obj := range c.objects {
		found = append(found, obj)
	}
	return found, nil
}

func (c *shelf) Write(_ context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	stored := &unstructured.Unstructured{Object: maps.Clone(w.Object.Object)}
	stored.SetResourceVersion(strconv.Itoa(c.version))
	c.objects[object.RefOf(stored)] = stored
	return stored, nil
}

// BenchmarkSave is what a run with 20,000 members does with its record: load, save that they are
// about to be written, save what became of them.
func BenchmarkSave(b *testing.B) {
	intent, outcome := numbered(1, 20_000), numbered(1, 20_000)
	for i := range intent.Members {
		intent.Members[i] = record.Member{Ref: intent.Members[i].Ref}
	}
	for name, before := range map[string]int{"new": 0, "changed": 19_900} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				c := &shelf{
					Cluster: &enginetest.Cluster{},
					objects: map[object.Ref]*unstructured.Unstructured{},
				}
				saved(b, c, numbered(1, before))
				b.StartTimer()
				saved(b, c, intent, outcome)
			}
		})
	}
}

func saved(b *testing.B, c cluster.Writer, states ...*record.State) {
	s := NewStore(c, anInventory(), true)
	if _, err := s.Load(b.Context()); err != nil {
		b.Fatal(err)
	}
	for _, state := range states {
		if err := s.Save(b.Context(), state); err != nil {
			b.Fatal(err)
		}
	}
}
