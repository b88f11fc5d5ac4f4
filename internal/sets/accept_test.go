package sets

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/input/files"
)

// acceptFile accepts what drifted of the ConfigMap flags into a file, and returns the file and why
// fields are left.
func acceptFile(t *testing.T, text, source string, o drift.Options) (*AcceptedFile, []string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "flags.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := configMap("flags", map[string]any{"a": "1"})
	want.SetManagedFields(nil)
	live := configMap("flags", map[string]any{"a": "2", "b": "3"})
	ref := object.RefOf(live)
	wanted := wantedObject{Desired: plan.Desired{Object: want}, plan: &plan.Plan{}}
	found, err := wanted.compare(live, o)
	if err != nil {
		t.Fatal(err)
	}
	a := acceptor{
		request: Request{Files: []string{dir}}, sources: map[object.Ref]string{ref: source},
		drift: &Drift{
			wanted:  map[object.Ref]wantedObject{ref: wanted},
			live:    map[object.Ref]*unstructured.Unstructured{ref: live},
			options: o,
		},
	}
	var left []string
	if err := a.object(t.Context(), found); err != nil {
		left = append(left, err.Error())
	}
	for _, l := range a.left {
		left = append(left, strings.TrimPrefix(l.Name(), ref.String()+" ")+": "+l.Reason)
	}
	if len(a.files) == 0 {
		return nil, left
	}
	return a.files[0], left
}

