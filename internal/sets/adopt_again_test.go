package sets

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// TestAdoptionOfUnchangedObjects: the plan of an app has no manifest of an object that stays
// unchanged. One that is marked already loses the marks of the old tool; one that an apply leaves
// out cannot be marked.
func TestAdoptionOfUnchangedObjects(t *testing.T) {
	for labels, want := range map[string]string{
		`{kapp.k14s.io/app: "17"}`: "unchanged ",
		`{kapp.k14s.io/app: "17", applyset.kubernetes.io/part-of: old}`: `update ` +
			`{"metadata":{"labels":{"applyset.kubernetes.io/part-of":null}}}`,
		`{applyset.kubernetes.io/part-of: old}`: "",
	} {
		live := parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: u, labels: `+
			labels+`}}`)
		a := &Adoption{
			request: AdoptRequest{To: Request{App: "web"}},
			From: &adopt.Set{
				Labels: []string{"applyset.kubernetes.io/part-of"},
				Owners: []owner.Owner{{Kind: owner.ApplySet, Name: "old"}},
			},
			members: object.NewSet(object.RefOf(live)), look: &Look{},
		}
		ref := object.RefOf(live)
		r := reduction{
			adoption: a, marks: a.From.Marks(resource.AnnKubectlApplied),
			own:       owner.Owner{Kind: owner.App, ID: "17"},
			plan:      &plan.Plan{Steps: []plan.Step{{Ref: ref, Op: plan.Unchanged, Have: live}}},
			live:      map[object.Ref]*unstructured.Unstructured{ref: live},
			former:    map[object.Ref]*unstructured.Unstructured{ref: live},
			described: map[object.Ref]any{}, differing: object.NewSet(),
		}
		if err := r.steps(); err != nil {
			t.Fatal(err)
		}
		if refused := a.Check() != nil; refused != (want == "") {
			t.Errorf("%s: refused is %v", labels, refused)
		}
		step := r.plan.Steps[0]
		if got := string(step.Op) + " " + string(step.Patch.Data); want != "" && got != want {
			t.Errorf("%s: %s, want %s", labels, got, want)
		}
	}
}

// secretDocument is what a tool has recorded of a Secret in an annotation.
const secretDocument = `{"apiVersion":"v1","kind":"Secret",` +
	`"data":{"pin":"aHVudGVyMg==","old":"b2xkcGlu"},"stringData":{"pin":"hunter2"},` +
	`"metadata":{"name":"a","namespace":"shop"}}`

// undoOfSecret returns what an adoption keeps of a Secret in namespace shop, if the record of the
// new set is in a namespace.
func undoOfSecret(t *testing.T, namespace string) (live *unstructured.Unstructured, u *undoInfo) {
	t.Helper()
	live = parseObject(t, `{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: shop, uid: u},
		data: {pin: aHVudGVyMg==}}`)
	live.SetAnnotations(map[string]string{
		"theirs": "plain", "applied": secretDocument, "broken": `{"data":{"pin":"hunter2"`,
	})
	want := live.DeepCopy()
	want.SetAnnotations(map[string]string{"theirs": "plain", "applied": "new", "broken": "new"})
	a := &Adoption{From: &adopt.Set{}, store: newUndoStore(nil, packageFormat(), namespace, "new")}
	p := &plan.Plan{Steps: []plan.Step{
		{Ref: object.RefOf(live), Op: plan.Update, Have: live, Want: want},
	}}
	return live, a.undoInfo(p)
}

// TestUndoHasNoSecretsOfOthers: what an undo keeps of a Secret in another namespace has no data of
// it.
func TestUndoHasNoSecretsOfOthers(t *testing.T) {
	for namespace, private := range map[string]bool{"shop": false, "argocd": true} {
		_, undo := undoOfSecret(t, namespace)
		text, err := json.Marshal(undo)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"hunter2", "aHVudGVyMg", "b2xkcGlu"} {
			if strings.Contains(string(text), value) == private {
				t.Errorf("namespace %s: %s", namespace, text)
			}
		}
	}
}

// TestUndoRestoresSecrets: an undo restores what a tool has recorded of a Secret; values that are
// not kept come from the live object.
func TestUndoRestoresSecrets(t *testing.T) {
	for namespace, private := range map[string]bool{"shop": false, "argocd": true} {
		live, undo := undoOfSecret(t, namespace)
		annotations, _ := undo.Objects[0].texts(live)["annotations"].(map[string]*string)
		if annotations["applied"] == nil {
			t.Fatalf("namespace %s: nothing is restored", namespace)
		}
		restored := map[string]any{}
		if err := json.Unmarshal([]byte(*annotations["applied"]), &restored); err != nil {
			t.Fatal(err)
		}
		data := map[string]any{"pin": "aHVudGVyMg=="}
		if !private {
			data["old"] = "b2xkcGlu"
		}
		if diff := cmp.Diff(map[string]any{
			"apiVersion": "v1", "kind": "Secret", "data": data,
			"stringData": map[string]any{"pin": "hunter2"},
			"metadata":   map[string]any{"name": "a", "namespace": "shop"},
		}, restored); diff != "" {
			t.Errorf("namespace %s (-want +got):\n%s", namespace, diff)
		}
		if _, has := annotations["broken"]; has == private {
			t.Errorf("namespace %s: a text that is no document is restored: %v", namespace, has)
		}
	}
}
