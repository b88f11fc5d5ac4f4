package inventory

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// FuzzKptfile looks for Kptfiles that panic, whose errors do not name the file, or that lose more
// than the inventory when its section is removed or renamed.
func FuzzKptfile(f *testing.F) {
	const head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: a}\n"
	for _, text := range []string{"", head,
		head + "inventory: {namespace: n, name: a, inventoryID: i}\n",
		head + "inventory:\n  namespace: n\n  name: a\n  inventoryID: i\n" +
			"  labels: {x: y}\npipeline: {}\n",
		"apiVersion: kpt.dev/v1alpha1\nkind: Kptfile\n", "inventory: [\n", "a: &a\nb: *a\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := ParseKptfile(text, "Kptfile"); err != nil &&
			!strings.HasPrefix(err.Error(), "Kptfile: ") {
			t.Errorf("the error does not name the file: %v", err)
		}
		if stripped, err := StripInventory(text); err == nil {
			if again, err := StripInventory(stripped); err != nil || string(again) != string(stripped) {
				t.Errorf("%q is not stripped: %q (%v)", stripped, again, err)
			}
		}
		from := object.Ref{Group: "kpt.dev", Kind: "ResourceGroup", Namespace: "n", Name: "a"}
		to := from
		to.Namespace, to.Name = "other", "b"
		if renamed, err := RenameText(text, from, to); err == nil {
			if back, err := RenameText(renamed, to, from); err != nil {
				t.Errorf("%q cannot be renamed back: %q (%v)", renamed, back, err)
			}
		}
	})
}

// FuzzRecord looks for stored records that panic, or that are read with a member that has no
// identity or is there twice: pruning would lose or repeat it.
func FuzzRecord(f *testing.F) {
	for _, text := range []string{
		`{"spec": {"resources": [{"group": "", "kind": "ConfigMap", "name": "a", "namespace": "n"}]}, ` +
			`"status": {"resourceStatuses": [{"kind": "ConfigMap", "name": "a", "namespace": "n", ` +
			`"strategy": "Apply", "actuation": "Succeeded", "reconcile": "Pending"}]}}`,
		`{"spec": {"resources": "none"}, "status": []}`, `{"spec": {"resources": [1, null, {}]}}`,
		`{"data": {"n_a__ConfigMap": "{\"actuation\": \"Succeeded\"}"}}`, `{"data": {"a_b": ""}}`,
		`{"data": {"_web_apps_Deployment": 1}}`,
	} {
		f.Add([]byte(text))
	}
	formats := []interface {
		decode(*unstructured.Unstructured) (*record.State, error)
	}{resourceGroupFormat{}, configMapFormat{}}
	f.Fuzz(func(t *testing.T, text []byte) {
		var fields map[string]any
		if json.Unmarshal(text, &fields) != nil {
			return
		}
		for _, format := range formats {
			state, err := format.decode(&unstructured.Unstructured{Object: fields})
			if err != nil {
				continue
			}
			seen := map[object.Ref]bool{}
			for _, member := range state.Members {
				if member.Ref.Kind == "" || member.Ref.Name == "" || seen[member.Ref] {
					t.Errorf("%T: the member %v has no identity or is there twice", format, member.Ref)
				}
				seen[member.Ref] = true
			}
		}
	})
}
