package plan_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// applied is the data that was applied last in the tests of ignored fields.
const applied = `{"size":"2","color":"red"}`

// ignoring returns the plan of a ConfigMap with some data that ignores its size. The live one was
// applied by client-side apply or server-side apply, and then changed by others.
func ignoring(
	t *testing.T, serverSide bool, rules diff.IgnoreRules, data, live, managed string,
) *plan.Plan {
	t.Helper()
	const identity = `apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: demo`
	last := `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a","namespace":"demo"},` +
		`"data":` + applied + `}`
	policy := plan.Policy{Manager: "me", LastApplied: "last", Ignore: rules}
	annotations := `annotations: {last: '` + last + `'}`
	if serverSide {
		policy, annotations = plan.Policy{Manager: "me", ServerSide: true, Ignore: rules}, `labels: {}`
	}
	existing := documents(t, `{`+identity+`, `+annotations+`, managedFields: [`+managed+`]}, data: `+
		live+`}`)[0]
	p, err := plan.Build(plan.Input{
		Desired: []plan.Desired{{Object: documents(t, `{`+identity+`}, data: `+data+`}`)[0]}},
		Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(existing): existing},
		Policy:  policy,
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// managed returns an entry of managed fields of the data.
func managed(manager, operation, fields string) string {
	return `{manager: ` + manager + `, operation: ` + operation + `, apiVersion: v1, ` +
		`fieldsType: FieldsV1, fieldsV1: {"f:data": {` + fields + `}}}`
}

// dataOf returns the data of an object as JSON.
func dataOf(t *testing.T, obj *unstructured.Unstructured) string {
	t.Helper()
	text, err := json.Marshal(obj.Object["data"])
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestIgnoreClientSide checks what a client-side apply does with ignored fields.
func TestIgnoreClientSide(t *testing.T) {
	anybody := diff.IgnoreRules{{Paths: []string{"/data/size"}}}
	scaler := diff.IgnoreRules{{Paths: []string{"/data/size"}, Managers: []string{"scaler"}}}
	byScaler := managed("scaler", "Update", `"f:size": {}`)
	for _, tc := range []struct {
		name       string
		rules      diff.IgnoreRules
		data, live string
		managed    string
		op         plan.Op
		becomes    string
	}{
		{"others changed it", anybody, applied, `{"size":"7","color":"red"}`, byScaler,
			plan.Unchanged, `{"color":"red","size":"7"}`},
		{"others changed more", anybody, applied, `{"size":"7","color":"blue"}`, byScaler,
			plan.Update, `{"color":"red","size":"7"}`},
		{"the source changes it", anybody, `{"size":"3","color":"red"}`, applied, "",
			plan.Unchanged, `{"color":"red","size":"2"}`},
		{"the source changes more", anybody, `{"size":"3","color":"blue"}`, `{"size":"7","color":"red"}`,
			byScaler, plan.Update, `{"color":"blue","size":"7"}`},
		{"it left the source", anybody, `{"color":"red"}`, `{"size":"7","color":"red"}`, byScaler,
			plan.Unchanged, `{"color":"red","size":"7"}`},
		{"others removed it", anybody, applied, `{"color":"red"}`, "",
			plan.Unchanged, `{"color":"red"}`},
		{"its manager changed it", scaler, applied, `{"size":"7","color":"red"}`, byScaler,
			plan.Unchanged, `{"color":"red","size":"7"}`},
		{"another manager changed it", scaler, applied, `{"size":"7","color":"red"}`,
			managed("kubectl-edit", "Update", `"f:size": {}`), plan.Update, applied},
		{"nobody owns it", scaler, applied, `{"color":"red"}`, "", plan.Update, applied},
		{"there is no rule any more", nil, applied, `{"size":"7","color":"red"}`, byScaler,
			plan.Update, applied},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := ignoring(t, false, tc.rules, tc.data, tc.live, tc.managed)
			expectStep(t, &p.Steps[0], tc.op, tc.becomes)
			again, err := p.Replan(&p.Steps[0], p.Steps[0].Have)
			if err != nil {
				t.Fatal(err)
			}
			expectStep(t, again, tc.op, tc.becomes)
			if tc.op != plan.Update {
				return
			}
			created, err := p.Manifest(&p.Steps[0])
			if err != nil {
				t.Fatal(err)
			}
			expectData(t, "created in its place", created, tc.data)
		})
	}
}

// TestIgnoreServerSide checks what a server-side apply does with ignored fields.
func TestIgnoreServerSide(t *testing.T) {
	rules := diff.IgnoreRules{{Paths: []string{"/data/size"}}}
	all, color := managed("me", "Apply", `"f:size": {}, "f:color": {}`),
		managed("me", "Apply", `"f:color": {}`)
	byScaler := managed("scaler", "Update", `"f:size": {}`)
	for _, tc := range []struct {
		name       string
		data, live string
		managed    string
		op         plan.Op
		sent       string
	}{
		{"others took it", applied, `{"size":"7","color":"red"}`, color + ", " + byScaler,
			plan.Unchanged, `{"color":"red"}`},
		{"others changed more", applied, `{"size":"7","color":"blue"}`, byScaler,
			plan.Update, `{"color":"red"}`},
		{"others share it", applied, applied, all + ", " + byScaler, plan.Update, `{"color":"red"}`},
		{"the source changes it", `{"size":"3","color":"red"}`, applied, all, plan.Unchanged, applied},
		{"it left the source", `{"color":"red"}`, applied, all, plan.Unchanged, applied},
		{"the source changes more", `{"size":"3","color":"blue"}`, applied, all,
			plan.Update, `{"color":"blue","size":"2"}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := ignoring(t, true, rules, tc.data, tc.live, tc.managed)
			step := &p.Steps[0]
			if step.Op != tc.op {
				t.Errorf("it is %s, want %s", step.Op, tc.op)
			}
			expectData(t, "sent", step.Want, tc.sent)
			created, err := p.Manifest(step)
			if err != nil {
				t.Fatal(err)
			}
			expectData(t, "created in its place", created, tc.data)
			next, err := p.Replan(step, step.Have)
			if err != nil {
				t.Fatal(err)
			}
			expectData(t, "sent again", next.Want, tc.sent)
		})
	}
}

// TestIgnoreCreation checks that a creation sends ignored fields.
func TestIgnoreCreation(t *testing.T) {
	for _, serverSide := range []bool{false, true} {
		desired := documents(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: `+
			applied+`}`)[0]
		p, err := plan.Build(plan.Input{
			Desired: []plan.Desired{{Object: desired}},
			Policy: plan.Policy{
				ServerSide: serverSide, Ignore: diff.IgnoreRules{{Paths: []string{"/data"}}},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		expectStep(t, &p.Steps[0], plan.Create, applied)
	}
}

func expectStep(t *testing.T, step *plan.Step, op plan.Op, data string) {
	t.Helper()
	if step.Op != op {
		t.Errorf("it is %s, want %s", step.Op, op)
	}
	expectData(t, "the object", step.Want, data)
}

func expectData(t *testing.T, what string, obj *unstructured.Unstructured, want string) {
	t.Helper()
	var fields any
	if err := json.Unmarshal([]byte(want), &fields); err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal([]byte(dataOf(t, obj)), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
