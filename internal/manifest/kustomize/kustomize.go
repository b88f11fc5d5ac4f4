// Package kustomize builds a folder that holds a kustomization into objects.
//
// In goes a folder, out come the objects that its kustomization stands for. It runs no plugins, functions or charts and
// fetches nothing: everything a kustomization names has to lie on this machine, and its files in or below its folder. It
// knows nothing of packages, and a kustomization without objects is none of its business.
package kustomize

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/muster-deploy/muster/internal/manifest"
)

// File gives the name of the kustomization file of a folder, or nothing if there is none.
func File(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return name
		}
	}
	return ""
}

// IsFile reports whether a file of this name is taken for a kustomization.
func IsFile(name string) bool {
	for _, known := range konfig.RecognizedKustomizationFileNames() {
		if name == known {
			return true
		}
	}
	return false
}

// Build builds a folder that has a kustomization file, in the order of its resources. The origin of an object is its
// document in what was built. What names things that cannot be used here is said all at once, before anything is built.
func Build(dir string, omit manifest.Omit) ([]manifest.Object, error) {
	if err := check(dir); err != nil {
		return nil, err
	}
	name := File(dir)
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), dir)
	if err != nil {
		return nil, fmt.Errorf("build %s: %s", name, plainly(dir, err))
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("build %s: %s", name, plainly(dir, err))
	}
	return manifest.Parse(text, name+" (built)", omit)
}

// plainly gives the text of an error in one line, with paths as the package's files are named everywhere else.
func plainly(dir string, err error) string {
	text := err.Error()
	for _, path := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
		if root, err := path(dir); err == nil && filepath.IsAbs(root) {
			text = strings.ReplaceAll(text, root+string(filepath.Separator), "")
			text = strings.ReplaceAll(text, root, ".")
		}
	}
	return cause(strings.Join(strings.Fields(text), " "))
}

// cause leaves of the library's text what went wrong, behind the path of the resource below the folder that was built. The
// library tries each resource as a file and as a folder, and tells of both.
func cause(text string) string {
	where := ""
	for {
		text = strings.TrimPrefix(text, "accumulating resources: ")
		tried, isTried := strings.CutPrefix(text, "accumulation err='")
		if _, folder, ok := strings.Cut(tried, "': recursed accumulation of path '"); isTried && ok {
			name, rest, _ := strings.Cut(folder, "': ")
			where, text = path.Join(where, name), rest
			continue
		}
		if file, _, ok := strings.Cut(tried, "': must build at directory: "); isTried && ok {
			text = file
		}
		rest, ok := strings.CutPrefix(text, "accumulating resources from '")
		if !ok {
			rest, ok = strings.CutPrefix(text, "merging resources from '")
		}
		if name, problem, named := strings.Cut(rest, "': "); ok && named {
			return path.Join(where, name) + ": " + problem
		}
		return strings.TrimPrefix(where+": "+text, ": ")
	}
}
