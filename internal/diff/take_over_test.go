package diff

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"
)

// takeOverLive is a Deployment whose two variables belong to several managers.
const takeOverLive = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, resourceVersion: "7", labels: {a: x}}
spec:
  template: {spec: {containers: [{name: c, env: [{name: A, value: a}, {name: B, value: b}]}]}}
`

// A field that is released moves to the manager, whoever owns it and how: by updates, by an apply
// of a manager whose updates move anyway, or by those of another one. Other fields stay theirs.
func TestTakeOverPatch(t *testing.T) {
	parse := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	const (
		a   = `"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}`
		b   = `"k:{\"name\":\"B\"}":{".":{},"f:name":{},"f:value":{}}`
		top = `{"f:spec":{"f:template":{"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{"f:env":{`
		end = `}}}}}}}`
	)
	entry := func(
		manager string, operation metav1.ManagedFieldsOperationType, fields string,
	) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, APIVersion: "apps/v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields)}
	}
	const update, apply = metav1.ManagedFieldsOperationUpdate, metav1.ManagedFieldsOperationApply
	live, result := parse(takeOverLive), parse(takeOverLive)
	live.SetManagedFields([]metav1.ManagedFieldsEntry{
		entry("old", update, `{"f:metadata":{"f:labels":{"f:a":{}}}}`),
		entry("old", apply, top+b+end), entry("human", update, top+a+","+b+end),
	})
	containers, _, _ := unstructured.NestedSlice(result.Object, "spec", "template", "spec",
		"containers")
	env := containers[0].(map[string]any)["env"].([]any)
	containers[0].(map[string]any)["env"] = env[:1]
	err := unstructured.SetNestedSlice(result.Object, containers, "spec", "template", "spec",
		"containers")
	if err != nil {
		t.Fatal(err)
	}
	released, err := Released(live, result, result)
	if err != nil {
		t.Fatal(err)
	}
	without := WithoutFields(live, released)
	without.SetManagedFields(nil)
	if diff := cmp.Diff(result.Object, without.Object); diff != "" {
		t.Errorf("without released fields (-want +got):\n%s", diff)
	}
	patch, err := TakeOverPatch(live, sets.New("old"), "new", released)
	if err != nil {
		t.Fatal(err)
	}
	var parts []struct{ Value json.RawMessage }
	if err := json.Unmarshal(patch.Data, &parts); err != nil || len(parts) != 2 {
		t.Fatalf("patch %s: %v", patch.Data, err)
	}
	var entries []metav1.ManagedFieldsEntry
	if err := json.Unmarshal(parts[0].Value, &entries); err != nil {
		t.Fatal(err)
	}
	owned := map[string]string{}
	for _, e := range entries {
		owned[e.Manager+" "+string(e.Operation)] = string(e.FieldsV1.GetRawBytes())
	}
	want := map[string]string{
		"human Update": top + a + end,
		"new Apply":    `{"f:metadata":{"f:labels":{"f:a":{}}},` + (top + b + end)[1:],
	}
	if diff := cmp.Diff(want, owned); diff != "" {
		t.Errorf("managed fields (-want +got):\n%s", diff)
	}
	if string(parts[1].Value) != `"7"` {
		t.Errorf("resource version %s", parts[1].Value)
	}
	live.SetManagedFields([]metav1.ManagedFieldsEntry{entry("new", apply, top+b+end)})
	patch, err = TakeOverPatch(live, sets.New("old"), "new", released)
	if err != nil || len(patch.Data) > 0 {
		t.Errorf("nothing to take over: %s, %v", patch.Data, err)
	}
}
