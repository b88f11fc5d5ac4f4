package plan_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// A value that is no longer in stringData leaves the Secret if the policy says so, and one that
// others added stays.
func TestEncodeStringData(t *testing.T) {
	secret := func(fields map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "key"},
			"stringData": fields,
		}}
	}
	live := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{
			"name": "key", "annotations": map[string]any{"last": `{"apiVersion":"v1","kind":"Secret",` +
				`"metadata":{"name":"key"},"stringData":{"pin":"1","word":"a"}}`},
		},
		"data": map[string]any{"pin": "MQ==", "word": "YQ==", "other": "eA=="},
	}}
	for _, tc := range []struct {
		encode bool
		want   map[string]any
		result string // data after the update, or unchanged
	}{
		{true, map[string]any{"word": "a"}, "map[other:eA== word:YQ==]"},
		{true, map[string]any{"word": "b"}, "map[other:eA== word:Yg==]"},
		{true, map[string]any{"word": "a", "pin": "1"}, "unchanged"},
		{true, map[string]any{"word": "a", "gone": nil}, "map[other:eA== word:YQ==]"},
		{false, map[string]any{"word": "a"}, "map[other:eA== pin:MQ== word:YQ==]"},
	} {
		p, err := plan.Build(plan.Input{
			Desired: []plan.Desired{{Object: secret(tc.want)}},
			Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
			Policy:  plan.Policy{LastApplied: "last", EncodeStringData: tc.encode},
		})
		if err != nil {
			t.Fatal(err)
		}
		got := string(p.Steps[0].Op)
		if p.Steps[0].Op == plan.Update {
			data, _, _ := unstructured.NestedMap(p.Steps[0].Want.Object, "data")
			got = fmt.Sprint(data)
		}
		if got != tc.result {
			t.Errorf("%v, encode %v: %s, want %s", tc.want, tc.encode, got, tc.result)
		}
	}
}

// A server-side apply sends stringData as data, which its manager owns then, so that a value leaves
// the Secret with its key. Values that it has applied as stringData belong to nobody, and are
// removed by a patch; those that others own stay.
func TestEncodeStringDataServerSide(t *testing.T) {
	owned := func(manager, operation string, fields map[string]any) any {
		return map[string]any{"manager": manager, "operation": operation, "apiVersion": "v1",
			"fieldsType": "FieldsV1", "fieldsV1": fields}
	}
	keys := func(names ...string) map[string]any {
		fields := map[string]any{}
		for _, name := range names {
			fields["f:"+name] = map[string]any{}
		}
		return fields
	}
	live := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "key", "uid": "1",
			"managedFields": []any{
				owned("me", "Apply", map[string]any{"f:stringData": keys("pin", "word", "taken")}),
				owned("other", "Update", map[string]any{"f:data": keys("other", "taken")}),
			}},
		"data": map[string]any{"pin": "MQ==", "word": "YQ==", "other": "eA==", "taken": "eQ=="},
	}}
	for _, encode := range []bool{true, false} {
		want := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "key"},
			"stringData": map[string]any{"word": "b"},
		}}
		p, err := plan.Build(plan.Input{
			Desired: []plan.Desired{{Object: want}},
			Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
			Policy:  plan.Policy{ServerSide: true, Manager: "me", EncodeStringData: encode},
		})
		if err != nil {
			t.Fatal(err)
		}
		sent, patch := `map[word:Yg==] <nil>`, `{"data":{"pin":null},"metadata":{"uid":"1"}}`
		if !encode {
			sent, patch = `<nil> map[word:b]`, ""
		}
		step := p.Steps[0]
		got := fmt.Sprint(step.Want.Object["data"], " ", step.Want.Object["stringData"])
		if got != sent || string(step.Disown.Data) != patch {
			t.Errorf("encode %v: sends %s after the patch %s, want %s after %s", encode, got,
				step.Disown.Data, sent, patch)
		}
	}
}
