package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestMoveManagers: the fields of other managers become updates of one, and return from there. What
// has got another owner meanwhile stays with that.
func TestMoveManagers(t *testing.T) {
	entry := func(manager, operation, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationType(operation), APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	text := func(entries []metav1.ManagedFieldsEntry) (texts []string) {
		for _, e := range entries {
			texts = append(texts, e.Manager+" "+string(e.Operation)+" "+e.FieldsV1.GetRawString())
		}
		return texts
	}
	controller := entry("controller", "Update", `{"f:status":{}}`)
	before := []metav1.ManagedFieldsEntry{
		entry("helm", "Apply", `{"f:data":{"f:a":{},"f:b":{}},"f:stringData":{"f:d":{}}}`), controller,
		entry("kubectl", "Update", `{"f:data":{"f:c":{}}}`),
	}
	after, moved, err := MoveManagers(before, []string{"helm"}, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`controller Update {"f:status":{}}`,
		`kubectl Update {"f:data":{"f:a":{},"f:b":{},"f:c":{}}}`}
	if diff := cmp.Diff(want, text(after)); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
	after[1] = entry("kubectl", "Update", `{"f:data":{"f:a":{},"f:c":{}}}`)
	after = append(after, entry("kubectl", "Apply", `{"f:data":{"f:a":{}},"f:stringData":{"f:d":{}}}`))
	returned, err := ReturnManagers(after, moved, "kubectl")
	if err != nil {
		t.Fatal(err)
	}
	want = []string{`controller Update {"f:status":{}}`, `kubectl Update {"f:data":{"f:c":{}}}`,
		`helm Apply {"f:data":{"f:a":{}},"f:stringData":{"f:d":{}}}`}
	if diff := cmp.Diff(want, text(returned)); diff != "" {
		t.Errorf("returned (-want +got):\n%s", diff)
	}
}
