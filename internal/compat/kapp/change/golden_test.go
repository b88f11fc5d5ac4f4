package change

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// settings are the section options.yaml of an archive.
type settings struct {
	Options
	Exact bool     // compare with live objects
	Plain bool     // wait for nothing
	Ops   []string // a filter by operation
	Show  []string // sections of output beyond changes: rows, texts, yaml
	Bare  bool     // nothing is hidden in texts
	Again string   // the first change is refused, with this error, because of the object in live.yaml
	Stale bool     // which has been changed, so that its history is not valid

	conf *config.Config
}

// TestCalculate calculates the changes of archives. The objects of existing.yaml were deployed; if
// applied.yaml has one of the same key, that is what was applied last, and nobody has changed it
// since. Those of foreign.yaml were made by controllers, those of adopted.yaml by users. The rules
// are testRules and those of config.yaml.
func TestCalculate(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		set := settings{}
		if err := yaml.UnmarshalStrict([]byte(files["options.yaml"]), &set); err != nil {
			t.Fatal(err)
		}
		if set.Now.IsZero() {
			set.Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		}
		set.conf = configOf(t, testRules+"\n---\n"+files["config.yaml"])
		set.Wait = !set.Plain
		if !set.Exact {
			set.LastApplied = lastApplied(set.conf)
		}
		if set.Ops != nil {
			set.Filter = func(op string, _, _ *unstructured.Unstructured) bool {
				return slices.Contains(set.Ops, op)
			}
		}
		existing := append(deployed(t, files), decode(t, files["foreign.yaml"])...)
		set.Adopted = map[*unstructured.Unstructured]bool{}
		for _, obj := range decode(t, files["adopted.yaml"]) {
			existing, set.Adopted[obj] = append(existing, obj), true
		}
		var before []*unstructured.Unstructured
		for _, obj := range existing {
			before = append(before, obj.DeepCopy())
		}
		changes, err := Calculate(existing, decode(t, files["new.yaml"]), set.conf, set.Options)
		if err != nil {
			return map[string]string{"error": err.Error()}
		}
		out := render(t, changes, set)
		if set.Again != "" {
			was := map[string]string{
				"existing.yaml": files["live.yaml"],
				"applied.yaml":  files["applied.yaml"],
			}
			if text, ok := files["redeployed.yaml"]; ok {
				was["applied.yaml"] = text
			}
			live := deployed(t, was)[0]
			if set.Stale && live.GetAnnotations()[resource.AnnOriginalDiffMD5] != "" {
				unstructured.SetNestedField(
					live.Object,
					"outdated",
					"metadata",
					"annotations",
					resource.AnnOriginalDiffMD5,
				)
			}
			out["again"] = again(changes[0], live, set)
		}
		if diff := cmp.Diff(before, existing); diff != "" {
			t.Errorf("the existing objects were changed (-before +after):\n%s", diff)
		}
		return out
	})
}

func render(t *testing.T, changes []*Change, set settings) map[string]string {
	t.Helper()
	out := map[string]string{}
	var lines strings.Builder
	for _, c := range changes {
		strategy, err := c.Strategy()
		if err != nil {
			strategy = err.Error()
		}
		fmt.Fprintf(
			&lines,
			"%s: %s %s, wait to %q, order as %s, strategy %q",
			c.Op,
			c.ApplyOp().Word(),
			c.Description(),
			c.WaitOp(),
			c.GraphOp(),
			strategy,
		)
		if c.Ignored {
			lines.WriteString(", ignored")
		}
		lines.WriteByte('\n')
	}
	op, wait := Summary(changes)
	out["changes"] = lines.String() + "Op: " + op + "\nWait to: " + wait + "\n"
	masker := NewMasker(set.conf)
	if slices.Contains(set.Show, "yaml") {
		out["yaml"] = yamls(changes, masker)
	}
	if set.Bare {
		masker = nil
	}
	if slices.Contains(set.Show, "texts") {
		out["texts"] = texts(changes, masker)
	}
	if slices.Contains(set.Show, "rows") {
		var rows strings.Builder
		for _, c := range changes {
			row, _ := json.Marshal(c.Row())
			rows.Write(append(row, '\n'))
		}
		out["rows"] = rows.String()
	}
	return out
}

func yamls(changes []*Change, masker *Masker) string {
	var out strings.Builder
	for _, c := range changes {
		comment, object, err := c.YAML(masker)
		fmt.Fprintf(&out, "---\n%s\n%s", comment, object)
		if err != nil {
			fmt.Fprintln(&out, "error: "+err.Error())
		}
	}
	return out.String()
}

func texts(changes []*Change, masker *Masker) string {
	var out strings.Builder
	for _, c := range changes {
		before, after, err := c.Texts(masker)
		fmt.Fprintf(&out, "@@ %s %s @@\n", c.ApplyOp().Word(), c.Description())
		switch {
		case err != nil:
			fmt.Fprintln(&out, "error: "+err.Error())
		case before == after:
			out.WriteString("(no difference)\n")
		default:
			fmt.Fprintf(&out, "<<<\n%s===\n%s>>>\n", before, after)
		}
	}
	return out.String()
}

func again(c *Change, live *unstructured.Unstructured, set settings) string {
	refused := errors.New(set.Again)
	next, err := c.Rework(live, refused, NewMasker(set.conf))
	if err != nil {
		return fmt.Sprintf("error: %v\nwraps the refusal: %v\n", err, errors.Is(err, refused))
	}
	version := ""
	if next.Applied != nil {
		version = next.Applied.GetResourceVersion()
	}
	out := fmt.Sprintf(
		"%s: %s %s at %q\n",
		next.Op,
		next.ApplyOp().Word(),
		next.Description(),
		version,
	)
	if len(next.FieldsChangedByOthers()) > 0 {
		sent, err := yaml.Marshal(next.Applied.Object)
		if err != nil {
			return err.Error()
		}
		out += fmt.Sprintf("left: %s\n%s", strings.Join(next.FieldsChangedByOthers(), ", "), sent)
	}
	return out
}

// deployed returns the objects of existing.yaml with the annotations of deployed ones.
func deployed(t *testing.T, files map[string]string) []*unstructured.Unstructured {
	t.Helper()
	applied := map[string]*unstructured.Unstructured{}
	for _, obj := range decode(t, files["applied.yaml"]) {
		applied[resource.Key(obj)] = obj
	}
	objects := decode(t, files["existing.yaml"])
	for _, obj := range objects {
		unstructured.SetNestedField(
			obj.Object,
			resource.Identity(obj),
			"metadata",
			"annotations",
			resource.AnnIdentity,
		)
		if original := applied[resource.Key(obj)]; original != nil {
			text, err := json.Marshal(original.Object)
			if err != nil {
				t.Fatal(err)
			}
			unstructured.SetNestedField(
				obj.Object,
				string(text),
				"metadata",
				"annotations",
				resource.AnnOriginal,
			)
			unstructured.SetNestedField(
				obj.Object,
				"valid",
				"metadata",
				"annotations",
				resource.AnnOriginalDiffMD5,
			)
		}
	}
	return objects
}

// decode returns the objects of a YAML text, with numbers as a client of the API server sees them.
func decode(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(data); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	return objects
}
