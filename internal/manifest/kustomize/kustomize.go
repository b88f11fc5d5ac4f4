// Package kustomize builds the objects of a folder that has a kustomization.
//
// It runs no plugins, functions or charts and fetches nothing: everything that a kustomization
// names must be on this machine, and its files in or below its folder.
package kustomize

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"github.com/muster-deploy/muster/internal/boundedio"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/plaintext"
)

// Built is the end of the path in the origin of objects that were built.
const Built = " (built)"

// File returns the name of a folder's kustomization file, empty if there is none.
func File(dir string) string {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil && !info.IsDir() {
			return name
		}
	}
	return ""
}

// IsFile reports whether a kustomization file may have this name.
func IsFile(name string) bool {
	for _, known := range konfig.RecognizedKustomizationFileNames() {
		if name == known {
			return true
		}
	}
	return false
}

// Build builds a folder that has a kustomization file, in the order of its resources. The origin of
// an object is its document in the output. Build first reports all references that are not
// supported.
func Build(dir string, o manifest.Options) ([]manifest.Object, error) {
	if err := check(dir); err != nil {
		return nil, err
	}
	name := File(dir)
	disk := boundedFS{filesys.MakeFsOnDisk()}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(disk, dir)
	if err != nil {
		return nil, fmt.Errorf("build %s: %s", name, errorText(dir, err))
	}
	text, err := built.AsYaml()
	if err != nil {
		return nil, fmt.Errorf("build %s: %s", name, errorText(dir, err))
	}
	return manifest.Parse(text, name+Built, o)
}

// boundedFS is a file system that reads neither pipes and devices nor files whose aliases stand for
// too much: the library expands them all.
type boundedFS struct{ filesys.FileSystem }

// ReadFile returns the content of a regular file.
func (boundedFS) ReadFile(path string) ([]byte, error) {
	text, err := boundedio.ReadFile(path)
	if err == nil {
		err = manifest.CheckAliases(text)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// errorText returns the text of an error in one line, with paths relative to the package.
func errorText(dir string, err error) string {
	text := plaintext.HideYAML(err).Error()
	for _, path := range []func(string) (string, error){filepath.Abs, filepath.EvalSymlinks} {
		if root, err := path(dir); err == nil && filepath.IsAbs(root) {
			text = strings.ReplaceAll(text, root+string(filepath.Separator), "")
			text = strings.ReplaceAll(text, root, ".")
		}
	}
	text = strings.Join(strings.Fields(text), " ")
	for _, pattern := range quotedPatterns {
		text = pattern.ReplaceAllString(text, "$1$2")
	}
	return cause(text)
}

// quotedPatterns match errors of the library that quote the literals of a secretGenerator, or a
// patch, which may be one of a Secret. Their groups are what may be printed.
var quotedPatterns = []*regexp.Regexp{
	regexp.MustCompile(`literal sources \[.*\]: (invalid literal source) .*(, expected key=value)`),
	regexp.MustCompile("(trouble configuring builtin \\S+) with config: `.*`"),
	regexp.MustCompile(`(unable to parse SM or JSON patch) from \[patch: ".*"\]`),
}

// cause returns the problem in a text of the library, after the path of the resource below the
// folder. The library tries each resource as a file and as a folder and reports both errors.
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
