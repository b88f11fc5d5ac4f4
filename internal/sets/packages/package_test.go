package packages

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestLoad opens the files of each archive as a package: the section stdin as a stream, or the
// folder pkg, or link where a section link names its target. The golden section lists the
// inventory, the objects with their origins and annotations, the errors, and the warnings. Where
// the archive has a section as-kpt, it is read as kpt live does.
func TestLoad(t *testing.T) {
	golden.Run(
		t,
		"testdata/load_*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			dir := t.TempDir()
			_, asKpt := files["as-kpt"]
			delete(files, "as-kpt")
			arg := layOut(t, dir, files)
			said := &bytes.Buffer{}
			input := func() Input {
				return Input{
					Folder: arg, AsKpt: asKpt, Root: Root{Dir: dir},
					Stream: strings.NewReader(files["stdin"]),
					Notice: func(text string) { said.WriteString(text + "\n") },
				}
			}
			p, err := Open(t.Context(), input())
			out := map[string]string{"package": describePackage(p, err)}
			if said.Len() > 0 {
				out["stderr"] = said.String()
			}
			inv, err := OpenInventory(t.Context(), input())
			if p == nil && inv != nil {
				out["inventory"] = describePackage(&Package{Inventory: inv}, err)
			}
			if p != nil && (inv == nil || inv.Ref != p.Inventory.Ref || inv.ID != p.Inventory.ID) {
				t.Errorf("openInventory gives %+v, open %+v", inv, p.Inventory)
			}
			for name, text := range out {
				out[name] = strings.ReplaceAll(text, dir+string(filepath.Separator), "")
			}
			return out
		},
	)
}

// layOut writes the files of an archive and returns the argument that names the package.
func layOut(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	arg := filepath.Join(dir, "pkg")
	for name, text := range files {
		switch name {
		case "stdin":
			arg = Stdin
		case "link":
			arg = filepath.Join(dir, name)
			if err := os.Symlink(filepath.Join(dir, strings.TrimSpace(text)), arg); err != nil {
				t.Fatal(err)
			}
		default:
			writeFile(t, filepath.Join(dir, filepath.FromSlash(name)), text)
		}
	}
	return arg
}

// describePackage lists the inventory and the objects of a package, or the errors, a line each.
func describePackage(p *Package, err error) string {
	var b strings.Builder
	if err != nil {
		for line := range strings.Lines(err.Error() + "\n") {
			b.WriteString("error: " + line)
		}
	}
	if p == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "inventory: %s, id %s\n", p.Inventory.Ref, p.Inventory.ID)
	for _, obj := range p.Objects {
		fmt.Fprintf(&b, "%s: %s", obj.Origin, object.RefOf(obj.Unstructured))
		if annotations := obj.GetAnnotations(); len(annotations) > 0 {
			fmt.Fprintf(&b, " %s", slices.Sorted(maps.Keys(annotations)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// FuzzStream looks for streams that panic, or that give a package without an inventory or with
// objects that cannot be applied.
func FuzzStream(f *testing.F) {
	paths, err := filepath.Glob("testdata/load_*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatalf("seeds: %d, %v", len(paths), err)
	}
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range archive.Files {
			f.Add(file.Data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Open(t.Context(), Input{Folder: Stdin, Stream: bytes.NewReader(text)})
		if err != nil {
			return
		}
		if p.Inventory.Ref.Name == "" || p.Inventory.Ref.Namespace == "" || p.Inventory.ID == "" {
			t.Errorf("inventory %+v", p.Inventory)
		}
		for _, obj := range p.Objects {
			if obj.GetName() == "" || obj.GetKind() == "" || isLocal(obj.Object) ||
				isInventoryObject(obj.Object) {
				t.Errorf("%v is no object to be applied", obj.Object)
			}
		}
	})
}

// FuzzIgnore looks for patterns that panic, or that the parser takes and the matcher does not.
func FuzzIgnore(f *testing.F) {
	for _, text := range []string{"*.yaml\n!web.yaml", "/a/\n#b\n\\#c", "[", "!\n/\n//", "a/**/b"} {
		f.Add(text, "a/b.yaml")
	}
	f.Fuzz(func(t *testing.T, text, rel string) {
		i, err := parseIgnore(text)
		if err == nil && i.has(rel, true) && len(i.out) == 0 {
			t.Errorf("nothing is ignored, but %q is", rel)
		}
	})
}

// TestIgnoreBounds reads files with more lines than are compared with each file of a package, and
// with a mistake in each line: the error is a few lines.
func TestIgnoreBounds(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("*.txt\n", 1001): "line 1001: more than 1000 patterns; use * for many names",
		strings.Repeat("[\n", 100_000):  "line 10 and the rest: not read after 9 mistakes",
	} {
		_, err := parseIgnore(text)
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Count(err.Error(), "\n") > 20 {
			t.Errorf("%.20q: %.200v", text, err)
		}
	}
	if _, err := parseIgnore(strings.Repeat("*.txt\n", 1000)); err != nil {
		t.Error(err)
	}
}

// TestIgnore asks about paths; those with a slash at the end are folders.
func TestIgnore(t *testing.T) {
	for _, tc := range []struct{ text, ignored, kept string }{
		{"web.yaml", "web.yaml a/web.yaml web.yaml/", "web.yml webXyaml"},
		{"*.yaml", "web.yaml a/b/web.yaml .yaml", "web.yml"},
		{"/web.yaml", "web.yaml", "a/web.yaml"},
		{"/a/*.yaml", "a/web.yaml", "web.yaml a/b/web.yaml b/a/web.yaml"},
		{"a/b.yaml", "a/b.yaml x/a/b.yaml", "b.yaml"},
		{"a/", "a/ b/a/", "a b/a"},
		{"*\n!web.yaml", "a.yaml b/", "web.yaml b/web.yaml"},
		{"!web.yaml\n*.yaml", "a.yaml", "web.yaml"},
		{"# *.yaml\n\n  b.yaml  \n\\#c.yaml", "b.yaml #c.yaml", "a.yaml"},
		{"v[0-9].yaml\r\n?", "v1.yaml a", "v10.yaml ab"},
		{"!\n/\n", "", "a a/"},
	} {
		i, err := parseIgnore(tc.text)
		if err != nil {
			t.Errorf("%q: %v", tc.text, err)
		}
		for want, paths := range map[bool]string{true: tc.ignored, false: tc.kept} {
			for _, rel := range strings.Fields(paths) {
				if got := i.has(strings.TrimSuffix(rel, "/"), strings.HasSuffix(rel, "/")); got != want {
					t.Errorf("%q: %s ignored = %v", tc.text, rel, got)
				}
			}
		}
	}
}
