package builtin

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
)

// schemaTypes returns the types of the server's schema for server-side apply by their names, as in
// core/v1.Probe.
func schemaTypes(t *testing.T) map[string]schema.Atom {
	t.Helper()
	pod := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	typed, err := applyconfigurations.NewTypeConverter(scheme.Scheme).ObjectToTyped(pod)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]schema.Atom{}
	for _, def := range typed.Schema().Types {
		if words := strings.Split(def.Name, "."); strings.HasPrefix(def.Name, "io.k8s.api.") {
			found[words[3]+"/"+words[4]+"."+words[5]] = def.Atom
		}
	}
	return found
}

// TestListRules checks the rules of lists: each list of the server's schema that several keys
// identify and that a strategic merge knows by one has a rule with these keys and their defaults.
func TestListRules(t *testing.T) {
	known := schemaTypes(t)
	used := map[string]bool{}
	for name, atom := range known {
		if atom.Map == nil || table().types[name] == "" {
			continue
		}
		for _, f := range typeNamed(name).structFields() {
			of, ok := atom.Map.FindField(f.name)
			if !ok || of.Type.Inlined.List == nil || f.mergeKey == "" || len(of.Type.Inlined.List.Keys) < 2 {
				continue
			}
			got := ItemsOf(patchMetaLookup{typeNamed(name)}, f.name, f.mergeKey)
			keys := slices.Sorted(maps.Keys(got.Keys))
			if diff := cmp.Diff(slices.Sorted(slices.Values(of.Type.Inlined.List.Keys)), keys); diff != "" {
				t.Errorf("keys of %s in %s (-schema +rule):\n%s", f.name, name, diff)
			}
			item := known[itemName(f)]
			for key, value := range got.Keys {
				field, _ := item.Map.FindField(key)
				if field.Default != nil && field.Default != "" && field.Default != 0 &&
					value != field.Default {
					t.Errorf("default of %s of %s in %s is %v, want %v", key, f.name, name, value,
						field.Default)
				}
			}
			used[withoutVersion(name)+" "+f.name] = true
		}
	}
	for _, rule := range listRules() {
		for _, name := range rule.Types {
			if !used[name+" "+rule.List] {
				t.Errorf("there is no list %s in %s", rule.List, name)
			}
		}
	}
}

func itemName(f field) string { return f.goType.elem.name }
