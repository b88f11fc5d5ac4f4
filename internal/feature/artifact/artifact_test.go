package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// sample is a tree with a program, and a path that is longer than the names of old archives.
var sample = Tree{
	"web.yaml":                             {Data: []byte("web")},
	"run.sh":                               {Data: []byte("#!/bin/sh"), Executable: true},
	"a/b/db.yaml":                          {Data: nil},
	strings.Repeat("long/", 30) + "ü.yaml": {Data: []byte("deep")},
}

// TestBuild checks that an artifact depends on the files and the annotations alone.
func TestBuild(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	if err := sample.Write(dir); err != nil {
		t.Fatal(err)
	}
	digests := map[digest.Digest]bool{}
	build := func(tree Tree, annotations map[string]string) *Artifact {
		a, err := Build(tree, annotations)
		if err != nil {
			t.Fatal(err)
		}
		digests[a.Digest()] = true
		return a
	}
	build(sample, nil)
	if err := os.Chtimes(filepath.Join(dir, "web.yaml"), time.Now(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "web.yaml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	read, err := ReadFolder(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := build(read, map[string]string{})
	if len(digests) != 1 {
		t.Errorf("the same files have the digests %v", digests)
	}
	build(read, map[string]string{"a": "b"})
	read["web.yaml"] = File{Data: []byte("wob")}
	build(read, nil)
	if len(digests) != 3 {
		t.Errorf("different artifacts have the digests %v", digests)
	}
	unpacked, err := Unpack([][]byte{a.Layer})
	if err != nil || !unpacked.Equal(sample) {
		t.Errorf("unpacked: %v, %v", unpacked.Paths(), err)
	}
	again, err := UnpackArchive(bytes.NewReader(a.Layer), MaxBytes)
	if err != nil || !again.Equal(sample) {
		t.Errorf("unpacked: %v, %v", again.Paths(), err)
	}
	layers, err := layersOf(a.Descriptor, a.Manifest, MaxBytes)
	if err != nil || len(layers) != 1 || layers[0].Digest != digest.FromBytes(a.Layer) {
		t.Errorf("the layers are %v, %v", layers, err)
	}
}

// TestReadFolder checks what a folder must not have.
func TestReadFolder(t *testing.T) {
	dir := t.TempDir()
	link := func(target, name string) {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{".git/config": "x", "skipped/x": "x", "web.yaml": "x"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	skip := func(rel string, isFolder bool) bool { return isFolder && rel == "skipped" }
	if got, err := ReadFolder(dir, skip); err != nil || len(got) != 1 {
		t.Errorf("read %v, %v", got.Paths(), err)
	}
	link("/etc/passwd", "absolute.yaml")
	link("web.yaml", "inside.yaml")
	_, err := ReadFolder(dir, skip)
	const is = " is a symbolic link, and an artifact has none: put the file in its place, or leave " +
		"it out with .krmignore"
	want := "absolute.yaml" + is + "\ninside.yaml" + is
	if err == nil || err.Error() != want {
		t.Errorf("got %v", err)
	}
	if _, err := ReadFolder(filepath.Join(dir, "none"), nil); err == nil {
		t.Error("a folder that does not exist is no error")
	}
}

// entry is an entry of an archive of a test.
type entry struct {
	header tar.Header
	text   string
}

// pack returns an archive.
func pack(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	w := tar.NewWriter(compressed)
	for _, e := range entries {
		e.header.Size = int64(len(e.text))
		if err := w.WriteHeader(&e.header); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// named returns a file of an archive.
func named(name string) entry { return entry{tar.Header{Name: name, Mode: 0o644}, "text"} }

// other returns an entry of an archive that is no file.
func other(name string, kind byte, link string) entry {
	return entry{tar.Header{Name: name, Typeflag: kind, Linkname: link}, ""}
}

// TestUnpack checks what is unpacked and what is refused. Nothing is written then.
func TestUnpack(t *testing.T) {
	const limit = 10_000
	large := entry{tar.Header{Name: "large"}, strings.Repeat("\x00", limit)}
	for name, test := range map[string]struct {
		layers [][]byte
		want   string // of the error; empty for none
	}{
		"good": {
			[][]byte{pack(t, named("./a/b.yaml"), named("c.yaml"))},
			"",
		},
		"repeated": {
			[][]byte{pack(t, named("c.yaml"), named("c.yaml"))},
			"",
		},
		"two layers": {
			[][]byte{pack(t, named("c.yaml")), pack(t, named("d.yaml"))},
			"",
		},
		"parent": {
			[][]byte{pack(t, named("../c.yaml"))},
			`the path "../c.yaml" is not one below`,
		},
		"hidden parent": {
			[][]byte{pack(t, named("a/../../c.yaml"))},
			`the path "a/../../c.yaml" is`,
		},
		"absolute": {
			[][]byte{pack(t, named("/etc/c.yaml"))},
			`the path "/etc/c.yaml" is not one`,
		},
		"Windows": {
			[][]byte{pack(t, named(`..\c.yaml`))},
			`the path "..\\c.yaml" is not one below`,
		},
		"parent folder": {
			[][]byte{pack(t, other("../d/", tar.TypeDir, ""))},
			"is not one below",
		},
		"file as folder": {
			[][]byte{pack(t, named("a"), named("a/b"))},
			`"a" is a file, and "a/b" is in it`,
		},
		"folder as file": {
			[][]byte{pack(t, named("a/b")), pack(t, named("a"))},
			`"a" is a file, and "a/b"`,
		},
		"symbolic link": {
			[][]byte{pack(t, other("l", tar.TypeSymlink, "/etc"))},
			`"l" is a link to "/etc", and links are not unpacked`,
		},
		"hard link": {
			[][]byte{pack(t, other("l", tar.TypeLink, "c"))},
			`"l" is a link to "c"`,
		},
		"device": {
			[][]byte{pack(t, other("n", tar.TypeChar, ""))},
			`"n" is no regular file`,
		},
		"whiteout": {
			[][]byte{pack(t, named("a/.wh.b"))},
			"deletes a file of another layer",
		},
		"no archive": {
			[][]byte{[]byte("text")},
			"the archive is damaged, or is none",
		},
		"empty": {
			[][]byte{{}},
			"the archive is empty, or is none",
		},
		"cut": {
			[][]byte{pack(t, named("a"))[:60]},
			"the archive is damaged",
		},
		"too large": {
			[][]byte{pack(t, large, named("a"))},
			"its files have more than 10000 bytes",
		},
		"as large": {
			[][]byte{pack(t, large)},
			"",
		},
		"too large in two": {
			[][]byte{pack(t, large), pack(t, named("a"))},
			"its files have more than 10000 bytes",
		},
	} {
		_, err := unpack(test.layers, limit)
		if test.want == "" && err != nil || test.want != "" &&
			(err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

// TestUnpackHeaders checks that headers without files end, too.
func TestUnpackHeaders(t *testing.T) {
	entries := make([]entry, maxEntries+1)
	for i := range entries {
		entries[i] = entry{tar.Header{Name: "d/", Typeflag: tar.TypeDir}, ""}
	}
	_, err := Unpack([][]byte{pack(t, entries...)})
	if err == nil || err.Error() != tooMany(MaxBytes).Error() {
		t.Errorf("got %v", err)
	}
}

// TestUnpackRepository: a repository of git in an archive, whose hooks git would run, is left out.
func TestUnpackRepository(t *testing.T) {
	tree, err := Unpack([][]byte{pack(t, named("a/c.yaml"), named(".git/x"), named("a/.git/hooks/y"))})
	if paths := tree.Paths(); err != nil || len(paths) != 1 || paths[0] != "a/c.yaml" {
		t.Errorf("got %v, %v", paths, err)
	}
}

// TestUnpackFolders: folders that no header names count, too.
func TestUnpackFolders(t *testing.T) {
	var entries []entry
	for i := range maxEntries/400 + 1 {
		entries = append(entries, named(fmt.Sprintf("%d/%sf", i, strings.Repeat("a/", 400))))
	}
	_, err := Unpack([][]byte{pack(t, entries...)})
	if err == nil || err.Error() != tooMany(MaxBytes).Error() {
		t.Errorf("got %v", err)
	}
}

// FuzzUnpack checks that whatever is unpacked is written below the folder, and is the same when it
// is read and packed again.
func FuzzUnpack(f *testing.F) {
	f.Add(pack(f, named("./a/b.yaml"), named("c.yaml")))
	f.Add(pack(f, named("../c.yaml")))
	f.Add(pack(f, other("l", tar.TypeSymlink, "/etc")))
	f.Fuzz(func(t *testing.T, archive []byte) {
		tree, err := Unpack([][]byte{archive})
		if err != nil {
			return
		}
		parent := t.TempDir()
		if err := tree.Write(filepath.Join(parent, "dir")); err != nil {
			t.Skip("the file system does not take the names: ", err)
		}
		if entries, _ := os.ReadDir(parent); len(entries) != 1 {
			t.Fatalf("there are other files: %v", entries)
		}
		read, err := ReadFolder(filepath.Join(parent, "dir"), nil)
		if err != nil || !read.Equal(tree) && !hasRepository(tree) {
			t.Fatalf("read %v, %v; want %v", read.Paths(), err, tree.Paths())
		}
		again, err := tree.archive()
		if err != nil {
			t.Fatal(err)
		}
		if same, err := Unpack([][]byte{again}); len(tree) > 0 && (err != nil || !same.Equal(tree)) {
			t.Fatalf("packed and unpacked: %v, %v", same.Paths(), err)
		}
	})
}

// hasRepository reports whether a tree has a repository of git, which ReadFolder leaves out.
func hasRepository(t Tree) bool {
	for name := range t {
		if strings.Contains("/"+name+"/", "/.git/") {
			return true
		}
	}
	return false
}

// TestWrite checks that a folder appears as a whole, and that one with files stays.
func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "shop")
	if err := sample.Write(dir); err != nil {
		t.Fatal(err)
	}
	other := Tree{"other.yaml": {Data: []byte("x")}}
	if err := other.Write(dir); err == nil {
		t.Error("a folder with files was replaced")
	}
	got, err := ReadFolder(dir, nil)
	if err != nil || !got.Equal(sample) {
		t.Errorf("read %v, %v", got.Paths(), err)
	}
	left, err := os.ReadDir(filepath.Dir(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("beside the folder there are %v, %v", left, err)
	}
}

// TestLayers checks which manifests are refused.
func TestLayers(t *testing.T) {
	sum := digest.FromString("x").String()
	layer := func(mediaType, size string) string {
		return `{"schemaVersion":2,"layers":[{"mediaType":"` + mediaType + `","digest":"` + sum +
			`","size":` + size + `}]}`
	}
	for _, test := range []struct{ mediaType, text, want string }{
		{ocispec.MediaTypeImageManifest, layer(ocispec.MediaTypeImageLayer, "1"), ""},
		{dockerManifest, layer("application/vnd.docker.image.rootfs.diff.tar.gzip", "1"), ""},
		{ocispec.MediaTypeImageManifest, layer("application/vnd.cncf.flux.content.tar+gzip", "1"), ""},
		{ocispec.MediaTypeImageIndex, "{}", "is an index of several images: name one"},
		{"text/html", "<html>", `is no artifact with manifests: its type is "text/html"`},
		{ocispec.MediaTypeImageManifest, "<html>", "is no manifest of an artifact"},
		{ocispec.MediaTypeImageManifest, `{"schemaVersion":2}`, "has 0 layers"},
		{ocispec.MediaTypeImageManifest, layer(helmChart, "1"), "is a Helm chart"},
		{ocispec.MediaTypeImageManifest, layer("text/css", "1"), `layer of type "text/css"`},
		{ocispec.MediaTypeImageManifest, layer(ocispec.MediaTypeImageLayer, "-1"), "names a layer by"},
		{ocispec.MediaTypeImageManifest, layer(ocispec.MediaTypeImageLayer, "999999999"), "more than"},
		{ocispec.MediaTypeImageManifest,
			strings.ReplaceAll(layer(ocispec.MediaTypeImageLayer, "1"), sum, "sha256:../x"), "is none"},
	} {
		_, err := layersOf(descriptor(test.mediaType, []byte(test.text)), []byte(test.text), MaxBytes)
		if test.want == "" && err != nil || test.want != "" &&
			(err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s %s: got %v, want %q", test.mediaType, test.text, err, test.want)
		}
	}
}

// TestImages checks which images of a bundle are replaced.
func TestImages(t *testing.T) {
	images := Images{"nginx:1": "reg/shop@sha256:1", "reg/kept@sha256:2": "reg/kept@sha256:2"}
	object := map[string]any{
		"image": "nginx:1", "name": "nginx:1",
		"list":   []any{map[string]any{"image": "nginx:1"}, map[string]any{"image": "other"}},
		"nested": map[string]any{"image": map[string]any{"image": "reg/kept@sha256:2"}},
	}
	if n := images.Rewrite(object); n != 2 {
		t.Errorf("%d images were replaced", n)
	}
	want := map[string]any{
		"image": "reg/shop@sha256:1", "name": "nginx:1",
		"list":   []any{map[string]any{"image": "reg/shop@sha256:1"}, map[string]any{"image": "other"}},
		"nested": map[string]any{"image": map[string]any{"image": "reg/kept@sha256:2"}},
	}
	if diff := cmp.Diff(want, object); diff != "" {
		t.Errorf("replaced (-want +got):\n%s", diff)
	}
}
