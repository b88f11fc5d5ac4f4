package plan_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/plan"
)

// TestServerAnnotations applies a Deployment that was read from a server, with the number of its
// revision, which a controller sets again after each update: it is not sent, and not removed where
// it was applied before. An apply as that of kpt live sends it.
func TestServerAnnotations(t *testing.T) {
	const revision = "deployment.kubernetes.io/revision"
	manifest := documents(t, `{"apiVersion": "apps/v1", "kind": "Deployment", "metadata":
		{"name": "a", "namespace": "demo", "annotations": {"`+revision+`": "3"}},
		"spec": {"replicas": 2}}`)[0]
	for _, tc := range []struct {
		name            string
		before, strict  bool // applied as kpt does: before, and now
		serverSide      bool
		op              plan.Op
		sends, mentions bool // the annotation
	}{
		{"never applied", false, false, false, plan.Unchanged, false, false},
		{"applied before", true, false, false, plan.Update, false, true},
		{"as kpt", true, true, false, plan.Update, true, true},
		{"server-side", false, false, true, plan.Unchanged, false, false},
	} {
		policy := largePolicy()
		policy.OnlyClientSide, policy.ServerSide = tc.before, tc.serverSide
		_, created := buildOne(t, policy, manifest.DeepCopy(), nil)
		if _, sent := created.Want.GetAnnotations()[revision]; sent != tc.before {
			t.Errorf("%s: it is created with %v", tc.name, created.Want.GetAnnotations())
		}
		operation := metav1.ManagedFieldsOperationUpdate
		if tc.serverSide {
			operation = metav1.ManagedFieldsOperationApply
		}
		live := liveOf(created, operation, "")
		entries := live.GetManagedFields()
		entries[0].APIVersion = "apps/v1"
		entries[0].FieldsV1.SetRawBytes([]byte(
			`{"f:metadata":{"f:annotations":{"f:owner":{}}},"f:spec":{"f:replicas":{}}}`))
		live.SetManagedFields(entries)
		annotations := live.GetAnnotations()
		annotations[revision] = "4"
		live.SetAnnotations(annotations)
		policy.OnlyClientSide = tc.strict
		_, step := buildOne(t, policy, manifest.DeepCopy(), live)
		patch := string(step.Patch.Data)
		sends := strings.Contains(patch, `"`+revision+`":`)
		if step.Op != tc.op || sends != tc.sends || strings.Contains(patch, revision) && !tc.mentions {
			t.Errorf("%s: %s, %s", tc.name, step.Op, patch)
		}
	}
}
