package input

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/tools/txtar"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

const configMap = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {key: ä}\n"

// expect reads one file and compares the description of its one object, or the error, with what is
// wanted.
func expect(t *testing.T, o Options, file, want string) {
	t.Helper()
	o.Files = []string{file}
	all, err := Load(t.Context(), o)
	got := fmt.Sprint(err)
	if err == nil {
		var lines []string
		for _, r := range all {
			lines = append(lines, r.Origin+": "+resource.Describe(r.Unstructured))
		}
		got = strings.Join(lines, "\n")
	}
	if got != want {
		t.Errorf("%s gives\n%s\nwant\n%s", file, got, want)
	}
}

func TestEncodings(t *testing.T) {
	t.Chdir(t.TempDir())
	wide := func(order binary.AppendByteOrder, text string) string {
		var data []byte
		for _, unit := range utf16.Encode([]rune("\uFEFF" + text)) {
			data = order.AppendUint16(data, unit)
		}
		return string(data)
	}
	two := "file 'a' doc 1: configmap/a (v1) cluster\nfile 'a' doc 2: configmap/a (v1) cluster"
	for name, c := range map[string]struct{ text, want string }{
		"byte order mark":      {"\uFEFF" + configMap + "---\n" + configMap, two},
		"UTF-16 little-endian": {wide(binary.LittleEndian, configMap+"---\n"+configMap), two},
		"UTF-16 big-endian":    {wide(binary.BigEndian, configMap+"---\r\n"+configMap), two},
		"UTF-32 little-endian": {"\xFF\xFE\x00\x00a\x00\x00\x00",
			"the text is UTF-32; save it as UTF-8 (file 'a')"},
		"UTF-32 big-endian": {"\x00\x00\xFE\xFF\x00\x00\x00a",
			"the text is UTF-32; save it as UTF-8 (file 'a')"},
		"long alias": {"a: &a " + strings.Repeat("x", 100_000) + "\nb:\n" +
			strings.Repeat("- *a\n", 3000),
			"error converting YAML to JSON: yaml: document contains excessive aliasing (file 'a' doc 1)"},
		"UTF-16 cut": {wide(binary.LittleEndian, configMap) + "\x00",
			"file 'a' doc 1: configmap/a (v1) cluster"},
		"Windows": {strings.ReplaceAll(configMap+"---\n"+configMap, "\n", "\r\n"), two},
		"Latin-1": {strings.ReplaceAll(configMap, "ä", "\xe4"),
			"error converting YAML to JSON: yaml: invalid trailing UTF-8 octet (file 'a' doc 1)"},
		"program": {"\x7fELF\x02\x01\x01\x00\x00",
			"error converting YAML to JSON: yaml: control characters are not allowed (file 'a' doc 1)"},
		"archive": {"\x1f\x8b\x08\x00\x00\x09",
			"error converting YAML to JSON: yaml: control characters are not allowed (file 'a' doc 1)"},
		"empty": {"", ""},
		"aliases of aliases": {aliases(),
			"error converting YAML to JSON: yaml: document contains excessive aliasing (file 'a' doc 1)"},
		"deep": {strings.Repeat("[", 20_000),
			"error converting YAML to JSON: yaml: exceeded max depth of 10000 (file 'a' doc 1)"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile("a", []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			expect(t, Options{}, "a", c.want)
		})
	}
}

