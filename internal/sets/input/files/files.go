// Package files reads the manifests that -f names for an app, by the rules by which packages are
// read: all problems at once, with file and line.
//
// Read takes paths, URLs and the standard input, and returns objects that know their places.
// Resolve checks their kinds and namespaces. ReadRules finds the readiness rules beside them.
package files

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/base/suggest"
	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/feature/artifact"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/manifest/kustomize"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/input"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Options are what is read.
type Options struct {
	// Paths are folders, files, http:// and https:// URLs, and "-" for Stdin. A file that is named
	// itself may be a pipe, as the shell's <(…); one in a folder may not.
	Paths []string
	// Artifacts are those of the folders that come from a registry.
	Artifacts map[string]Artifact
	Root      string            // that bases of kustomizations do not leave; see packages.Input
	Stdin     io.Reader         // nil means empty
	Warn      func(text string) // receives warnings; nil ignores them
	Empty     func(path string) // receives paths without an object; may be nil
}

// Artifact is a folder with the files of an artifact.
type Artifact struct {
	Reference string          // with the whole digest
	Name      string          // what errors and places call it
	Images    artifact.Images // of an imgpkg bundle; else nil
	Root      string          // the folder with all files of the artifact
}

// Bounds returns the folder that bases of kustomizations do not leave.
func (a Artifact) Bounds() packages.Root { return packages.Root{Dir: a.Root, Name: a.Name} }

// Annotate puts the name before the places of the objects of the folder, and replaces the images of
// a bundle.
func (a Artifact) Annotate(objects []manifest.Object) {
	for i := range objects {
		origin := &objects[i].Origin
		origin.Path = a.placeOf(origin.Path)
		if origin.Builder != "" {
			origin.Builder = a.placeOf(origin.Builder)
		}
		a.Images.Rewrite(objects[i].Object)
	}
}

// placeOf returns the place of a file, whose path is relative to the folder and in the artifact.
func (a Artifact) placeOf(file string) string {
	folder := a.Name
	for strings.HasPrefix(file, "../") && strings.Contains(folder, "/") {
		folder, file = folder[:strings.LastIndex(folder, "/")], file[len("../"):]
	}
	return folder + "/" + file
}

// Read returns the objects of all paths, in their order. Those with a generateName have a name made
// of their content. The error joins the problems of all. Files of a folder have their path in it if
// it is the only path that is read, else their whole path.
func Read(ctx context.Context, o Options) ([]manifest.Object, error) {
	if len(o.Paths) == 0 {
		return nil, errors.New("no manifests are given: name files or folders with -f")
	}
	var objects []manifest.Object
	var errs []error
	budget := &yamlsize.Budget{}
	for _, path := range o.Paths {
		some, err := o.read(ctx, path, budget)
		if ctx.Err() != nil {
			return nil, err
		}
		objects, errs = append(objects, some...), append(errs, err)
		if err == nil && len(some) == 0 && o.Empty != nil {
			o.Empty(path)
		}
	}
	return objects, manifest.Limit(errors.Join(append(errs, manifest.NameGenerated(objects))...))
}

// isUnnamed reports whether an object of an app needs no name: that of an object with a
// generateName is made of its content, and configuration is no object.
func isUnnamed(obj map[string]any) bool {
	return manifest.IsGenerated(obj) || obj["apiVersion"] == config.DocVersion
}

// read returns the objects of one path.
func (o Options) read(
	ctx context.Context, file string, budget *yamlsize.Budget,
) ([]manifest.Object, error) {
	options := packages.Manifests{
		Unnamed: isUnnamed, Warn: o.Warn, Root: packages.Root{Dir: o.Root}, Budget: budget,
	}
	var text []byte
	var err error
	name, folder := file, filepath.Dir(file)
	switch {
	case file == packages.Stdin:
		name, folder = "stdin", packages.Stdin
		if o.Stdin != nil {
			text, err = boundedio.ReadStream(ctx, o.Stdin)
		}
	case input.IsURL(file):
		name, folder = input.PrintableURL(file), packages.Stdin
		text, err = input.Options{}.Fetch(ctx, file)
	case isFolder(file):
		return o.readFolder(ctx, file, options)
	case kustomize.IsFile(filepath.Base(file)):
		return nil, fmt.Errorf("%s: it is a kustomization: name its folder, -f %s", file, folder)
	default:
		text, err = boundedio.ReadNamed(ctx, file)
		err = explainMissing(file, err)
	}
	if err != nil {
		return nil, err
	}
	return options.Parse(ctx, text, filepath.ToSlash(name), folder)
}

