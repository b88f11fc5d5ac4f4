package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The metadata of objects with a label is listed in pages, without managed fields.
func TestListMetadata(t *testing.T) {
	const first = "GET /api/v1/namespaces/n/configmaps?labelSelector=a%3Db&limit=500"
	const second = "GET /api/v1/namespaces/n/configmaps?continue=c&labelSelector=a%3Db&limit=500"
	a := &api{groups: kindsOfAPI(), answers: map[string][]any{
		first:  {page("5", "c", thing("v1", "ConfigMap", "n/one", "a=b"))},
		second: {page("5", "", thing("v1", "ConfigMap", "n/two", "a=b"))},
	}}
	found, err := a.start(t).ListMetadata(t.Context(), schema.GroupKind{Kind: "ConfigMap"}, "n",
		map[string]string{"a": "b"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range found {
		names = append(names, m.Name)
		if m.Labels["a"] != "b" || m.Namespace != "n" || m.ManagedFields != nil {
			t.Errorf("metadata: %+v", m)
		}
	}
	if diff := cmp.Diff([]string{"one", "two"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{second, first}, a.requests()); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	_, err = a.start(t).ListMetadata(t.Context(), schema.GroupKind{Kind: "ConfigMap"}, "locked", nil)
	if err == nil || err.Error() != "list configmaps: no" {
		t.Errorf("a list that is forbidden: %v", err)
	}
}
