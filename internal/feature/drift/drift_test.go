package drift

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/testing/golden"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// TestCompare compares the section want with the section live. It reverts what counts, and accepts
// it into the section file, or want without one: then nothing differs but what is left. An apply
// changes nothing in an object that has not drifted.
func TestCompare(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		want, live := parse(t, files["want"]), parse(t, files["live"])
		o, planned := Options{Mark: "example.com/set"}, true
		for line := range strings.Lines(files["options"]) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch key {
			case "since":
				since, err := time.Parse(time.RFC3339, value)
				if err != nil {
					t.Fatal(err)
				}
				o.Since = since
			case "newer":
				o.Newer = true
			case "controllers":
				o.IncludeControllers = true
			case "versioned":
				o.SameName = func(want, live string) bool { return want == value && live == value+"-ver-3" }
			case "leave":
				path, manager, _ := strings.Cut(value, " ")
				o.Ignore = append(o.Ignore, diff.IgnoreRule{Paths: []string{path},
					Managers: strings.Fields(manager)})
			case "unstored":
				o.Unstored = append(o.Unstored, value)
			case "unplanned": // a plan differs until the server has been asked
				planned = false
			case "ignore":
				o.IgnoreAnnotations = append(o.IgnoreAnnotations, value)
			default:
				t.Fatalf("unknown option %q", key)
			}
		}
		found, err := Compare(want, live, o)
		if err != nil {
			return map[string]string{"drift": "error: " + err.Error()}
		}
		if found == nil {
			if planned && live != nil && wouldChange(t, want, live) {
				t.Error("a plan changes the object, which has not drifted")
			}
			return map[string]string{"drift": "none"}
		}
		out := map[string]string{"drift": text(found)}
		if found.Counts() && found.Kind == Changed {
			fixed, err := Revert(live, found.Drifted())
			if err != nil {
				out["fixed"] = "error: " + err.Error()
				return out
			}
			again, err := Compare(want, fixed, o)
			if err != nil {
				t.Fatal(err)
			}
			if again != nil && again.Counts() {
				t.Errorf("after the fix it differs:\n%s", text(again))
			}
			if planned && again == nil && wouldChange(t, want, fixed) {
				t.Error("a plan changes the object after the fix")
			}
			delete(fixed.Object["metadata"].(map[string]any), "managedFields")
			data, err := yaml.Marshal(fixed.Object)
			if err != nil {
				t.Fatal(err)
			}
			out["fixed"] = string(data)
			file := files["file"]
			if file == "" {
				file = files["want"]
			}
			out["accepted"] = acceptAll(t, parse(t, file), live, o, found)
		}
		return out
	})
}

// wouldChange reports whether an apply of what was applied last changes a live object.
func wouldChange(t *testing.T, want, live *unstructured.Unstructured) bool {
	t.Helper()
	patch, _, err := diff.ThreeWay(want, want, live)
	if err != nil {
		t.Fatal(err)
	}
	return len(patch.Data) > 0
}

// acceptAll returns a manifest that has accepted all fields that can be.
func acceptAll(
	t *testing.T, manifest, live *unstructured.Unstructured, o Options, found *Object,
) string {
	t.Helper()
	var left strings.Builder
	number := 0
	for _, f := range found.Drifted() {
		content, err := Accept(manifest.Object, live, f)
		if err != nil {
			fmt.Fprintf(&left, "# %s: %v\n", f.Path, err)
			number++
			continue
		}
		manifest.Object = content
	}
	again, err := Compare(manifest, live, o)
	if err != nil {
		t.Fatal(err)
	}
	planned := o.SameName == nil // else a plan names the versions
	if number == 0 && planned && again != nil && again.Counts() {
		t.Errorf("with the accepted manifest it differs:\n%s", text(again))
	}
	data, err := yaml.Marshal(manifest.Object)
	if err != nil {
		t.Fatal(err)
	}
	return left.String() + string(data)
}

func text(o *Object) string {
	var b strings.Builder
	fmt.Fprintln(&b, o.Kind, o.Ref)
	for _, f := range o.Fields {
		fmt.Fprintf(&b, "  %s %s: %s -> %s", f.Kind, f.Path, ValueText(f.Was), ValueText(f.Is))
		if f.Hidden {
			b.WriteString(" hidden")
		}
		fmt.Fprintf(&b, " [%s]", f.Class)
		for _, m := range f.Managers {
			fmt.Fprintf(&b, " %s/%s/%s", m.Name, m.Operation, m.Subresource)
		}
		if f.Left != "" {
			b.WriteString(" (" + f.Left + ")")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	if strings.TrimSpace(text) == "" {
		return nil
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	fields := map[string]any{}
	if err := utiljson.Unmarshal(data, &fields); err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: fields}
}

// TestRevertWithoutNulls: a desired null is no value, also in what is put back: a patch would take
// it for a deletion, and the server may store one that is sent.
func TestRevertWithoutNulls(t *testing.T) {
	object := func(spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Chart", "spec": spec,
			"metadata": map[string]any{"name": "a"},
		}}
	}
	want := object(map[string]any{
		"size": nil, "values": map[string]any{"image": "a", "probe": nil},
		"items": []any{map[string]any{"name": "x", "value": nil}},
	})
	live := object(map[string]any{"size": int64(3)})
	found, err := Compare(want, live, Options{})
	if err != nil || found == nil {
		t.Fatal(found, err)
	}
	fixed, err := Revert(live, found.Fields)
	if err != nil {
		t.Fatal(err)
	}
	expected := map[string]any{
		"size": int64(3), "values": map[string]any{"image": "a"},
		"items": []any{map[string]any{"name": "x"}},
	}
	if diff := cmp.Diff(expected, fixed.Object["spec"]); diff != "" {
		t.Errorf("put back (-want +got):\n%s", diff)
	}
	if spec, _ := want.Object["spec"].(map[string]any); len(spec) != 3 {
		t.Error("the desired object was changed")
	}
}