// explainMissing returns the error of a path, with what could be meant if it does not exist.
func explainMissing(path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, missing := os.Lstat(path); missing == nil {
		return fmt.Errorf("%q is a symbolic link that leads nowhere", path)
	}
	return fmt.Errorf("%q does not exist%s", path, suggest.HintPath(path, false))
}

// CheckExist returns an error if one of the paths names nothing on this machine. URLs and artifacts
// are elsewhere.
func CheckExist(paths []string) error {
	for _, path := range paths {
		if path == packages.Stdin || input.IsURL(path) || artifact.IsReference(path) {
			continue
		}
		if _, err := os.Stat(path); err != nil {
			return explainMissing(path, err)
		}
	}
	return nil
}

// readFolder returns the objects of a folder.
func (o Options) readFolder(
	ctx context.Context, dir string, options packages.Manifests,
) ([]manifest.Object, error) {
	fetched, ok := o.Artifacts[dir]
	if ok {
		options.Root = fetched.Bounds()
	}
	if len(o.Paths) == 1 && !ok {
		return options.LoadFolder(ctx, dir)
	}
	name := cmp.Or(fetched.Name, dir)
	if options.Name = fetched.Name; o.Warn != nil {
		options.Warn = func(text string) { o.Warn(name + ": " + text) }
	}
	objects, err := options.LoadFolder(ctx, dir)
	if ok {
		fetched.Annotate(objects)
		return objects, Prefixed(name, err)
	}
	for i := range objects {
		origin := &objects[i].Origin
		origin.Path = path.Join(filepath.ToSlash(dir), origin.Path)
		if origin.Builder != "" {
			origin.Builder = path.Join(filepath.ToSlash(dir), origin.Builder)
		}
	}
	return objects, Prefixed(dir, err)
}

// Prefixed returns an error with a prefix before each of the errors that it joins.
func Prefixed(prefix string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("%s: %w", prefix, err)
	}
	var errs []error
	for _, err := range joined.Unwrap() {
		errs = append(errs, Prefixed(prefix, err))
	}
	return errors.Join(errs...)
}

// isFolder reports whether a path is a folder.
func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Resolve checks the kinds of the objects and sets their namespaces, as those of a package. The
// configuration of an app is not changed.
func Resolve(
	ctx context.Context, c packages.Kinds, objects []manifest.Object, s packages.Scope,
	warn func(string),
) ([]resource.Resource, error) {
	var found []resource.Resource
	rest := slices.DeleteFunc(slices.Clone(objects), func(obj manifest.Object) bool {
		isConfig := obj.GetAPIVersion() == config.DocVersion
		if isConfig {
			found = append(found, resource.Resource{Unstructured: obj.Unstructured,
				Origin: obj.Origin.String()})
		}
		return isConfig
	})
	desired, err := s.Resolve(ctx, c, rest, warn)
	for _, d := range desired {
		found = append(found, resource.Resource{Unstructured: d.Object, Origin: d.Source})
	}
	return found, err
}

// ReadRules returns the readiness rules for objects that Read returns from some paths: those of the
// files, then those at the top of folders, then the built-in ones.
func ReadRules(ctx context.Context, paths, ruleFiles []string) ([]ready.Rule, error) {
	return policy.ReadRules(ctx, ruleFiles, Folders(paths)...)
}

// Folders returns those of the paths that are folders.
func Folders(paths []string) []string {
	isOther := func(path string) bool { return !isFolder(path) }
	return slices.DeleteFunc(slices.Clone(paths), isOther)
}
