package manifest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestLoadDir loads the files of each archive as a folder. The golden section lists origin and
// reference of each object, the warnings and the errors. Where the archive has a section
// show-values, the objects are written out as well.
func TestLoadDir(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, files map[string]string) map[string]string {
		_, values := files["show-values"]
		delete(files, "show-values")
		dir := t.TempDir()
		for name, text := range files {
			write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
		}
		var warnings strings.Builder
		objects, err := LoadDir(t.Context(), dir, nil, Options{Warn: func(text string) {
			for line := range strings.Lines(text + "\n") {
				warnings.WriteString("warning: " + line)
			}
		}})
		out := warnings.String() + describe(t, objects, err, values)
		return map[string]string{"objects": out}
	})
}

func TestParseYAML11(t *testing.T) {
	const text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web, name: web}\n" +
		"values: [yes, Off, n, \"no\", 'on', !!str y, true, none]\n"
	objects, err := Parse(t.Context(), []byte(text), "web.yaml", Options{YAML11: true})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{true, false, false, "no", "on", "y", true, "none"}
	if diff := cmp.Diff(want, objects[0].Object["values"]); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	if _, err := Parse(t.Context(), []byte(text), "web.yaml", Options{}); err == nil {
		t.Error("a repeated key is no error without the option")
	}
}

func TestReadEncodings(t *testing.T) {
	const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: web\n" +
		"data:\n  text: |\n    one\n    two\n"
	windows := strings.ReplaceAll(manifest, "\n", "\r\n")
	for _, tc := range []struct{ name, in, want string }{
		{"unix", manifest, "web.yaml: configmap/web\n"},
		{"windows", windows, "web.yaml: configmap/web\n"},
		{"windows documents", "---\r\n" + windows + "---\r\n" + windows,
			"web.yaml:2: configmap/web\nweb.yaml:11: configmap/web\n"},
		{"byte order mark", "\uFEFF" + manifest, "web.yaml: configmap/web\n"},
		{"byte order mark and marker", "\uFEFF---\n" + manifest, "web.yaml: configmap/web\n"},
		{"no last line end", strings.TrimSuffix(manifest, "\n    two\n"), "web.yaml: configmap/web\n"},
		{"json", "{\n\t\"apiVersion\": \"v1\",\n\t\"kind\": \"ConfigMap\",\n\t\"metadata\": " +
			"{\"name\": \"web\"}\n}\n", "web.yaml: configmap/web\n"},
		{"nothing", "", ""},
		{"byte order mark in the middle", manifest + "---\n\uFEFF" + manifest + "\uFEFF---\n" + manifest +
			"---\n\uFEFF---\n\uFEFF# note\n{}\n---\n\uFEFF" +
			`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}}`,
			"error: web.yaml: document 5, line 30: apiVersion and kind are missing; " +
				"leave out what is not a Kubernetes object\n"},
		{"utf-32 little-endian", "\xFF\xFE\x00\x00a\x00\x00\x00",
			"error: web.yaml: line 1: the text is UTF-32; save it as UTF-8\n"},
		{"utf-32 big-endian", "\x00\x00\xFE\xFF\x00\x00\x00a",
			"error: web.yaml: line 1: the text is UTF-32; save it as UTF-8\n"},
		{"utf-16", "\xFF\xFEa\x00", "error: web.yaml: line 1: the text is UTF-16; save it as UTF-8\n"},
		{"latin 1", "a: b\nc: f\xfcr\n", "error: web.yaml: line 2: invalid leading UTF-8 octet; " +
			"save the file as text in UTF-8\n"},
		{"control character", "---\na: b\n---\na: b\nc: \x01\n",
			"error: web.yaml: document 1, line 2: apiVersion and kind are missing; " +
				"leave out what is not a Kubernetes object\n" +
				"error: web.yaml: document 2, line 5: control characters are not allowed; " +
				"save the file as text in UTF-8\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			objects, err := Read(t.Context(), strings.NewReader(tc.in), "web.yaml", Options{})
			if diff := cmp.Diff(tc.want, describe(t, objects, err, false)); diff != "" {
				t.Errorf("objects (-want +got):\n%s", diff)
			}
			for _, o := range objects {
				if text := o.Object["data"]; strings.Contains(fmt.Sprint(text), "\r") {
					t.Errorf("line ends were kept: %q", text)
				}
			}
		})
	}
}

