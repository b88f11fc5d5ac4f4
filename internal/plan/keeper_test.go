package plan_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// counting is a keeper that keeps a plain copy, and a seal with the number of fields of the stored
// data.
type counting struct{}

func (counting) Applied(want *unstructured.Unstructured) (text string, ok bool, err error) {
	if _, disabled := object.AnnotationsOf(want).Lookup("plain"); disabled {
		return "", false, nil
	}
	if _, wrong := object.AnnotationsOf(want).Lookup("wrong"); wrong {
		return "", false, errors.New("a rule fails")
	}
	bare := want.DeepCopy()
	unstructured.RemoveNestedField(bare.Object, "metadata", "annotations", "last")
	data, err := json.Marshal(bare.Object)
	return string(data), true, err
}

func (counting) Seal(sent, _ *unstructured.Unstructured) map[string]string {
	data, _, _ := unstructured.NestedMap(sent.Object, "data")
	return map[string]string{"seal": strings.Repeat("i", len(data))}
}

func (counting) Correct(
	*plan.Step, *unstructured.Unstructured, *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	return nil, nil
}

// kept returns the plan of one object in a set that marks its objects with a label and has a
// keeper. Live is empty for an object that does not exist.
func kept(t *testing.T, desired, live string, change ...func(*plan.Policy)) (*plan.Plan, error) {
	t.Helper()
	in := plan.Input{
		Live: map[object.Ref]*unstructured.Unstructured{}, Unserved: object.NewSet(),
		NoKind: object.NewSet(),
		Policy: plan.Policy{
			Owner: plan.Owner{Label: "app", ID: "me", Orphaned: "orphaned",
				Applied: []string{"theirs"}},
			LastApplied: "last", Keeper: counting{}, Bookkeeping: []string{"seal"}, Manager: "us",
		},
	}
	for _, c := range change {
		c(&in.Policy)
	}
	for _, text := range []string{desired, live} {
		if text == "" {
			continue
		}
		obj := &unstructured.Unstructured{}
		data, err := yaml.YAMLToJSON([]byte(text))
		if err == nil {
			err = obj.UnmarshalJSON(data) // with all digits
		}
		if err != nil {
			t.Fatal(err)
		}
		if text == desired {
			in.Desired = append(in.Desired, plan.Desired{Object: obj})
			continue
		}
		in.Live[object.RefOf(obj)] = obj
		if in.Policy.Owner.Owns(obj) {
			in.Recorded = append(in.Recorded, object.RefOf(obj))
		}
	}
	return plan.Build(in)
}

// only returns the only step of a plan.
func only(t *testing.T, p *plan.Plan, err error) *plan.Step {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Steps) != 1 {
		t.Fatalf("got %d steps, want one:\n%s", len(p.Steps), p)
	}
	return &p.Steps[0]
}

const (
	one    = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, namespace: demo}\n"
	oneOfA = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n  namespace: demo\n  uid: u\n" +
		"  labels: {app: me}\n"
	keptA = `    last: '{"apiVersion":"v1","data":{"a":"1"},"kind":"ConfigMap","metadata":` +
		`{"labels":{"app":"me"},"name":"one","namespace":"demo"}}'` + "\n"
)

// TestKeeperCreates covers what a new object says: the mark, the copy and the seal.
func TestKeeperCreates(t *testing.T) {
	p, err := kept(t, one+"data: {a: '1'}", "")
	step := only(t, p, err)
	if step.Op != plan.Create || step.ServerSide || step.Want.GetLabels()["app"] != "me" {
		t.Errorf("got %s, server-side %v, labels %v", step.Op, step.ServerSide, step.Want.GetLabels())
	}
	got := step.Want.GetAnnotations()
	if got["seal"] != "i" || !strings.Contains(keptA, got["last"]) {
		t.Errorf("got annotations %v", got)
	}
}

