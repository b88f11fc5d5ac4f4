package diff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestBetween compares have.yaml with want.yaml.
func TestBetween(t *testing.T) {
	golden.Run(
		t,
		"testdata/between_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			in := parse(t, files)
			options := Options{IgnoreAnnotations: strings.Fields(files["ignore"])}
			return map[string]string{"diff": Between(in["have"], in["want"], options).String()}
		},
	)
}

// TestThreeWay merges recorded.yaml, want.yaml and live.yaml. What it shows of Secrets is masked.
func TestThreeWay(t *testing.T) {
	golden.Run(
		t,
		"testdata/merge_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			in := parse(t, files)
			patch, result, err := ThreeWay(in["recorded"], in["want"], in["live"])
			if err != nil {
				return map[string]string{"error": err.Error()}
			}
			options := Options{IgnoreAnnotations: strings.Fields(files["ignore"])}
			out := map[string]string{
				"patch": patchText(t, patch),
				"diff":  Between(in["live"], result, options).String(),
			}
			if len(patch.Data) == 0 {
				if result != in["live"] {
					t.Error("nothing to send, but the result is not the live object itself")
				}
				return out
			}
			if result.GetKind() == "Secret" {
				_, result = Mask(in["live"], result)
				out["patch"] = string(patch.Type) + ", not shown"
			}
			out["result"] = yamlText(t, result.Object)
			return out
		},
	)
}

// TestServerSide decides about want.yaml and live.yaml for the field manager in the section
// manager.
func TestServerSide(t *testing.T) {
	golden.Run(
		t,
		"testdata/applied_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			in := parse(t, files)
			manager := strings.TrimSpace(files["manager"])
			applied, err := AppliedBy(in["want"], in["live"], manager)
			if err != nil {
				return map[string]string{"error": err.Error()}
			}
			return map[string]string{"applied": fmt.Sprint(applied)}
		},
	)
}

// parse reads the sections named *.yaml and checks, when the test ends, that nobody changed the
// objects.
func parse(t *testing.T, files map[string]string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	for file, text := range files {
		name, ok := strings.CutSuffix(file, ".yaml")
		if !ok {
			continue
		}
		obj := objectOf(t, text)
		before := obj.DeepCopy()
		t.Cleanup(func() {
			if diff := cmp.Diff(before.Object, obj.Object); diff != "" {
				t.Errorf("%s was modified (-before +after):\n%s", file, diff)
			}
		})
		objects[name] = obj
	}
	return objects
}

func objectOf(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(data, &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func patchText(t *testing.T, patch Patch) string {
	t.Helper()
	if len(patch.Data) == 0 {
		return "nothing to send"
	}
	var b bytes.Buffer
	if err := json.Indent(&b, patch.Data, "", "  "); err != nil {
		t.Fatal(err)
	}
	return string(patch.Type) + "\n" + b.String()
}

func yamlText(t *testing.T, fields map[string]any) string {
	t.Helper()
	data, err := yaml.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
