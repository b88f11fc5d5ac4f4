// Package kustomize builds the objects of a folder that has a kustomization.
//
// It runs no plugins, functions or charts and fetches nothing: everything that a kustomization
// names must be on this machine, and its files in or below its folder.
package kustomize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/manifest"
)

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
// an object is the file that describes it, else its document in the output. Build first reports all
// references that are not supported. It ends soon after the context does.
func Build(
	ctx context.Context, dir string, root Root, o manifest.Options,
) ([]manifest.Object, error) {
	name := File(dir)
	real, err := realPath(dir)
	if err == nil {
		root, err = FindRoot(dir, root)
	}
	if err != nil {
		return nil, err
	}
	disk, err := openDisk(ctx, root)
	if err != nil {
		return nil, err
	}
	t := newTree(disk, real)
	t.readFolder(real, false)
	err = errors.Join(context.Cause(ctx), t.join())
	finds := false
	if err == nil {
		finds, err = t.estimate(real)
	}
	if err != nil {
		disk.root.Close()
		return nil, cmp.Or(context.Cause(ctx), err)
	}
	b, err := wait(ctx, func() (build, error) {
		defer disk.root.Close()
		return t.build(ctx, dir, finds)
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("build %s: %s", name, errorText(real, root.Dir, err))
	}
	for _, line := range b.logged {
		t.warnings.add(filepath.Join(real, name), "%s", line)
	}
	t.warnings.warn(o.Warn)
	o.Built = b.files
	return manifest.Parse(ctx, b.text, name, o)
}

// wait returns the result of a build, or the cause why the context ended. A build that the end of
// the context does not reach goes to its end in the background.
func wait(ctx context.Context, run func() (build, error)) (build, error) {
	type result struct {
		build
		err error
	}
	done := make(chan result, 1)
	go func() {
		b, err := run()
		done <- result{b, err}
	}()
	select {
	case r := <-done:
		return r.build, r.err
	case <-ctx.Done():
		return build{}, context.Cause(ctx)
	}
}

// run builds the folder, whose kustomizations were checked, and passes the objects to a function. A
// panic of the library is an error.
func (t *tree) run(ctx context.Context, read func(resmap.ResMap) error) (err error) {
	release, err := schemas.acquire(ctx, t.hasSchema)
	if err != nil {
		return err
	}
	defer release()
	if t.hasSchema {
		defer openapi.ResetOpenAPI()
	}
	defer func() {
		if problem := recover(); problem != nil {
			err = fmt.Errorf("the library of kustomize does not take it: %v", problem)
		}
	}()
	options := krusty.MakeDefaultOptions()
	if t.isSorted {
		options.Reorder = krusty.ReorderOptionUnspecified // the library warns of two orders
	}
	objects, err := krusty.MakeKustomizer(options).Run(t.disk, t.dir)
	if err != nil {
		return err
	}
	return read(objects)
}

// errorText returns the text of an error in one line, with paths relative to the package.
func errorText(dir, root string, err error) string {
	text := plaintext.HideYAML(err).Error()
	separator := string(filepath.Separator)
	text = strings.ReplaceAll(text, dir+separator, "")
	text = strings.ReplaceAll(text, dir, ".")
	if up, err := filepath.Rel(dir, root); err == nil && up != "." && root != separator {
		text = strings.ReplaceAll(text, root+separator, filepath.ToSlash(up)+"/")
	}
	text = strings.Join(strings.Fields(text), " ")
	text = madeLocal.ReplaceAllString(text, "$1")
	for _, pattern := range quotedPatterns {
		text = pattern.ReplaceAllString(text, "$1$2")
	}
	return cause(text)
}

// madeLocal matches the beginning of a path in a kustomization as the library reads it.
var madeLocal = regexp.MustCompile(`(^|[\s'"(\[=])\./`)

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
