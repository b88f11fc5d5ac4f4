package livetree

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// Warning is what an Event of the type Warning reports about an object.
type Warning struct {
	Object  object.Ref `json:"object"`
	Reason  string     `json:"reason,omitempty"`
	Message string     `json:"message"`
	Count   int64      `json:"count"`
	Last    time.Time  `json:"last,omitzero"`
}

// Warnings returns the warnings about an object of a tree and all that it owns, the latest first.
// It lists the Events of each namespace once. Those that cannot be listed are left out.
func Warnings(ctx context.Context, c cluster.Reader, roots []*Node) map[object.Ref][]Warning {
	owners := map[object.Ref]object.Ref{} // the object of the set, by all that it owns
	var namespaces []string
	for _, root := range roots {
		namespaces = append(namespaces, cmp.Or(root.Ref.Namespace, "default"))
		addOwned(owners, root, root.Ref)
	}
	slices.Sort(namespaces)
	found := map[object.Ref][]Warning{}
	var mu sync.Mutex
	var listed sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for _, namespace := range slices.Compact(namespaces) {
		listed.Add(1)
		query := cluster.Query{
			Kind: schema.GroupKind{Kind: "Event"}, Namespace: namespace, Fields: "type=Warning", Once: true,
		}
		var once sync.Once
		done := func() { once.Do(listed.Done) }
		context.AfterFunc(ctx, done)
		c.WatchQuery(ctx, query, func(e cluster.ObjectEvent) {
			if e.Listed {
				done()
			}
			if e.Object == nil {
				return
			}
			w := newWarning(e.Object)
			mu.Lock()
			defer mu.Unlock()
			if root, known := owners[w.Object]; known && e.Object.Object["type"] == "Warning" {
				found[root] = append(found[root], w)
			}
		})
	}
	listed.Wait()
	mu.Lock()
	defer mu.Unlock()
	for _, warnings := range found {
		slices.SortFunc(warnings, func(a, b Warning) int {
			return cmp.Or(b.Last.Compare(a.Last), object.Compare(a.Object, b.Object),
				cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
		})
	}
	return found
}

// addOwned adds an object and all that it owns, with the object of the set.
func addOwned(owners map[object.Ref]object.Ref, n *Node, root object.Ref) {
	owners[n.Ref] = root
	for _, child := range n.Children {
		addOwned(owners, child, root)
	}
}

// newWarning returns what an Event reports.
func newWarning(event *unstructured.Unstructured) Warning {
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(event.Object, path...)
		return value
	}
	gvk := schema.FromAPIVersionAndKind(text("involvedObject", "apiVersion"),
		text("involvedObject", "kind"))
	w := Warning{
		Object: object.Ref{Group: gvk.Group, Kind: gvk.Kind,
			Namespace: text("involvedObject", "namespace"), Name: text("involvedObject", "name")},
		Reason: text("reason"), Message: text("message"), Count: 1,
	}
	for _, path := range [][]string{{"series", "count"}, {"count"}} {
		if n, ok, _ := unstructured.NestedInt64(event.Object, path...); ok {
			w.Count = max(w.Count, n)
		}
	}
	at := cmp.Or(text("series", "lastObservedTime"), text("lastTimestamp"), text("eventTime"),
		text("metadata", "creationTimestamp"))
	w.Last, _ = time.Parse(time.RFC3339, at) // a time that cannot be read is unknown
	return w
}
