package run

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
)

// TestLost checks when nobody can delete the objects in another cluster any more: its namespace or
// the service account is gone. What nobody may read is taken as present.
func TestLost(t *testing.T) {
	const namespace = `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}}`
	const deleted = `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop", ` +
		`"deletionTimestamp": "2026-01-01T00:00:00Z"}}`
	const account = `{"kind": "ServiceAccount", "apiVersion": "v1", "metadata": {"name": "deployer"}}`
	const space, user = "/api/v1/namespaces/shop", "/api/v1/namespaces/shop/serviceaccounts/deployer"
	for name, test := range map[string]struct {
		account string
		answers map[string]string
		status  int // of all other paths
		want    string
	}{
		"present": {"deployer", map[string]string{space: namespace, user: account}, 404, ""},
		"deleted namespace": {"deployer", map[string]string{space: deleted, user: account}, 404,
			"the namespace shop of the other cluster is being deleted, and the record with it"},
		"no account": {"deployer", map[string]string{space: namespace}, 404,
			"the service account deployer of the other cluster is gone"},
		"no account is named": {"", map[string]string{space: namespace}, 404, ""},
		"forbidden":           {"deployer", nil, 403, ""},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			answer := test.answers[r.URL.Path]
			if answer == "" {
				w.WriteHeader(test.status)
			}
			_, _ = w.Write([]byte(answer)) // the client may have left
		}))
		set := &v1alpha1.Set{}
		set.Namespace, set.Name = "shop", "shop"
		j := &job{set: set, run: &Run{}, serviceAccount: test.account}
		if got := j.lost(t.Context(), &clusters.Identity{}); got != "" {
			t.Errorf("%s, in the cluster of the Set: %q", name, got)
		}
		as := &clusters.Identity{Owner: &rest.Config{Host: server.URL}}
		if got := j.lost(t.Context(), as); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
		server.Close()
	}
}
