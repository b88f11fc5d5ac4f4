package builtin

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// TestDefaultsText covers what is checked when the embedded rules are read.
func TestDefaultsText(t *testing.T) {
	for text, want := range map[string]string{
		"kinds: [":                                     "defaults:",
		"kinds: 1":                                     "defaults:",
		"kinds: {v1 A: [{use: nothing}]}":              `defaults of v1 A: there is no shape "nothing"`,
		"shapes: {a: [{like: {image: '('}}]}":          "defaults of a: field image:",
		"kinds: {v1 A: []}\nkinds: {v1 B: []}":         "defaults:",
		"shapes: {a: []}\nkinds: {v1 A: [{use: a}]}":   "",
		"kinds: {v1 A: [{at: spec, set: {n: 1}}]}":     "",
		"kinds: {v1 A: [{at: a|b.*.c, when: {x: y}}]}": "",
	} {
		_, err := readDefaults([]byte(text))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	if len(embeddedDefaults().Kinds) < 20 {
		t.Errorf("%d kinds have defaults", len(embeddedDefaults().Kinds))
	}
}

// TestDefaultsOfPods checks that all kinds with a pod, or a template of one, have its defaults.
func TestDefaultsOfPods(t *testing.T) {
	for gvk, name := range table().kinds {
		if gvk.Version != "v1" || strings.HasSuffix(gvk.Kind, "List") {
			continue
		}
		for _, path := range podPaths(typeNamed(name), 0) {
			obj := map[string]any{"apiVersion": gvk.GroupVersion().String(), "kind": gvk.Kind}
			if err := unstructured.SetNestedMap(obj, map[string]any{"hostname": "a"}, path...); err != nil {
				t.Fatal(err)
			}
			stored, _ := Stored(obj)
			policy, _, _ := unstructured.NestedString(stored, append(path, "dnsPolicy")...)
			if policy != "ClusterFirst" {
				t.Errorf("%s: %v has no defaults of pods", gvk, path)
			}
		}
	}
}

// TestDefaultOfVolumes checks that a volume without a source is an empty directory, and none with
// another source is.
func TestDefaultOfVolumes(t *testing.T) {
	at := slices.IndexFunc(unions(), func(u union) bool {
		return slices.Contains(u.Types, "core.Volume")
	})
	for _, source := range append(unions()[at].members(), "") {
		volume := map[string]any{"name": "a"}
		if source != "" {
			volume[source] = map[string]any{}
		}
		embeddedDefaults().fill(embeddedDefaults().Shapes["volume"], volume)
		_, isEmptyDir := volume["emptyDir"]
		if isEmptyDir != (source == "" || source == "emptyDir") {
			t.Errorf("%q: %v", source, volume)
		}
	}
}

// podPaths returns the paths of the pods in a type.
func podPaths(of *goType, depth int) (paths [][]string) {
	for of != nil && of.kind == "ptr" {
		of = of.elem
	}
	if of == nil || of.kind != "struct" || depth > 6 {
		return nil
	}
	if of.name == "core/v1.PodSpec" {
		return [][]string{{}}
	}
	for _, f := range of.structFields() {
		for _, path := range podPaths(f.goType, depth+1) {
			paths = append(paths, append([]string{f.name}, path...))
		}
	}
	return paths
}

// TestStored compares spellings of an object that a server stores alike.
func TestStored(t *testing.T) {
	deployment := func(container map[string]any) map[string]any {
		container["name"] = "web"
		spec := map[string]any{"containers": []any{container}}
		return map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment",
			"spec": map[string]any{"template": map[string]any{"spec": spec}},
		}
	}
	limits := func(cpu, memory any) map[string]any {
		return map[string]any{"limits": map[string]any{"cpu": cpu, "memory": memory}}
	}
	for _, tc := range []struct {
		name  string
		a, b  map[string]any
		equal bool
	}{
		{"quantities", map[string]any{"resources": limits("1000m", "1024Mi")},
			map[string]any{"resources": limits(1.0, "1Gi")}, true},
		{"defaults", map[string]any{"ports": []any{map[string]any{"containerPort": int64(80)}}},
			map[string]any{"ports": []any{
				map[string]any{"containerPort": int64(80), "protocol": "TCP"}}}, true},
		{"empty", map[string]any{"args": []any{}}, map[string]any{}, true},
		{"unknown", map[string]any{"newField": int64(1)}, map[string]any{}, false},
		{"unknown and empty", map[string]any{"newField": ""}, map[string]any{}, false},
		{"values", map[string]any{"image": "a"}, map[string]any{"image": "b"}, false},
	} {
		a, ok := Stored(deployment(tc.a))
		b, ok2 := Stored(deployment(tc.b))
		if !ok || !ok2 {
			t.Errorf("%s: a side does not fit", tc.name)
		}
		if diff := cmp.Diff(a, b); (diff == "") != tc.equal {
			t.Errorf("%s: the difference is %q", tc.name, diff)
		}
	}
	role := func(rules any) map[string]any {
		return map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "rules": rules,
		}
	}
	empty, _ := Stored(role([]any{}))
	null, _ := Stored(role(nil))
	if diff := cmp.Diff(empty, null); diff != "" {
		t.Errorf("an empty list is no null: %s", diff)
	}
	for _, none := range []map[string]any{
		{"apiVersion": "example.com/v1", "kind": "Thing"},
		{"apiVersion": "v1", "kind": "ConfigMap", "data": "text"},
	} {
		if _, ok := Stored(none); ok {
			t.Errorf("%v fits", none)
		}
	}
}

// TestStoredByServer checks that manifests have the normal form of what a server stores of them:
// all of its defaults are known.
func TestStoredByServer(t *testing.T) {
	data, err := os.ReadFile("testdata/stored.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		converted, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var pair map[string]map[string]any
		if err := utiljson.Unmarshal(converted, &pair); err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprint(pair["manifest"]["kind"], " ", pair["manifest"]["metadata"])
		manifest, ok := Stored(pair["manifest"])
		stored, known := Stored(pair["stored"])
		if !ok || !known {
			t.Errorf("%s is no built-in kind", name)
		}
		if diff := cmp.Diff(stored, manifest); diff != "" {
			t.Errorf("%s (-stored +manifest):\n%s", name, diff)
		}
	}
}
