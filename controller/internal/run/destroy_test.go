package run

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
)

// answers are what a server says at some paths that has nothing but Secrets.
var answers = map[string]string{
	"/api":  `{"kind": "APIVersions", "versions": ["v1"]}`,
	"/apis": `{"kind": "APIGroupList"}`,
	"/api/v1": `{"kind": "APIResourceList", "groupVersion": "v1", "resources": [
		{"name": "secrets", "kind": "Secret", "namespaced": true, "verbs": ["list"]}]}`,
}

// A server that does not have the kind of the record may be starting: the objects of a Set are
// not orphaned at once.
func TestNoRecord(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, status := answers[r.URL.Path], http.StatusOK
		switch {
		case strings.HasSuffix(r.URL.Path, "/secrets"):
			status = http.StatusForbidden
		case answer == "":
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer)) // the client may have left
	}))
	defer server.Close()
	cluster, err := muster.Connect(&rest.Config{Host: server.URL}, muster.ConnectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	as := &clusters.Identity{Cluster: cluster}
	set := &v1alpha1.Set{}
	set.Namespace, set.Name = "shop", "shop"
	j, out := &job{set: set, run: &Run{}}, &Outcome{}
	j.slot = j.newSlot()
	if err := j.noRecord(t.Context(), as, out); err == nil || out.Orphaned != "" {
		t.Errorf("at once: error %v, orphaned %q", err, out.Orphaned)
	}
	set.Status.Failures = recordTries
	const orphaned = "there is no record, so that nothing was deleted"
	if err := j.noRecord(t.Context(), as, out); err != nil || out.Orphaned != orphaned {
		t.Errorf("after some time: error %v, orphaned %q", err, out.Orphaned)
	}
	set.Status.Deleting, out = "kapp.k14s.io/app=1", &Outcome{}
	const finished = "an earlier run has deleted the objects and the record"
	err = j.noRecord(t.Context(), as, out)
	if err != nil || out.Orphaned != "" || out.Finished != finished {
		t.Errorf("after an earlier run: error %v, %+v", err, out)
	}
}
