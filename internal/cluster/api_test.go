package cluster

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// api is a server with kinds and registered answers by method, path and query. All other requests
// are forbidden.
type api struct {
	groups map[string][]metav1.APIResource // by group version; nil for one that cannot be described

	ailing []int // codes of the first discovery responses

	hold func() (done func()) // called for each request but those for kinds; nil for none

	mu sync.Mutex
	// answers to requests; the last is repeated: an error code, an object, or the end of a group
	answers map[string][]any
	asked   []string
}

var listing = metav1.Verbs{"get", "list"}

// kindsOfAPI returns the kinds that most tests need.
func kindsOfAPI() map[string][]metav1.APIResource {
	return map[string][]metav1.APIResource{
		"v1": {
			{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: listing},
			{Name: "namespaces", Kind: "Namespace", Verbs: listing},
			{Name: "events", Kind: "Event", Namespaced: true, Verbs: listing},
			{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		},
		"apps/v1": {
			{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: listing},
		},
		"apps/v1beta1": {
			{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: listing},
		},
	}
}

// start starts the server and returns a client of it.
func (a *api) start(t *testing.T) *Client {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	client, err := New(&rest.Config{Host: server.URL}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch path := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, "/apis/"), "/api/"); {
	case r.URL.Path == "/api" && len(a.ailing) > 0:
		refuse(w, a.ailing[0])
		a.ailing = a.ailing[1:]
	case r.URL.Path == "/api":
		_ = json.NewEncoder(w).
			Encode(metav1.APIVersions{
				TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			})
	case r.URL.Path == "/apis":
		_ = json.NewEncoder(w).Encode(a.groupList())
	case a.describes(path):
		if a.groups[path] == nil {
			refuse(w, http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{
				Kind:       "APIResourceList",
				APIVersion: "v1",
			}, GroupVersion: path, APIResources: a.groups[path],
		})
	default:
		a.answer(w, r.Method+" "+r.URL.RequestURI())
	}
}

func (a *api) describes(path string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, ok := a.groups[path]
	return ok
}

// groupList returns the groups with their versions, sorted by name.
func (a *api) groupList() metav1.APIGroupList {
	versions := map[string][]metav1.GroupVersionForDiscovery{}
	var names []string
	a.mu.Lock()
	defer a.mu.Unlock()
	for gv := range a.groups {
		names = append(names, gv)
	}
	slices.Sort(names)
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, gv := range names {
		if group, version, ok := strings.Cut(gv, "/"); ok {
			versions[group] = append(
				versions[group],
				metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: version},
			)
		}
	}
	for group, versions := range versions {
		list.Groups = append(
			list.Groups,
			metav1.APIGroup{Name: group, Versions: versions, PreferredVersion: versions[0]},
		)
	}
	return list
}

func (a *api) answer(w http.ResponseWriter, request string) {
	if a.hold != nil {
		defer a.hold()()
	}
	a.mu.Lock()
	a.asked = append(a.asked, request)
	answers := a.answers[request]
	if len(answers) > 1 {
		a.answers[request] = answers[1:]
	}
	a.mu.Unlock()
	if len(answers) == 0 {
		refuse(w, http.StatusForbidden)
		return
	}
	switch answer := answers[0].(type) {
	case int:
		refuse(w, answer)
	case recorded:
		answer.write(w)
	case string:
		_, _ = fmt.Fprint(w, answer)
	case endOfGroup:
		a.mu.Lock()
		delete(a.groups, string(answer))
		a.mu.Unlock()
		refuse(w, unservedPath)
	default:
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// requests returns the requests, sorted, since many are concurrent.
func (a *api) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := a.asked
	a.asked = nil
	slices.Sort(asked)
	return asked
}

// refuse answers with a status; 1404 stands for a path that is not served.
func refuse(w http.ResponseWriter, code int) {
	reasons := map[int]metav1.StatusReason{
		http.StatusForbidden:           metav1.StatusReasonForbidden,
		http.StatusGone:                metav1.StatusReasonExpired,
		http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
		http.StatusInternalServerError: metav1.StatusReasonInternalError,
	}
	if code == unservedPath {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{
			Kind:       "Status",
			APIVersion: "v1",
		}, Status: "Failure", Reason: reasons[code], Code: int32(code), Message: "no",
	})
}

const unservedPath = 1404

// endOfGroup answers that a path is not served; from then on the group version is not described.
type endOfGroup string

// page returns a page of a list and the token of the next one.
func page(version, next string, items ...map[string]any) map[string]any {
	if items == nil {
		items = []map[string]any{}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "List",
		"metadata": map[string]any{"resourceVersion": version, "continue": next}, "items": items,
	}
}

// thing returns an object with a label, named "NAMESPACE/NAME" or "NAME", whose UID is its name.
func thing(apiVersion, kind, name, label string) map[string]any {
	metadata := map[string]any{
		"name":          name,
		"uid":           name,
		"managedFields": []any{map[string]any{"manager": "m"}},
	}
	if namespace, name, ok := strings.Cut(name, "/"); ok {
		metadata["name"], metadata["namespace"] = name, namespace
	}
	if key, value, ok := strings.Cut(label, "="); ok {
		metadata["labels"] = map[string]any{key: value}
	}
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
}
