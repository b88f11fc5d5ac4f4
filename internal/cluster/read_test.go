package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
)

// The first page is short where little is looked for. Where much of others follows, the objects that it lacks are asked for one by
// one; where little does, it is read.
func TestReadAmongOthers(t *testing.T) {
	one, two := thing("v1", "ConfigMap", "n/one", ""), thing("v1", "ConfigMap", "n/two", "")
	const path = "GET /api/v1/namespaces/n/configmaps"
	const first, second = path + "?limit=40", path + "?continue=c&limit=500"
	for _, tc := range []struct {
		name  string
		rest  int
		asked []string
	}{
		{"crowded", 21, []string{path + "/two", first}},
		{"not crowded", 20, []string{second, first}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			begun := page("5", "c", one)
			begun["metadata"].(map[string]any)["remainingItemCount"] = tc.rest
			a := &api{groups: kindsOfAPI(), answers: map[string][]any{first: {begun}, second: {page("5", "", two)}, path + "/two": {two}}}
			targets := []Target{{Ref: object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "one"}}, {Ref: object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "two"}}}
			found, err := a.start(t).Read(t.Context(), targets)
			if err != nil || len(found.Objects) != 2 {
				t.Errorf("found %v, %v", found, err)
			}
			if diff := cmp.Diff(tc.asked, a.requests()); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}