// Values of Secrets are not printed, also if they are near what changes.
func TestAcceptHidesSecrets(t *testing.T) {
	const secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\n" +
		"data: {a: aHVudGVy} # hunter\n"
	const flags = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\ndata: {a: \"1\"}\n"
	file, left := acceptFile(t, secret+"---\n"+flags+"---\n"+secret+"---\n"+
		"kind: List\nitems: [{data: {a: aHVudGVy}}]\n---\na: {b: hunter", "flags.yaml:6", drift.Options{})
	if len(left) > 0 {
		t.Fatalf("left: %v", left)
	}
	want := strings.Replace(flags, `{a: "1"}`, `{a: "2", b: "3"}`, 1)
	if text := string(file.After); !strings.Contains(text, want) ||
		strings.Count(text, secret) != 2 {
		t.Errorf("file:\n%s", text)
	}
	before, after := file.Printable()
	for _, text := range []string{string(before), string(after)} {
		if strings.Contains(text, "aHVudGVy") || strings.Contains(text, "hunter") ||
			strings.Count(text, "\n") != strings.Count(string(file.After), "\n")+1 {
			t.Errorf("printed:\n%s", text)
		}
	}
	if !strings.Contains(string(after), want) {
		t.Errorf("printed:\n%s", after)
	}
}

// Documents that are not exactly one map may hold Secrets too.
func TestAcceptHidesLists(t *testing.T) {
	const flags = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\ndata: {a: \"1\"}\n"
	for name, hidden := range map[string]string{
		"list":      "- {kind: Secret, data: {a: aHVudGVy}}\n",
		"JSON list": `[{"kind": "Secret", "data": {"a": "aHVudGVy"}}]` + "\n",
		"two lists": `[{"kind": "A"}, {"kind": "Secret", "data": {"a": "aHVudGVy"}}]` + "\n",
		"documents": "kind: A\n...\nkind: Secret\ndata: {a: aHVudGVy}\n",
		"comment":   "# kind: Secret\n# data: {a: aHVudGVy}\n",
	} {
		file, left := acceptFile(t, flags+"---\n"+hidden, "flags.yaml:1", drift.Options{})
		if len(left) > 0 {
			t.Fatalf("%s: left: %v", name, left)
		}
		before, after := file.Printable()
		if text := string(before) + string(after); strings.Contains(text, "aHVudGVy") {
			t.Errorf("%s: printed:\n%s", name, text)
		}
	}
}

// Fields that change together, as parts of one list, are all listed.
func TestAcceptListsFieldsOfOneList(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.yaml")
	rule := func(port, protocol string) map[string]any {
		return map[string]any{
			"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
			"metadata": map[string]any{"name": "web", "namespace": "demo"},
			"spec": map[string]any{"podSelector": map[string]any{}, "ingress": []any{
				map[string]any{"ports": []any{map[string]any{"port": port, "protocol": protocol}}},
			}},
		}
	}
	want := &unstructured.Unstructured{Object: rule("a", "TCP")}
	live := &unstructured.Unstructured{Object: rule("b", "UDP")}
	text, err := want.MarshalJSON()
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	ref := object.RefOf(live)
	wanted := wantedObject{Desired: plan.Desired{Object: want}, plan: &plan.Plan{}}
	found, err := wanted.compare(live, drift.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a := acceptor{
		request: Request{Files: []string{dir}}, sources: map[object.Ref]string{ref: "policy.yaml"},
		drift: &Drift{
			wanted: map[object.Ref]wantedObject{ref: wanted},
			live:   map[object.Ref]*unstructured.Unstructured{ref: live},
		},
	}
	if err := a.object(t.Context(), found); err != nil || len(a.left) > 0 {
		t.Fatal(err, a.left)
	}
	if values := a.files[0].Values; len(values) != 2 {
		t.Errorf("values: %v", values)
	}
}

// Values that come from a Secret are hidden in files that have none.
func TestAcceptHidesPrivateObjects(t *testing.T) {
	const flags = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\ndata:\n  a: \"1\"\n"
	file, left := acceptFile(t, flags, "flags.yaml", drift.Options{Private: true})
	if len(left) > 0 || !strings.Contains(string(file.After), "b: \"3\"") || !file.Values[0].Hidden {
		t.Fatalf("left %v, file:\n%s", left, file.After)
	}
	if before, after := file.Printable(); strings.Contains(string(before)+string(after), "data") {
		t.Errorf("printed:\n%s%s", before, after)
	}
}

// What cannot be written into a file is left with a reason, and the rest is written.
func TestAcceptLeaves(t *testing.T) {
	const flags = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: flags}\n"
	for _, tc := range []struct {
		name, text, source string
		left               string
	}{
		{"other value", flags + "data:\n  a: \"7\"\n", "flags.yaml",
			"data.a: the file has another value than was deployed"},
		{"setter", flags + "data:\n  a: \"1\" # kpt-set: ${a}\n", "flags.yaml",
			"data.a: a setter writes it again (line 5: # kpt-set: ${a})"},
		{"template", "#@ load(\"@ytt:data\", \"data\")\n" + flags + "data: {a: \"1\"}\n", "flags.yaml",
			"flags.yaml is a template of ytt"},
		{"generated", "# Code generated by x. DO NOT EDIT.\n" + flags + "data: {a: \"1\"}\n",
			"flags.yaml", "flags.yaml says that it is generated"},
		{"list", "kind: List\napiVersion: v1\nitems: []\n", "flags.yaml",
			"flags.yaml has it in a list"},
		{"built", flags, "kustomization.yaml (built):3", "kustomization.yaml builds it"},
		{"built from a base", flags, "../base/flags.yaml (built by kustomization.yaml)",
			"kustomization.yaml builds it from ../base/flags.yaml: change that file yourself"},
		{"other version", strings.Replace(flags, ": v1", ": v2", 1) + "data: {a: \"1\"}\n", "flags.yaml",
			"flags.yaml has it as v2, and it was deployed as v1: apply the file first"},
		{"gone", flags, "other.yaml", "other.yaml is no file"},
		{"no document", flags, "flags.yaml:99", "flags.yaml: it has no such document"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file, left := acceptFile(t, tc.text, tc.source, drift.Options{})
			if len(left) != 1 || !strings.Contains(left[0], tc.left) {
				t.Errorf("left: %q, want %q", left, tc.left)
			}
			written := file != nil && strings.Contains(string(file.After), `b: "3"`)
			if fields := strings.HasPrefix(tc.left, "data.a"); fields != written {
				t.Errorf("the other field is written: %v", written)
			}
		})
	}
}

// Sets whose manifests are no files of the user are refused.
func TestCheckAccept(t *testing.T) {
	for want, r := range map[string]Request{
		"name the folder of the package": {Record: "shop"},
		"name those of the app with -f":  {App: "web"},
		"and - is none":                  {App: "web", Files: []string{"a.yaml", "-"}},
		"and https://example.com/a.yaml is none": {
			App: "web", Files: []string{"https://example.com/a.yaml"}},
		"and reg/shop:1 is an artifact": {App: "web", Files: []string{"dir"},
			Artifacts: map[string]files.Artifact{"dir": {Reference: "reg/shop:1"}}},
	} {
		if err := CheckAccept(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if err := CheckAccept(Request{Files: []string{"shop"}}); err != nil {
		t.Error(err)
	}
}
