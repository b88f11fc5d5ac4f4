package lock_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/lock"
)

// The release of an interrupted run is sent once if the server refuses it for the moment.
func TestReleaseAfterInterrupt(t *testing.T) {
	var deletions atomic.Int32
	answers := map[string]any{
		"GET /api": metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}},
		"GET /apis": metav1.APIGroupList{Groups: []metav1.APIGroup{{
			Name: "coordination.k8s.io", Versions: []metav1.GroupVersionForDiscovery{{
				GroupVersion: "coordination.k8s.io/v1", Version: "v1",
			}},
		}}},
		"GET /apis/coordination.k8s.io/v1": metav1.APIResourceList{APIResources: []metav1.APIResource{
			{Name: "leases", Kind: "Lease", Namespaced: true},
		}},
		"POST /apis/coordination.k8s.io/v1/namespaces/demo/leases": map[string]any{
			"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
			"metadata": map[string]any{"name": "a", "uid": "u", "resourceVersion": "1"},
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodDelete {
			deletions.Add(1)
			w.Header().Set("Retry-After", "1")
			http.Error(w, "too many requests", http.StatusTooManyRequests)
			return
		}
		_ = json.NewEncoder(w).Encode(answers[r.Method+" "+r.URL.Path])
	}))
	defer server.Close()
	client, err := cluster.New(&rest.Config{Host: server.URL}, cluster.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	held, _, err := lock.Acquire(ctx, client, set, options("ann", 0))
	if err != nil {
		t.Fatal(err)
	}
	interrupt()
	if held.Release(ctx); deletions.Load() != 1 {
		t.Errorf("%d deletions", deletions.Load())
	}
}
