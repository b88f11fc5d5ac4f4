package cluster

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// A list whose pages expire, since the server forgets what has changed in between, is read once
// more, at once as a whole. Nothing is found twice.
func TestExpiredPages(t *testing.T) {
	gk := schema.GroupKind{Kind: "ConfigMap"}
	ref := func(name string) object.Ref {
		return object.Ref{Kind: "ConfigMap", Namespace: "n", Name: name}
	}
	for name, tc := range map[string]struct {
		limit, next string // sizes of pages
		find        func(ctx context.Context, c *Client) (names []string, err error)
	}{
		"list": {"500", "500", func(ctx context.Context, c *Client) (names []string, err error) {
			found, err := c.List(ctx, gk, "n", nil)
			for _, obj := range found {
				names = append(names, obj.GetName())
			}
			return names, err
		}},
		"metadata": {"500", "500", func(ctx context.Context, c *Client) (names []string, err error) {
			found, err := c.ListMetadata(ctx, gk, "n", nil)
			for _, m := range found {
				names = append(names, m.Name)
			}
			return names, err
		}},
		"read": {"20", "500", func(ctx context.Context, c *Client) (names []string, err error) {
			found, err := c.Read(ctx, []Target{{Ref: ref("one")}, {Ref: ref("two")}})
			if err != nil {
				return nil, err
			}
			for ref := range found.Objects {
				names = append(names, ref.Name)
			}
			return names, nil
		}},
		"query": {"100", "100", func(ctx context.Context, c *Client) (names []string, err error) {
			listed := make(chan error)
			c.WatchQuery(ctx, Query{Kind: gk, Namespace: "n", Once: true}, func(e ObjectEvent) {
				switch {
				case e.Listed:
					listed <- e.Err
				case !slices.Contains(names, e.Ref.Name): // a state may be reported twice
					names = append(names, e.Ref.Name)
				}
			})
			err = <-listed
			return names, err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			const path = "GET /api/v1/namespaces/n/configmaps"
			one, two := thing("v1", "ConfigMap", "n/one", ""), thing("v1", "ConfigMap", "n/two", "")
			whole := []string{path, path + "?limit=0"}
			a := &api{groups: kindsOfAPI(), answers: map[string][]any{
				path + "?limit=" + tc.limit:           {page("5", "c", one)},
				path + "?continue=c&limit=" + tc.next: {http.StatusGone},
				whole[0]:                              {page("9", "", one, two)},
				whole[1]:                              {page("9", "", one, two)},
			}}
			names, err := tc.find(t.Context(), a.start(t))
			slices.Sort(names)
			if diff := cmp.Diff([]string{"one", "two"}, names); diff != "" || err != nil {
				t.Errorf("%v; found (-want +got):\n%s", err, diff)
			}
			if asked := a.requests(); len(asked) != 3 {
				t.Errorf("asked %q", asked)
			}
		})
	}
}
