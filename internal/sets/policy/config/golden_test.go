package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestRebase rebases each object of new.yaml onto the one at the same place of existing.yaml, by
// the built-in rules and those of config.yaml.
func TestRebase(t *testing.T) {
	golden.Run(t, "testdata/rebase_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			c := configured(t, files)
			existing, new := decode(t, files["existing.yaml"]), decode(t, files["new.yaml"])
			var out strings.Builder
			for i := range new {
				before, live := new[i].DeepCopy(), existing[i].DeepCopy()
				rebased, err := c.Rebase(existing[i], new[i])
				if diff := cmp.Diff([]any{before, live}, []any{new[i], existing[i]}); diff != "" {
					t.Errorf("Rebase changed its arguments (-before +after):\n%s", diff)
				}
				print(t, &out, rebased, err)
			}
			return map[string]string{"rebased": out.String()}
		})
}

// TestLabels puts labels on objects: those of ownership, and those of scoping with and without the
// built-in rules.
func TestLabels(t *testing.T) {
	golden.Run(t, "testdata/labels_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			c := configured(t, files)
			return map[string]string{
				"owned": changed(t, files, func(obj *unstructured.Unstructured) error {
					return c.AddOwnershipLabels(obj, map[string]string{"app": "1", "team": "ours"})
				}),
				"scoped": changed(t, files, func(obj *unstructured.Unstructured) error {
					return c.AddScopingLabels(obj, map[string]string{"app": "1"}, true)
				}),
				"scoped-without-defaults": changed(t, files, func(obj *unstructured.Unstructured) error {
					return c.AddScopingLabels(obj, map[string]string{"app": "1"}, false)
				}),
			}
		})
}

// TestStrip takes out what does not count in comparisons, and hides what must not be shown.
func TestStrip(t *testing.T) {
	golden.Run(t, "testdata/strip_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			c := configured(t, files)
			return map[string]string{
				"last-applied": changed(t, files, c.StripLastApplied),
				"existing":     changed(t, files, c.StripExisting),
				"masked": changed(t, files, func(obj *unstructured.Unstructured) error {
					hidden := 0
					return c.Mask(obj, func(value any) string {
						hidden++
						return fmt.Sprintf("hidden %d: %T", hidden, value)
					})
				}),
			}
		})
}

// TestRefer makes objects refer to the first version of each object of targets.yaml, all together
// and one by one.
func TestRefer(t *testing.T) {
	golden.Run(t, "testdata/refer_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			c := configured(t, files)
			var renames []Rename
			for _, target := range decode(t, files["targets.yaml"]) {
				renames = append(renames, Rename{target, target.GetName(), target.GetName() + "-ver-1"})
			}
			together := changed(t, files, c.NewRefRewriter(renames, false).Rewrite)
			alone := changed(t, files, func(obj *unstructured.Unstructured) error {
				for _, r := range renames {
					if err := c.RewriteRuledRefs(obj, r.Target, r.Base, r.Name); err != nil {
						return err
					}
				}
				return nil
			})
			if diff := cmp.Diff(together, alone); diff != "" {
				t.Errorf("one by one it is not the same (-together +alone):\n%s", diff)
			}
			return map[string]string{"objects": together}
		})
}

// TestOrder prints the change groups and change rules of objects.
func TestOrder(t *testing.T) {
	golden.Run(t, "testdata/order_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			c := configured(t, files)
			var out strings.Builder
			for _, obj := range decode(t, files["objects.yaml"]) {
				fmt.Fprintln(&out, resource.Describe(obj))
				for _, group := range c.ChangeGroups(obj) {
					fmt.Fprintln(&out, "  in", group)
				}
				for _, b := range c.ChangeRules(obj) {
					fmt.Fprintf(&out, "  %d optional=%v\n    %s\n", b.Weight, b.Optional,
						strings.Join(b.Rules, "\n    "))
				}
			}
			return map[string]string{"order": out.String()}
		})
}

// TestWait judges objects by the wait rules of config.yaml.
func TestWait(t *testing.T) {
	golden.Run(t, "testdata/wait_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			c := configured(t, files)
			var out strings.Builder
			for _, obj := range decode(t, files["objects.yaml"]) {
				j, unblock, ok := c.Judge(obj)
				fmt.Fprintf(&out, "%s\n  judged=%v done=%v successful=%v unblock=%v\n  %s\n",
					obj.GetName(), ok, j.Done, j.Successful, unblock, j.Message)
			}
			return map[string]string{"judgements": out.String()}
		})
}

// TestErrors reads each document of a section as input of its own and prints the error.
func TestErrors(t *testing.T) {
	golden.Run(t, "testdata/errors_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			var out strings.Builder
			for i, doc := range decode(t, files["config.yaml"]) {
				_, _, err := Extract([]resource.Resource{{Unstructured: doc,
					Origin: fmt.Sprintf("file 'a.yml' doc %d", i+1)}}, "0.60.0")
				fmt.Fprintf(&out, "%v\n", err)
			}
			return map[string]string{"errors": out.String()}
		})
}

// configured returns the built-in rules with those of config.yaml.
func configured(t *testing.T, files map[string]string) *Config {
	t.Helper()
	var all []resource.Resource
	for _, doc := range decode(t, files["config.yaml"]) {
		all = append(all, resource.Resource{Unstructured: doc})
	}
	rest, c, err := Extract(all, "0.60.0")
	if err != nil || len(rest) > 0 {
		t.Fatalf("extract: %v, with %d objects left", err, len(rest))
	}
	return c
}

// changed returns the objects of objects.yaml after a change to each.
func changed(t *testing.T, files map[string]string,
	change func(*unstructured.Unstructured) error) string {
	t.Helper()
	var out strings.Builder
	for _, obj := range decode(t, files["objects.yaml"]) {
		before := obj.DeepCopy()
		err := change(obj)
		switch {
		case err == nil && cmp.Equal(before, obj):
			fmt.Fprintf(&out, "--- # %s: unchanged\n", resource.Describe(obj))
		default:
			print(t, &out, obj, err)
		}
	}
	return out.String()
}

func print(t *testing.T, out *strings.Builder, obj *unstructured.Unstructured, err error) {
	t.Helper()
	if err != nil {
		fmt.Fprintf(out, "--- # %v\n", err)
		return
	}
	text, err := yaml.Marshal(obj.Object)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(out, "---\n%s", text)
}

func decode(t testing.TB, text string) []*unstructured.Unstructured {
	t.Helper()
	var objects []*unstructured.Unstructured
	for doc := range strings.SplitSeq("\n"+text, "\n---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		json, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		obj := &unstructured.Unstructured{}
		if err := obj.UnmarshalJSON(json); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, obj)
	}
	return objects
}
