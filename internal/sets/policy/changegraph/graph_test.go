package changegraph

import (
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestGoldens builds the graph of the objects in the sections upsert, delete, noop and unready, in
// this order; the last are not changed but waited for. If there are any, the graph in which others
// wait for them is printed as well.
func TestGoldens(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		conf := parseConfig(t, files["bindings"])
		var nodes []Node
		for _, part := range []struct {
			name string
			op   Op
		}{{"upsert", Upsert}, {"delete", Delete}, {"noop", Noop}, {"unready", Noop}} {
			for _, obj := range objects(t, files[part.name]) {
				node, err := NodeOf(resource.Describe(obj), part.op, obj, conf)
				if err != nil {
					return map[string]string{"graph": err.Error()}
				}
				node.Waits = part.name == "unready"
				nodes = append(nodes, node)
			}
		}
		out := map[string]string{"graph": built(nodes, Options{})}
		if files["unready"] != "" {
			out["held"] = built(nodes, Options{AwaitUnchanged: true})
		}
		return out
	})
}

func built(nodes []Node, options Options) string {
	g, err := Build(nodes, options)
	if err != nil {
		return err.Error()
	}
	return g.String()
}

func objects(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for doc := range strings.SplitSeq(text, "---\n") {
		if strings.TrimSpace(doc) == "" {
			continue
		}
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(doc), &obj.Object); err != nil {
			t.Fatal(err)
		}
		all = append(all, obj)
	}
	return all
}

func TestCycleErrorIsTyped(t *testing.T) {
	rule, err := ParseRule("upsert after upserting g/a")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Build(
		[]Node{{Name: "a", Op: Upsert, Groups: []string{"g/a"}, Rules: []Rule{rule}}},
		Options{},
	)
	if cycle := (*CycleError)(nil); !errors.As(err, &cycle) ||
		strings.Join(cycle.Chain, " ") != "a a" {
		t.Errorf("Build = %v, want a CycleError with the chain a a", err)
	}
}

func TestGroupNames(t *testing.T) {
	for _, name := range []string{"valid", "valid-name", "a/b", "a-b.com/c", "a.com/b_C--d", "a.com/" +
		strings.Repeat("a", 1000), strings.Repeat("a", 100)} {
		if err := checkGroup(name); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"", "_", "a/", "a/_", "/_", "/a", "a/b/c", "A/b", "a..b/c", "-a/b",
		"a-/b", "a-.b/c", ".a/b", "a./b", "a/b-", "a b", "a/é", strings.Repeat("a", 254) + "/b"} {
		if checkGroup(name) == nil {
			t.Errorf("%q passes", name)
		}
	}
}
