package reconcile

import (
	"errors"
	"net/url"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// inCluster returns a Set with the name of a record in the cluster of a Secret; in its own one
// without.
func inCluster(secret string) *v1alpha1.Set {
	set := &v1alpha1.Set{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop"}}
	if secret != "" {
		set.Spec.Cluster = &v1alpha1.ClusterSpec{
			KubeconfigSecretRef: v1alpha1.KubeconfigReference{Name: secret},
		}
	}
	return set
}

// What is wrong with a cluster is not taken for a mistake in manifests.
func TestReasonsOfClusters(t *testing.T) {
	forbidden := func(text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "web", errors.New(text))
	}
	network := &url.Error{Op: "Get", URL: "https://far", Err: errors.New("connection refused")}
	for _, test := range []struct {
		err    error
		phase  run.Phase
		want   string
		stalls bool
	}{
		{&clusters.KubeconfigError{}, run.Connecting, "KubeconfigInvalid", true},
		{errors.New("not found"), run.Connecting, "ClusterNotReady", false},
		{network, run.Opening, "ClusterNotReady", false},
		{apierrors.NewUnauthorized("no"), run.Opening, "ClusterNotReady", false},
		{errors.New("line 3"), run.Opening, "ManifestsInvalid", true},
		{network, run.Fetching, "SourceNotReady", false},
		{forbidden(`User "jane" cannot create resource "pods" in API group ""`), run.Planning,
			"Forbidden", false},
		{forbidden("exceeded quota: small"), run.Planning, "PlanFailed", false},
	} {
		out := &run.Outcome{Err: test.err, Phase: test.phase}
		if got := failureReason(out); got != test.want || Permanent(out) != test.stalls {
			t.Errorf("%v in phase %s: %s, permanent %t; want %s", test.err, test.phase, got,
				Permanent(out), test.want)
		}
	}
}

// Records of the same name in other clusters are other records, and the default service account is
// one of the controller's cluster.
func TestOtherClusters(t *testing.T) {
	r := &Reconciler{Runner: &run.Runner{DefaultServiceAccount: "deployer"}}
	if got := r.Runner.ServiceAccount(inCluster("")); got != "deployer" {
		t.Errorf("in the own cluster the service account is %q", got)
	}
	if got := r.Runner.ServiceAccount(inCluster("prod")); got != "" {
		t.Errorf("in another cluster the service account is %q", got)
	}
	own, prod := recordKey(inCluster("")), recordKey(inCluster("prod"))
	test := recordKey(inCluster("test"))
	if own == prod || prod == test || prod != recordKey(inCluster("prod")) {
		t.Errorf("the records are %q, %q and %q", own, prod, test)
	}
	r.Runner.DefaultServiceAccount = ""
	if reason, message := r.refuses(t.Context(), inCluster("")); reason != "NoServiceAccount" {
		t.Errorf("without a service account: %s, %s", reason, message)
	}
}
