package changes

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestPrint prints the changes from the objects of before.yaml to those of after.yaml: on a
// terminal, in a file, and in full. Escape sequences are made visible: <~ marks words ~>, and <+
// and so on begin a colour, which > ends.
func TestPrint(t *testing.T) {
	print := func(t *testing.T, files map[string]string) map[string]string {
		changes := changesOf(t, files["before.yaml"], files["after.yaml"])
		got := map[string]string{}
		for name, form := range map[string]struct {
			terminal view.Terminal
			options  Options
		}{
			"text":     {},
			"coloured": {terminal: view.Terminal{Colour: true, Width: 100}},
			"narrow":   {terminal: view.Terminal{Width: 20}},
			"full":     {options: Options{Full: true}},
		} {
			var out bytes.Buffer
			if err := Print(&out, form.terminal, changes, "totals", form.options); err != nil {
				t.Fatal(err)
			}
			got[name] = visible.Replace(out.String())
		}
		if got["narrow"] == got["text"] {
			delete(got, "narrow")
		}
		if got["full"] == got["text"] {
			delete(got, "full")
		}
		return got
	}
	golden.Run(t, "testdata/*.txtar", print)
}

var visible = strings.NewReplacer(inverse, "<~", noInverse, "~>", reset, ">", red, "<-",
	green, "<+", yellow, "<!", cyan, "<@")

// changesOf returns the changes of objects in two streams of documents, in the order of the first
// and then of the second.
func changesOf(t *testing.T, before, after string) []Change {
	var refs []object.Ref
	read := func(text string) map[object.Ref]*unstructured.Unstructured {
		objects := map[object.Ref]*unstructured.Unstructured{}
		for _, document := range strings.Split(text, "---\n") {
			if strings.TrimSpace(document) == "" {
				continue
			}
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(document), &obj.Object); err != nil {
				t.Fatal(err)
			}
			ref := object.RefOf(obj)
			if objects[ref] = obj; !contains(refs, ref) {
				refs = append(refs, ref)
			}
		}
		return objects
	}
	old, new := read(before), read(after)
	changes := make([]Change, len(refs))
	for i, ref := range refs {
		c := Change{Ref: ref, Sign: '~', Line: ref.String() + " would be configured (a.yaml:1)",
			Verb: "would be configured"}
		c.Before, c.After = diff.Comparable(old[ref], new[ref], diff.Options{})
		switch {
		case old[ref] == nil:
			c.Sign, c.Line = '+', ref.String()+" would be created (a.yaml:1)"
		case new[ref] == nil:
			c.Sign, c.Line = '-', ref.String()+" would be pruned"
			c.Before = nil
		}
		changes[i] = c
	}
	return changes
}

func contains(refs []object.Ref, ref object.Ref) bool {
	for _, r := range refs {
		if r == ref {
			return true
		}
	}
	return false
}

// TestTool runs a program on the folders of a difference.
func TestTool(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	changes := changesOf(t, "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {k: aGlkZGVu}\n"+
		"---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: 'a:b'}\n",
		"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {k: b3RoZXI=}\n")
	program := filepath.Join(t.TempDir(), "compare")
	script := "#!/bin/sh\ncd $2/..; ls -ld . | cut -c1-10; ls -l * | cut -c1-10; ls *; cat */*\n" +
		"exit $1\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	show := func(command string) (string, error) {
		var out bytes.Buffer
		tool := Tool{Command: command, Before: "live", After: "folder", Out: &out, Err: &out}
		err := tool.Show(context.Background(), changes)
		return out.String(), err
	}
	out, err := show(program + " 1")
	for _, want := range []string{"drwx------\n", "-rw-------\n", "folder:\nsecret.a.yaml\n",
		"k: '*** (before)'", "k: '*** (after)'"} {
		if !strings.Contains(out, want) {
			t.Errorf("it printed %q, without %q", out, want)
		}
	}
	if err != nil || strings.Contains(out, "aGlkZGVu") {
		t.Errorf("%v, printed %q", err, out)
	}
	if _, err := show(program + " 2"); err == nil || !strings.Contains(err.Error(), "exit status 2") {
		t.Errorf("a program that fails: %v", err)
	}
	if _, err := show("/no/such/program"); err == nil {
		t.Error("no error for a missing program")
	}
	if left, _ := os.ReadDir(temporary); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestFileName(t *testing.T) {
	for want, ref := range map[string]object.Ref{
		"shop.job.batch.web.yaml": {Group: "batch", Kind: "Job", Namespace: "shop", Name: "web"},
		"namespace.shop.yaml":     {Kind: "Namespace", Name: "shop"},
		"clusterrole.g.a_b.yaml":  {Group: "g", Kind: "ClusterRole", Name: "a:b"},
	} {
		if got := fileName(ref); got != want {
			t.Errorf("the file of %s is %s, want %s", ref, got, want)
		}
	}
}