// TestKeeperMerges covers an update: what others added stays, what was applied and is not desired
// goes, and the seal is that of the result, in the patch as in the object.
func TestKeeperMerges(t *testing.T) {
	live := oneOfA + "  annotations:\n    seal: i\n" + keptA + "data: {a: '1', theirs: z}"
	p, err := kept(t, one+"data: {b: '2', c: '3'}", live)
	step := only(t, p, err)
	data, _, _ := unstructured.NestedStringMap(step.Want.Object, "data")
	if step.Op != plan.Update || len(data) != 3 || data["theirs"] != "z" {
		t.Fatalf("got %s with data %v", step.Op, data)
	}
	if seal := step.Want.GetAnnotations()["seal"]; seal != "iii" {
		t.Errorf("got the seal %q in the object", seal)
	}
	patch := &unstructured.Unstructured{}
	if err := json.Unmarshal(step.Patch.Data, &patch.Object); err != nil {
		t.Fatal(err)
	}
	seal, _, _ := unstructured.NestedString(patch.Object, "metadata", "annotations", "seal")
	_, removes, _ := unstructured.NestedFieldNoCopy(patch.Object, "data", "a")
	if seal != "iii" || !removes {
		t.Errorf("got the patch %s", step.Patch.Data)
	}
	if text := step.Diff.String(); strings.Contains(text, "seal") || strings.Contains(text, "last") {
		t.Errorf("the difference shows what is kept: %s", text)
	}
}

// TestKeeperLeavesUnchanged covers that a seal which says something else is no change by itself,
// client-side and server-side.
func TestKeeperLeavesUnchanged(t *testing.T) {
	live := oneOfA + "  annotations:\n    seal: other\n" + keptA + "data: {a: '1', theirs: z}"
	p, err := kept(t, one+"data: {a: '1'}", live)
	if step := only(t, p, err); step.Op != plan.Unchanged {
		t.Errorf("got %s: %s", step.Op, step.Patch.Data)
	}
	p, err = kept(t, one+"data: {a: '1'}", "", func(p *plan.Policy) { p.ServerSide = true })
	created := only(t, p, err).Want
	if created.GetAnnotations()["seal"] != "i" || created.GetAnnotations()["last"] == "" {
		t.Errorf("a server-side apply says %v", created.GetAnnotations())
	}
}

// TestKeeperKeepsSeals covers an update of what others have changed, in both ways to write: the
// seal stays, unless something else is applied.
func TestKeeperKeepsSeals(t *testing.T) {
	live := oneOfA + "  annotations:\n    seal: i\n" + keptA + "data: {a: '0', theirs: z}"
	for _, serverSide := range []bool{false, true} {
		for desired, want := range map[string]string{"data: {a: '1'}": "i", "data: {a: '2'}": "ii"} {
			p, err := kept(t, one+desired, live, func(p *plan.Policy) { p.ServerSide = serverSide })
			step := only(t, p, err)
			if got := step.Want.GetAnnotations()["seal"]; step.Op != plan.Update || got != want {
				t.Errorf("server-side %t, %s: %s with the seal %q", serverSide, desired, step.Op, got)
			}
		}
	}
}

// TestKeeperDeclines covers an object that does not get a copy, which is written server-side, and
// an error of the keeper.
func TestKeeperDeclines(t *testing.T) {
	p, err := kept(t, strings.Replace(one, "demo}", "demo, annotations: {plain: ''}}", 1), "")
	step := only(t, p, err)
	if !step.ServerSide || step.Want.GetAnnotations()["last"] != "" {
		t.Errorf("server-side %v, annotations %v", step.ServerSide, step.Want.GetAnnotations())
	}
	if !strings.Contains(step.Reason, "does not get the annotation last") {
		t.Errorf("got the reason %q", step.Reason)
	}
	_, err = kept(t, strings.Replace(one, "demo}", "demo, annotations: {wrong: ''}}", 1), "")
	if err == nil || !strings.Contains(err.Error(), "a rule fails") {
		t.Errorf("got error %v", err)
	}
}

