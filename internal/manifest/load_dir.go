package manifest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/base/yamlsize"
)

// LoadDir reads all files below a folder whose names end in .yaml, .yml or .json, sorted by path.
// It ignores JSON files without apiVersion and kind. The folder may be a symbolic link. Links,
// pipes, sockets and devices inside it with the name of a manifest are errors. skip, unless nil,
// returns true for files and folders to ignore; rel is their path below the folder, with slashes.
//
// The error joins the problems of all files, in the order of their paths. LoadDir then still
// returns the objects of files without problems. If the folder does not exist, the error is
// fs.ErrNotExist; if the context ends, it is its cause.
func LoadDir(
	ctx context.Context, dir string, skip func(rel string, d fs.DirEntry) bool, o Options,
) ([]Object, error) {
	if err := CheckFolder(dir); err != nil {
		return nil, err
	}
	if o.Budget == nil {
		o.Budget = &yamlsize.Budget{}
	}
	root, err := os.OpenRoot(dir) // a file that becomes a link meanwhile leads nowhere else
	if err != nil {
		return nil, fmt.Errorf("open package folder: %w", err)
	}
	defer root.Close()
	found := files(ctx, os.DirFS(dir), skip, o.Warn)
	var objects []Object
	var errs []error
	for _, f := range found {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if f.err == nil {
			var some []Object
			some, f.err = load(ctx, root.FS(), f.path, o)
			objects = append(objects, some...)
		}
		errs = append(errs, f.err)
	}
	return objects, errors.Join(errs...)
}

// CheckFolder returns an error unless dir is a folder. If it does not exist, the error is
// fs.ErrNotExist.
func CheckFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &missingError{dir}
	case err != nil:
		return fmt.Errorf("open package folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%q is a file, but a package is a folder: name the folder that the file is in",
			dir)
	}
	return nil
}

// entry is a manifest, or a place that could not be read.
type entry struct {
	path string
	err  error
}

// extensions are the file extensions of manifests.
var extensions = []string{".yaml", ".yml", jsonExtension}

// jsonExtension is the extension of files that hold nothing but JSON.
const jsonExtension = ".json"

// leaveOut is how a user leaves a file out of a package.
const leaveOut = "leave the file out with .krmignore"

// files returns the manifests of a folder, sorted by path. It warns of links to folders.
func files(
	ctx context.Context, folder fs.FS, skip func(string, fs.DirEntry) bool, warn func(string),
) []entry {
	var found []entry
	visit := func(rel string, d fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			found = append(found, entry{rel, fmt.Errorf("read package folder: %w", err)})
		case rel != "." && skip != nil && skip(rel, d):
			if d.IsDir() {
				return fs.SkipDir
			}
		case !d.IsDir() && slices.Contains(extensions, path.Ext(rel)):
			found = append(found, entry{rel, checkRegular(rel, d)})
		case d.Type() == fs.ModeSymlink && warn != nil:
			if info, err := fs.Stat(folder, rel); err == nil && info.IsDir() {
				warn(plaintext.Line(rel) + ": it is a symbolic link to a folder, and links in a package are " +
					"not followed")
			}
		}
		return nil
	}
	if err := fs.WalkDir(folder, ".", visit); err != nil {
		found = append(found, entry{".", err})
	}
	slices.SortFunc(found, func(a, b entry) int { return cmp.Compare(a.path, b.path) })
	return found
}

// checkRegular returns an error for a manifest that is no regular file. If it were ignored, its
// objects would be deleted.
func checkRegular(rel string, d fs.DirEntry) error {
	if !utf8.ValidString(rel) || strings.ContainsFunc(rel, unicode.IsControl) {
		return fmt.Errorf("%s: the name has characters that are no text; rename the file, or %s",
			plaintext.Line(strconv.Quote(rel)), leaveOut)
	}
	if d.Type()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s: it is a symbolic link, and links in a package are not followed; "+
			"put the file in its place, or %s", rel, leaveOut)
	}
	if err := boundedio.CheckMode(rel, d.Type()); err != nil {
		return fmt.Errorf("%w; remove it, or %s", err, leaveOut)
	}
	return nil
}

func load(ctx context.Context, folder fs.FS, name string, o Options) ([]Object, error) {
	text, err := boundedio.ReadFS(folder, name)
	if err != nil {
		return nil, err
	}
	return Parse(ctx, text, name, o)
}

// missingError reports that a folder does not exist.
type missingError struct {
	dir string
}

func (e *missingError) Error() string {
	return fmt.Sprintf("package folder %q does not exist", e.dir)
}

func (e *missingError) Unwrap() error {
	return fs.ErrNotExist
}
