package diff_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

// longPod returns a Pod with n variables of a value, which a manager owns; empty is nobody.
func longPod(
	n int, value, manager string, as metav1.ManagedFieldsOperationType,
) *unstructured.Unstructured {
	env, owned := make([]any, n), make([]string, n)
	for i := range env {
		env[i] = map[string]any{"name": fmt.Sprint("V", i), "value": value}
		owned[i] = fmt.Sprintf(`"k:{\"name\":\"V%d\"}":{".":{},"f:name":{},"f:value":{}}`, i)
	}
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "a", "env": env}}},
	}}
	if manager != "" {
		pod.SetManagedFields([]metav1.ManagedFieldsEntry{{
			Manager: manager, Operation: as, APIVersion: "v1", FieldsType: "FieldsV1",
			FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},` +
				`"f:name":{},"f:env":{` + strings.Join(owned, ",") + `}}}}}`),
		}})
	}
	return pod
}

// TestLongLists compares and merges lists with many items: it takes no longer for each item.
func TestLongLists(t *testing.T) {
	const n = 10_000
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	want := longPod(n, "x", "", "")
	own, others := longPod(n, "x", "me", apply), longPod(n, "y", "others", update)
	if same, err := diff.AppliedBy(want, own, "me"); err != nil || !same {
		t.Errorf("applied %t, %v", same, err)
	}
	part, err := diff.AppliedPart(own, want, diff.Setter{Manager: "me"})
	if err != nil {
		t.Fatal(err)
	}
	containers, _, _ := unstructured.NestedSlice(part.Object, "spec", "containers")
	if env := containers[0].(map[string]any)["env"].([]any); len(env) != n {
		t.Errorf("%d variables were applied", len(env))
	}
	found, err := diff.Contested(diff.Comparison{Want: want, Live: others, Manager: "me"})
	if err != nil || len(found) != n {
		t.Errorf("%d contested, %v", len(found), err)
	}
	_, merged, err := diff.ThreeWay(nil, want, others)
	if err != nil {
		t.Fatal(err)
	}
	if left := diff.Between(merged, want, diff.Options{}); len(left) > 0 {
		t.Errorf("%d changes are left", len(left))
	}
}