// aliases returns a few lines of YAML whose aliases expand beyond any memory.
func aliases() string {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x]\n")
	for i := range 60 {
		fmt.Fprintf(&b, "a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	return b.String()
}

func TestLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, err := range []error{
		os.MkdirAll("real/sub", 0o755), os.MkdirAll("round", 0o755), os.MkdirAll("self", 0o755),
		os.MkdirAll("folder.yml", 0o755), os.MkdirAll("odd", 0o755),
		os.WriteFile("real/sub/a.yml", []byte(configMap), 0o644),
		os.Symlink("real", "link"), os.Symlink("../round", "round/again"),
		os.Symlink("a.yml", "self/a.yml"),
		os.Symlink("../real", "odd/link"), os.Symlink("../real", "odd/link.yml"),
		os.Symlink("../real/sub/a.yml", "round/a.yml"),
		os.MkdirAll("inner", 0o755), os.WriteFile("inner/a.txt", []byte(configMap), 0o644),
		os.Symlink("a.txt", "inner/a.yml"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	expect(t, Options{}, "link", "file '"+filepath.Join("link", "sub", "a.yml")+
		"' doc 1: configmap/a (v1) cluster")
	const leaves = "it is a symbolic link that leads out of its folder, and such links are not " +
		"followed"
	expect(t, Options{}, "inner", "file 'inner/a.yml' doc 1: configmap/a (v1) cluster")
	expect(t, Options{}, "round", "read round/a.yml: "+leaves)
	expect(t, Options{}, "round/a.yml", "file 'round/a.yml' doc 1: configmap/a (v1) cluster")
	expect(t, Options{}, "self", "read self/a.yml: too many levels of symbolic links")
	expect(t, Options{}, "folder.yml", "")
	expect(t, Options{}, "odd", "read odd/link.yml: "+leaves)
	expect(t, Options{}, "real/sub/a.yml/b", "stat real/sub/a.yml/b: not a directory")
	expect(t, Options{}, "", "stat : no such file or directory")
}

// TestInterrupted ends reading when the context ends.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, w := io.Pipe()
	defer w.Close()
	_, err := Load(ctx, Options{Files: []string{"-"}, Stdin: r})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Load = %v", err)
	}
}

// TestManyProblems reports a part of them, and the number of the others.
func TestManyProblems(t *testing.T) {
	all, err := (Source{Name: "many"}).parse(t.Context(),
		[]byte(strings.Repeat("a: b\n---\n", 20_000)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = Preparation{Namespace: "demo", Kinds: cluster}.Run(all)
	if text := fmt.Sprint(err); strings.Count(text, "\n- ") != maxProblems+1 ||
		!strings.HasSuffix(text, "\n- and 59900 more") {
		t.Errorf("Run = %d lines, %.200s", strings.Count(text, "\n"), text)
	}
}

// TestManyWarnings prints a part of them, and the number of the others.
func TestManyWarnings(t *testing.T) {
	var warnings []string
	warn := func(text string) { warnings = append(warnings, text) }
	text := []byte(strings.Repeat("{a: 1, a: 2}\n---\n", 50))
	if _, err := (Source{Name: "many", warn: warn}).parse(t.Context(), text); err != nil {
		t.Fatal(err)
	}
	if len(warnings) != maxWarnings+1 || warnings[maxWarnings] != "many: and 30 more warnings" {
		t.Errorf("%d warnings, the last %q", len(warnings), warnings[len(warnings)-1])
	}
}

func TestUnreadable(t *testing.T) {
	expect(t, Options{Stdin: failing{}}, "-", "Reading stdin: the pipe broke")
	expect(t, Options{}, "-", "")
	if os.Geteuid() == 0 {
		return // who may read everything finds nothing unreadable
	}
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("dir/closed", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod("dir/closed", 0); err != nil {
		t.Fatal(err)
	}
	expect(t, Options{}, "dir", "Listing files 'dir': open closed: permission denied")
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the pipe broke") }

// FuzzLoad looks for texts that panic, now or once the objects are prepared and copied.
func FuzzLoad(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
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
		all, err := Source{Name: "fuzz", warn: func(string) {}}.parse(t.Context(), text)
		if err != nil {
			return
		}
		for _, r := range all {
			r.DeepCopy()
		}
		if all, err = (Preparation{Namespace: "demo", Kinds: cluster, AllowCheck: true}).Run(
			all); err == nil {
			_ = (Preparation{AllowCheck: true}).CheckNamespaces(all)
		}
	})
}

// BenchmarkLoad reads 20,000 objects and prepares them.
func BenchmarkLoad(b *testing.B) {
	var text strings.Builder
	const count = 20_000
	for i := range count {
		fmt.Fprintf(&text, `---
apiVersion: v1
kind: ConfigMap
metadata:
  name: object-%d
  namespace: demo
  labels: {app: web}
data:
  one: "1"
  two: |
    several
    lines
  list: [1, 2, 3]
`, i)
	}
	b.ReportAllocs()
	for b.Loop() {
		all, err := Load(b.Context(),
			Options{Files: []string{"-"}, Stdin: strings.NewReader(text.String())})
		if err != nil {
			b.Fatal(err)
		}
		if all, err = (Preparation{Namespace: "demo", Kinds: cluster}).Run(all); err != nil ||
			len(all) != count {
			b.Fatal(len(all), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*count), "ns/object")
}