// TestLabelMarks covers a set whose mark is a label: what has none, what has that of another, and
// what leaves the set.
func TestLabelMarks(t *testing.T) {
	stray := one + "data: {a: '0'}"
	p, err := kept(t, one+"data: {a: '1'}", stray)
	step := only(t, p, err)
	if step.Op != plan.Skip || step.ReasonCode != plan.ReasonUnowned ||
		!strings.Contains(step.Reason, "(no label app)") {
		t.Errorf("an object without a label: %s, %s", step.Op, step.Reason)
	}
	p, err = kept(t, one+"data: {a: '1'}", stray, func(p *plan.Policy) {
		p.Owner.Unmarked = func(*unstructured.Unstructured) bool { return true }
	})
	if step := only(t, p, err); step.Op != plan.Update || step.Want.GetLabels()["app"] != "me" {
		t.Errorf("an object that lost its label: %s, %s", step.Op, step.Reason)
	}
	other := strings.Replace(oneOfA, "app: me", "app: you", 1)
	p, err = kept(t, one, other)
	if step := only(t, p, err); step.ReasonCode != plan.ReasonForeign {
		t.Errorf("an object of another set: %s, %s", step.Op, step.Reason)
	}
	p, err = kept(t, "", oneOfA+"  annotations: {stay: ''}\n", func(p *plan.Policy) {
		p.Retain = []plan.Annotation{{Key: "stay"}}
	})
	step = only(t, p, err)
	want := `{"metadata":{"labels":{"app":null,"orphaned":""},"uid":"u"}}`
	if step.Op != plan.Orphan || string(step.Patch.Data) != want {
		t.Errorf("an object that leaves: %s with %s, want %s", step.Op, step.Patch.Data, want)
	}
}

// TestTakeoverMerges covers that what the former owner has applied to an object is the base of its
// takeover, and not that of an object of the set.
func TestTakeoverMerges(t *testing.T) {
	annotated := "  annotations:\n    theirs: '{\"data\":{\"a\":\"1\",\"b\":\"2\"}," +
		"\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"}'\ndata: {a: '1', b: '2', z: '3'}"
	for label, left := range map[string]int{"you": 2, "me": 3} {
		live := strings.Replace(oneOfA, "app: me", "app: "+label, 1) + annotated
		p, err := kept(t, one+"data: {a: '1'}", live, func(p *plan.Policy) {
			p.Owner.Adoption = plan.AdoptAll
		})
		data, _, _ := unstructured.NestedMap(only(t, p, err).Want.Object, "data")
		if len(data) != left {
			t.Errorf("label %s: got data %v, want %d fields", label, data, left)
		}
	}
}

// TestFit covers that the rules of a set change what is desired of a live object, and not of one
// that is created.
func TestFit(t *testing.T) {
	rule := func(p *plan.Policy) {
		p.Fit = func(want, live, applied *unstructured.Unstructured) (
			*unstructured.Unstructured, error) {
			out := want.DeepCopy()
			value, _, _ := unstructured.NestedString(live.Object, "data", "a")
			_ = unstructured.SetNestedField(out.Object, value, "data", "a")
			if applied == nil {
				return nil, errors.New("it is not known what was applied")
			}
			return out, nil
		}
	}
	live := oneOfA + "  annotations:\n    seal: i\n" + keptA + "data: {a: theirs}"
	p, err := kept(t, one+"data: {a: '2', b: '3'}", live, rule)
	step := only(t, p, err)
	data, _, _ := unstructured.NestedStringMap(step.Want.Object, "data")
	if data["a"] != "theirs" || data["b"] != "3" {
		t.Errorf("got data %v", data)
	}
	if !strings.Contains(step.Want.GetAnnotations()["last"], `"a":"2"`) {
		t.Errorf("the copy is not that of the manifest: %v", step.Want.GetAnnotations())
	}
	p, err = kept(t, one+"data: {a: '2'}", "", rule)
	if step := only(t, p, err); step.Op != plan.Create {
		t.Errorf("got %s", step.Op)
	}
}

