package kustomize

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/muster-deploy/muster/internal/manifest"
)

// FuzzArchive builds the folders of archives: a member whose name ends with .link is a symbolic
// link to what it holds. It fails if the build does anything else than to read its folder.
func FuzzArchive(f *testing.F) {
	for _, name := range slices.Sorted(maps.Keys(hostile)) {
		f.Add(hostile[name])
	}
	for _, archive := range links {
		f.Add(archive)
	}
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(strings.ReplaceAll(string(text), "-- pkg/", "-- "))
	}
	b := newBuilder(f)
	f.Fuzz(func(t *testing.T, archive string) { b.build(t, archive) })
}

// FuzzFields builds kustomizations that are made of fields of the library's types, at random.
func FuzzFields(f *testing.F) {
	if testing.Short() {
		f.Skip("long, and nothing in it is concurrent")
	}
	for seed := range uint64(50) {
		f.Add(randomBytes(seed))
	}
	b := newBuilder(f)
	f.Fuzz(func(t *testing.T, choices []byte) { b.build(t, makeArchive(choices)) })
}

// links are folders with symbolic links.
var links = []string{
	"-- kustomization.yaml --\nresources: [a/secret]\n-- a.link --\nOUTSIDE\n",
	"-- kustomization.yaml --\nresources: [a]\n-- a.link --\n../../outside\n",
	"-- kustomization.yaml --\nresources: [a/b/../../secret]\n-- a.link --\n..\n-- b/c --\n",
	"-- kustomization.yaml.link --\nOUTSIDE/secret\n",
	"-- kustomization.yaml.link --\nbase/kustomization.yaml\n-- base/kustomization.yaml --\n" +
		"configMapGenerator: [{name: a, files: [kustomization.yaml], envs: [e]}]\n" +
		"-- base/e.link --\nOUTSIDE/secret\n-- e.link --\ne\n",
	"-- kustomization.yaml --\npatches: [{path: p}]\ncrds: [c]\nopenapi: {path: o}\n" +
		"-- p.link --\nc\n-- c.link --\no\n-- o.link --\n../../outside/secret\n",
}

// maxInput limits the archives that are built, so that limits of time and memory can be low.
const maxInput = 16 << 10

// maxAllocated limits the bytes that a build allocates, in all. The schema of Kubernetes, which a
// build may read again, takes most of it.
const maxAllocated = 1 << 30

// builder builds folders under the eyes of a probe.
type builder struct {
	*probe
	builds atomic.Int64 // the number of builds that have begun
}

func newBuilder(f *testing.F) *builder {
	b := &builder{probe: newProbe(f)}
	if worker := flag.Lookup("test.fuzzworker"); worker != nil && worker.Value.String() == "true" {
		go b.guard()
	}
	return b
}

// build builds the folder "package" of an archive, in a root with nothing else.
func (b *builder) build(t *testing.T, archive string) {
	if len(archive) > maxInput {
		t.Skip("the input is large")
	}
	top := filepath.Join(filepath.Dir(b.outside), "top")
	defer os.RemoveAll(top)
	dir := filepath.Join(top, "package")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	b.writeAll(t, top, archive)
	b.builds.Add(1)
	before := allocated()
	objects, err := Build(context.Background(), dir, Root{Dir: top}, manifest.Options{})
	if after := allocated(); after-before > maxAllocated {
		t.Errorf("the build allocates %d MiB", (after-before)>>20)
	}
	b.builds.Add(1)
	for _, finding := range b.findings(t) {
		t.Error(finding)
	}
	if text := fmt.Sprint(objects, err); strings.Contains(text, secret[2:]) {
		t.Errorf("the content of a file outside is in %s", text)
	}
}

// writeAll writes an archive below a folder, as far as the file system takes it. It never writes
// through a link that leads outside.
func (b *builder) writeAll(t *testing.T, top, archive string) {
	root, err := os.OpenRoot(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, f := range txtar.Parse([]byte(archive)).Files {
		path := filepath.Join("package", filepath.FromSlash(f.Name))
		text := b.expand(string(f.Data))
		_ = root.MkdirAll(filepath.Dir(path), 0o777)
		if link, isLink := strings.CutSuffix(path, ".link"); isLink {
			_ = root.Symlink(strings.TrimSpace(text), link)
		} else {
			_ = root.WriteFile(path, []byte(text), 0o777)
		}
	}
}

// allocated returns the bytes that this process has allocated so far.
func allocated() uint64 { return metric("/gc/heap/allocs:bytes") }

func metric(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// guard ends the process if a build takes a minute or a GiB of memory, so that the fuzz engine
// keeps its input. Nothing but the end of the process ends it.
func (b *builder) guard() {
	last, since := int64(0), time.Now()
	for range time.Tick(time.Second) {
		if number := b.builds.Load(); number != last {
			last, since = number, time.Now()
		}
		switch {
		case last%2 == 1 && time.Since(since) > time.Minute:
			panic("the build does not end")
		case metric("/memory/classes/heap/objects:bytes") > 1<<30:
			panic("the build takes too much memory")
		}
	}
}