func TestReadKeepsTypes(t *testing.T) {
	objects, err := Parse(t.Context(), []byte("{apiVersion: v1, kind: A, metadata: {name: a}, "+
		"v: [1, 18446744073709551615, 1.0, 'x', true, ~, {}, [], 2025-11-03]}"), "a", Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []any{int64(1), float64(1 << 64), float64(1), "x", true, nil, map[string]any{}, []any{},
		"2025-11-03"}
	if diff := cmp.Diff(want, objects[0].Object["v"]); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
	objects[0].DeepCopy() // panics on types that do not belong there
}

func TestReadFails(t *testing.T) {
	broken := errors.New("broken pipe")
	_, err := Read(t.Context(), iotest.ErrReader(broken), "stdin", Options{})
	if !errors.Is(err, broken) || err.Error() != "read stdin: broken pipe" {
		t.Errorf("Read = %v", err)
	}
}

func TestLoadDirFollowsOnlyTheFolderItself(t *testing.T) {
	root := t.TempDir()
	const manifest = "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}"
	write(t, filepath.Join(root, "real/web.yaml"), manifest)
	write(t, filepath.Join(root, "elsewhere/other.yaml"), manifest)
	for link, target := range map[string]string{"link": "real", "real/file.yaml": "web.yaml",
		"real/folder": "../elsewhere", "real/gone.json": "nowhere", "real/note.txt": "web.yaml"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	const why = ": it is a symbolic link, and links in a package are not followed; put the file in " +
		"its place, or leave the file out with .krmignore\n"
	objects, err := LoadDir(t.Context(), filepath.Join(root, "link"), nil, Options{})
	want := "error: file.yaml" + why + "error: gone.json" + why + "web.yaml: configmap/web\n"
	if diff := cmp.Diff(want, describe(t, objects, err, false)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestLoadDirSkips(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yaml", "c/a.yaml", "d/a.yaml", "d/e/a.yaml"} {
		write(t, filepath.Join(root, name), "{apiVersion: v1, kind: ConfigMap, metadata: {name: web}}")
	}
	skip := func(rel string, d fs.DirEntry) bool {
		return rel == "b.yaml" || rel == "d/e" || d.IsDir() && rel == "c"
	}
	objects, err := LoadDir(t.Context(), root, skip, Options{})
	want := "a.yaml: configmap/web\nd/a.yaml: configmap/web\n"
	if diff := cmp.Diff(want, describe(t, objects, err, false)); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}

func TestLoadDirNeedsAFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := LoadDir(t.Context(), "shop", nil, Options{})
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != `package folder "shop" does not exist` {
		t.Errorf("missing folder: %v", err)
	}
	write(t, "web.yaml", "")
	const want = `"web.yaml" is a file, but a package is a folder: name the folder that the file is in`
	if _, err := LoadDir(t.Context(), "web.yaml", nil, Options{}); err == nil || err.Error() != want {
		t.Errorf("file: %v", err)
	}
}

func TestLoadDirNamesWhatItCannotRead(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("nothing is unreadable for root")
	}
	root := t.TempDir()
	write(t, filepath.Join(root, "secret.yaml"), "")
	write(t, filepath.Join(root, "closed/web.yaml"), "")
	for _, name := range []string{"secret.yaml", "closed"} {
		if err := os.Chmod(filepath.Join(root, name), 0); err != nil {
			t.Fatal(err)
		}
	}
	_, err := LoadDir(t.Context(), root, nil, Options{})
	if err == nil || !strings.Contains(err.Error(), "closed: permission denied\n") ||
		!strings.HasSuffix(err.Error(), "secret.yaml: permission denied") {
		t.Errorf("LoadDir = %v", err)
	}
}

// describe lists objects, or the errors, a line each.
func describe(t *testing.T, objects []Object, err error, values bool) string {
	t.Helper()
	var b strings.Builder
	if err != nil {
		for line := range strings.Lines(err.Error() + "\n") {
			b.WriteString("error: " + line)
		}
	}
	for _, o := range objects {
		fmt.Fprintf(&b, "%s: %s\n", o.Origin, object.RefOf(o.Unstructured))
		if values {
			data, err := o.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString("  " + string(data))
		}
	}
	return b.String()
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestInterrupted ends reading when the context ends: a text, a folder, and in the middle of them.
func TestInterrupted(t *testing.T) {
	stopped := errors.New("stopped")
	ctx, stop := context.WithCancelCause(t.Context())
	const one = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
	dir, read := t.TempDir(), 0
	for _, name := range []string{"a.yaml", "b.yaml", "c.yaml"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(one+"---\n"+one), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := Options{Omit: func(map[string]any) bool {
		if read++; read == 3 {
			stop(stopped)
		}
		return false
	}}
	if _, err := LoadDir(ctx, dir, nil, o); err != stopped || read != 3 {
		t.Errorf("LoadDir = %v after %d objects", err, read)
	}
	_, err := Parse(ctx, []byte(strings.Repeat("---\n"+one, 10)), "a.yaml", o)
	if err != stopped || read != 3 {
		t.Errorf("Parse = %v after %d objects", err, read)
	}
}

// TestManyProblems reads documents that are all faulty, and reports some of their problems and the
// number of the others. What is not reported is not kept.
func TestManyProblems(t *testing.T) {
	const many, one = 200_000, "---\nkind: A\nmetadata: {name: a}\n"
	text := []byte(strings.Repeat(one, many))
	_, err := Parse(t.Context(), text, "x.yaml", Options{})
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != maxProblems+1 ||
		lines[0] != "x.yaml: document 1, line 2: apiVersion is missing" ||
		lines[maxProblems] != fmt.Sprintf("x.yaml: and %d more problems", many-maxProblems) {
		t.Errorf("Parse = %d lines, %.300s", len(lines), err)
	}
	o := Options{Budget: &yamlsize.Budget{}}
	found := documents(t.Context(), text, "x.yaml", o)
	if len(found) > maxProblems+1 || o.Budget.Exceeded() {
		t.Errorf("%d documents are kept", len(found))
	}
}