// TestKeeperRecordsLeftFields covers that the copy has no replicas where these are left to an
// autoscaler: another tool would take the manifest's for written.
func TestKeeperRecordsLeftFields(t *testing.T) {
	in := plan.Input{
		Live: map[object.Ref]*unstructured.Unstructured{}, Unserved: object.NewSet(),
		NoKind: object.NewSet(), Policy: plan.Policy{
			Owner: plan.Owner{Label: "app", ID: "me"}, LastApplied: "last", Keeper: counting{},
			LeaveReplicas: true,
		},
	}
	const web = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, labels: {app: me}}\n"
	scaler := "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n" +
		"spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}"
	objects := make([]*unstructured.Unstructured, 3)
	for i, text := range []string{
		web + "spec: {replicas: 3, paused: true}", web + "spec: {replicas: 2}", scaler,
	} {
		objects[i] = &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &objects[i].Object); err != nil {
			t.Fatal(err)
		}
	}
	in.Desired = []plan.Desired{{Object: objects[0]}}
	in.Live[object.RefOf(objects[1])] = objects[1]
	in.Recorded = []object.Ref{object.RefOf(objects[1])}
	in.Autoscalers = objects[2:]
	p, err := plan.Build(in)
	step := only(t, p, err)
	if last := step.Want.GetAnnotations()["last"]; strings.Contains(last, `"replicas"`) {
		t.Errorf("got %s: %s", step.Op, last)
	}
}

// TestKeeperForgets covers that what is created in place of an object, and what is decided again,
// is the manifest, although the copy lacks a part of it.
func TestKeeperForgets(t *testing.T) {
	live := oneOfA + "  annotations:\n    seal: i\n" + keptA + "data: {a: '1'}"
	p, err := kept(t, one+"data: {a: '2'}\nimmutable: false", live, func(p *plan.Policy) {
		p.Keeper = forgetful{}
	})
	step := only(t, p, err)
	manifest, err := p.Manifest(step)
	if err != nil {
		t.Fatal(err)
	}
	if _, has := manifest.Object["immutable"]; !has || manifest.GetAnnotations()["last"] == "" {
		t.Errorf("created in its place: %v", manifest.Object)
	}
	again, err := p.Replan(step, step.Have)
	if err != nil {
		t.Fatal(err)
	}
	if _, has := again.Want.Object["immutable"]; !has {
		t.Errorf("decided again: %v", again.Want.Object)
	}
	if step.Desired.GetAnnotations() != nil {
		t.Errorf("the manifest has annotations: %v", step.Desired.GetAnnotations())
	}
}

// forgetful is a keeper whose copies lack a field.
type forgetful struct{ counting }

func (f forgetful) Applied(want *unstructured.Unstructured) (text string, ok bool, err error) {
	bare := want.DeepCopy()
	delete(bare.Object, "immutable")
	return f.counting.Applied(bare)
}

// TestKeeperKeepsDigits covers numbers in the patch of an update, which a float cannot hold.
func TestKeeperKeepsDigits(t *testing.T) {
	const widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, labels: {app: me}}\n"
	p, err := kept(t, widget+"spec: {serial: 9007199254740993}", widget+"spec: {serial: 1}")
	step := only(t, p, err)
	if !strings.Contains(string(step.Patch.Data), `"spec":{"serial":9007199254740993}`) {
		t.Errorf("got the patch %s", step.Patch.Data)
	}
}

// TestKeeperReplans checks that a server-side apply that is decided again, after others changed the
// object, says the same of it as before.
func TestKeeperReplans(t *testing.T) {
	live := oneOfA + "  annotations:\n    seal: i\n" + keptA + "data: {a: '1'}"
	p, err := kept(t, one+"data: {a: '2'}", live, func(p *plan.Policy) {
		p.ServerSide, p.Bookkeeping = true, []string{"last", "seal"}
	})
	step := only(t, p, err)
	before := step.Want.GetAnnotations()["last"]
	next, err := p.Replan(step, step.Have)
	if err != nil {
		t.Fatal(err)
	}
	if after := next.Want.GetAnnotations()["last"]; before == "" || after != before {
		t.Errorf("got\n%s, want\n%s", after, before)
	}
}
