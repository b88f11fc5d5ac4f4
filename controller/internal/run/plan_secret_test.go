package run

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
)

// A Secret with the name of a plan is deleted only if it holds one that muster wrote.
func TestRemovePlan(t *testing.T) {
	const managed = `"managedFields": [{"manager": "muster", "operation": "Apply"}]`
	for name, test := range map[string]struct {
		secret string
		want   int
	}{
		"plan": {`{"metadata": {"uid": "u", ` + managed + `}, "type": "Opaque",
			"data": {"plan": "", "digest": ""}}`, 1},
		"of others": {`{"metadata": {"uid": "u"}, "type": "Opaque",
			"data": {"plan": "", "digest": ""}}`, 0},
		"another": {`{"metadata": {"uid": "u", ` + managed + `}, "type": "Opaque",
			"data": {"plan": "", "digest": "", "password": ""}}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			deleted := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				if r.Method == http.MethodDelete {
					deleted++
				}
				_, _ = w.Write([]byte(test.secret)) // the client may have left
			}))
			defer server.Close()
			set := &v1alpha1.Set{}
			set.Namespace, set.Name = "shop", "shop"
			set.Spec.Cluster, set.Spec.Mode = &v1alpha1.ClusterSpec{}, v1alpha1.ModePlan
			j := &job{set: set}
			j.removePlan(t.Context(), &clusters.Identity{Config: &rest.Config{Host: server.URL}})
			if deleted != test.want {
				t.Errorf("%d deletions, want %d", deleted, test.want)
			}
		})
	}
}
