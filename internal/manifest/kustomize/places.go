package kustomize

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/resource"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"

	"github.com/muster-deploy/muster/internal/base/yamltext"
)

// build is the result of a build.
type build struct {
	text   []byte   // the objects
	files  []string // those that describe the objects, in their order; empty if not known
	logged []string // what the library logged
}

// build builds a folder, and finds the files that describe the objects if it is asked to. The path
// of the folder is as users know it.
//
// The library knows the files if it writes them into annotations of the objects. These would change
// what is built, as hashes in names, so that they are in the objects of a second build, of which
// nothing else is used. If the kustomization itself asks for the annotations, one build has both.
func (t *tree) build(ctx context.Context, dir string, finds bool) (build, error) {
	var b build
	var ids []resid.ResId
	files := fileNames{tree: t, dir: dir, known: map[string]bool{}}
	marks := t.top != nil && slices.Contains(t.top.BuildMetadata, types.OriginAnnotations)
	logged, err := library.capture(ctx, func() error {
		return t.run(ctx, func(objects resmap.ResMap) (err error) {
			b.text, err = objects.AsYaml()
			b.files = make([]string, objects.Size())
			for i, object := range objects.Resources() {
				if ids = append(ids, object.CurId()); marks {
					b.files[i] = files.of(object)
				}
			}
			return err
		})
	})
	b.logged = logged
	if err != nil || marks || !finds || t.mark() != nil {
		return b, err
	}
	_, _ = library.capture(ctx, func() error { // without it, the files are not known
		return t.run(ctx, func(objects resmap.ResMap) error {
			for i, object := range objects.Resources() {
				if len(ids) == objects.Size() && t.isSame(ids[i], object.CurId()) {
					b.files[i] = files.of(object)
				}
			}
			return nil
		})
	})
	return b, err
}

// mark makes the next build one that writes the files into annotations.
func (t *tree) mark() error {
	k := *t.top
	k.BuildMetadata = append(slices.Clone(k.BuildMetadata), types.OriginAnnotations)
	text, err := yamltext.Marshal(k)
	if err != nil {
		return err
	}
	t.disk.checked[t.topFile] = text
	t.disk.reads, t.disk.bytes = 0, 0
	return nil
}

// isSame reports whether the objects at one position of two builds are the same. A hash in a name
// may differ, and with it the position in an order by names.
func (t *tree) isSame(a, b resid.ResId) bool {
	return a == b || !t.isSorted && a.Gvk == b.Gvk && a.Namespace == b.Namespace
}

// fileNames finds the files of objects.
type fileNames struct {
	*tree
	dir   string          // the folder of the build, as users know it
	known map[string]bool // whether a path is that of a file of the build
}

// of returns the path of the file that describes an object, relative to the folder and with
// slashes. For an object of a generator this is the file that configures it. The path is empty if
// it is not known.
func (f *fileNames) of(object *resource.Resource) string {
	origin, err := object.GetOrigin()
	if err != nil || origin == nil || origin.Repo != "" || f.isLinked {
		return ""
	}
	name := origin.Path
	if name == "" && strings.HasSuffix(origin.ConfiguredBy.Kind, "Generator") {
		name = origin.ConfiguredIn // a transformer has not made the object
	}
	if name == "" || filepath.IsAbs(name) {
		return ""
	}
	isKnown, ok := f.known[name]
	if !ok {
		isKnown = f.isUsed(name)
		f.known[name] = isKnown
	}
	if !isKnown {
		return ""
	}
	return filepath.ToSlash(name)
}

// isUsed reports whether the build has read a file, and users find it at its path: the folder may
// be a symbolic link. An annotation may name any file.
func (f *fileNames) isUsed(name string) bool {
	full := filepath.Join(f.tree.dir, name)
	rel, is := f.disk.kustomization(full)
	if !is {
		var err error
		if rel, _, err = f.disk.resolve(full); err != nil {
			return false
		}
	}
	found, err := os.Stat(filepath.Join(f.dir, name))
	real, failure := os.Stat(full)
	return f.disk.used[rel] && err == nil && failure == nil && os.SameFile(found, real)
}
