package cluster

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// aggregatedType is the media type of aggregated discovery.
const aggregatedType = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// pages is a server that answers paths with JSON, in the form of the first text, or that they are
// not there.
type pages map[string][2]string

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, ok := p[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", answer[0])
	_, _ = w.Write([]byte(answer[1]))
}

// client returns a client of the server.
func (p pages) client(t *testing.T) *Client {
	t.Helper()
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// All kinds at once: versions keep the server's order, subresources and what has no kind are no
// kinds, and of what the server only remembers nothing is believed.
const (
	coreKinds = `{"items":[{"metadata":{},"versions":[{"version":"v1","freshness":"Current","resources":[
		{"resource":"configmaps","responseKind":{"group":"","version":"v1","kind":"ConfigMap"},"scope":"Namespaced","verbs":["get","list"],
		 "subresources":[{"subresource":"status","responseKind":{"kind":"ConfigMap"}}]},
		{"resource":"componentbits","responseKind":{"kind":""},"scope":"Cluster"},
		{"resource":"bindings","responseKind":{"kind":"Binding"},"scope":"Namespaced","verbs":["create"]}]}]}]}`
	otherKinds = `{"items":[
		{"metadata":{"name":"autoscaling"},"versions":[
			{"version":"v2","freshness":"Current","resources":[{"resource":"horizontalpodautoscalers","responseKind":{"kind":"HorizontalPodAutoscaler"},"scope":"Namespaced","verbs":["list"]}]},
			{"version":"v1","freshness":"Current","resources":[{"resource":"horizontalpodautoscalers","responseKind":{"kind":"HorizontalPodAutoscaler"},"scope":"Namespaced","verbs":["list"]}]}]},
		{"metadata":{"name":"metrics.example.org"},"versions":[
			{"version":"v1","freshness":"Stale","resources":[{"resource":"nodes","responseKind":{"kind":"NodeMetrics"},"scope":"Cluster"}]}]}]}`
)

func TestAggregatedDiscovery(t *testing.T) {
	client := pages{
		"/api":  {aggregatedType, coreKinds},
		"/apis": {strings.Replace(aggregatedType, "v=v2", "v=v2beta1", 1), otherKinds},
	}.client(
		t,
	)
	listable, broken, err := client.ListableKinds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []ListableKind{
		{schema.GroupKind{Kind: "ConfigMap"}, "v1", true},
		{schema.GroupKind{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}, "v2", true},
	}
	if diff := cmp.Diff(want, listable); diff != "" {
		t.Errorf("listable kinds (-want +got):\n%s", diff)
	}
	text := "unable to retrieve the complete list of server APIs: metrics.example.org/v1: stale " +
		"GroupVersion discovery: metrics.example.org/v1"
	if err := DiscoveryError(broken); err == nil || err.Error() != text {
		t.Errorf("what is broken: %v", err)
	}
	autoscaler, err := client.Kind(t.Context(), want[1].GroupKind)
	if diff := cmp.Diff([]string{"v2", "v1"}, autoscaler.Served); err != nil || diff != "" {
		t.Errorf("served versions, %v (-want +got):\n%s", err, diff)
	}
	if _, err := client.Kind(t.Context(), schema.GroupKind{Kind: "Binding"}); err != nil {
		t.Errorf("a kind that cannot be listed: %v", err)
	}
}

// A proxy may serve one part in the new form and the other in the old one. An extension API server
// has no core group.
func TestMixedDiscovery(t *testing.T) {
	names, resources := listOf(t, "apps/v1", "deployments", "Deployment")
	for _, server := range []pages{
		{
			"/api": {aggregatedType, coreKinds}, "/apis": {"application/json", names},
			"/apis/apps/v1": {"application/json", resources},
		},
		{"/apis": {"application/json", names}, "/apis/apps/v1": {"application/json", resources}},
	} {
		client := server.client(t)
		if _, err := client.Kind(
			t.Context(), schema.GroupKind{Group: "apps", Kind: "Deployment"},
		); err != nil {
			t.Errorf("a kind of the old form: %v", err)
		}
		_, err := client.Kind(t.Context(), schema.GroupKind{Kind: "ConfigMap"})
		if _, hasCore := server["/api"]; (err == nil) != hasCore {
			t.Errorf("a kind of the core: %v", err)
		}
	}
}

// listOf gives what a server of the old form says of one kind: the list of groups, and that of
// resources.
func listOf(t *testing.T, gv, name, kind string) (names, resources string) {
	t.Helper()
	group, version, _ := strings.Cut(gv, "/")
	all := metav1.APIGroupList{
		Groups: []metav1.APIGroup{
			{
				Name:     group,
				Versions: []metav1.GroupVersionForDiscovery{{GroupVersion: gv, Version: version}},
			},
		},
	}
	list := metav1.APIResourceList{
		GroupVersion: gv,
		APIResources: []metav1.APIResource{
			{Name: name, Kind: kind},
			{Name: name + "/scale", Kind: "Scale"},
		},
	}
	var texts []string
	for _, v := range []any{all, list} {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	return texts[0], texts[1]
}

func TestUnreadableDiscovery(t *testing.T) {
	for _, form := range []string{aggregatedType, "application/json"} {
		client := pages{"/apis": {form, "<html>"}}.client(t)
		_, err := client.Kind(t.Context(), schema.GroupKind{Kind: "ConfigMap"})
		if err == nil ||
			!strings.Contains(err.Error(), "read what the server says of its kinds (/apis)") {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// TestAilingDiscovery covers servers that do not say at first which kinds they have.
func TestAilingDiscovery(t *testing.T) {
	for _, c := range []struct {
		codes []int
		want  string
	}{
		{codes: []int{http.StatusServiceUnavailable, http.StatusInternalServerError}},
		{codes: []int{http.StatusForbidden, http.StatusForbidden}, want: "no"},
	} {
		a := &api{groups: kindsOfAPI(), ailing: c.codes}
		_, err := a.start(t).Kind(t.Context(), configMaps)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%v: %v, want %s", c.codes, err, c.want)
		}
	}
}
