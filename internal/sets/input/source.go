// Package input reads the manifests that -f names and prepares their objects for deployment.
//
// Load reads files, folders, URLs and standard input. It returns objects with their origins in the
// order in which they were found. Preparation checks and completes the objects: their identity,
// their namespaces and their kinds. Errors are kapp's.
package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/foreign"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Options are the sources of manifests.
type Options struct {
	// Files are files with any extension; folders, of which all .json, .yaml and .yml files are
	// read recursively, sorted by path; http:// and https:// URLs; and "-" for standard input.
	// Symbolic links to folders within a folder are not followed. A file that is named itself may be
	// a pipe or a character device, as the shell's <(…); one in a folder may not. A file, as what
	// comes from stdin, may have boundedio.MaxBytes.
	Files []string
	Stdin io.Reader // nil means empty

	// For URLs.
	Client      *http.Client  // nil means http.DefaultClient
	IdleTimeout time.Duration // longest time without data; 0 means 30 seconds
	MaxBytes    int64         // largest size; 0 means that of files

	// Warn receives warnings about keys that repeat others, and about ignored tags. nil means none.
	Warn func(text string)
	// Foreign receives warnings about objects that are meant for other tools. nil means none.
	Foreign func(text string)
}

// Source is one file, URL or stream.
type Source struct {
	// Name is its name in origins: "file 'a.yml'", "stdin" or "HTTP URL 'https://…'".
	Name string
	read func(context.Context) ([]byte, error)
	warn func(string)
	// foreign receives warnings about objects that are meant for other tools; nil: none
	foreign func(string)

	budget *yamlsize.Budget // of all sources; nil means that this is the only one
}

// Load reads all files. It is an error to name none.
func Load(ctx context.Context, o Options) ([]resource.Resource, error) {
	if len(o.Files) == 0 {
		return nil, errors.New(
			"Expected at least one --file (-f) specified with a file or directory path")
	}
	var all []resource.Resource
	budget := &yamlsize.Budget{}
	for _, file := range o.Files {
		sources, err := o.Sources(file)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			source.budget = budget
			some, err := source.Load(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// Sources returns the sources for one of the files: several for a folder.
func (o Options) Sources(file string) ([]Source, error) {
	if file == "-" {
		return []Source{{Name: "stdin", read: o.stdin, warn: o.Warn, foreign: o.Foreign}}, nil
	}
	if IsURL(file) {
		return []Source{o.urlSource(file)}, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		read := func(ctx context.Context) ([]byte, error) { return boundedio.ReadNamed(ctx, file) }
		return []Source{{Name: "file '" + file + "'", read: read, warn: o.Warn, foreign: o.Foreign}}, nil
	}
	names, err := listManifests(file)
	if err != nil {
		return nil, fmt.Errorf("Listing files '%s': %w", file, err)
	}
	sources := make([]Source, len(names))
	for i, name := range names {
		read := func(context.Context) ([]byte, error) {
			return boundedio.ReadFileIn(file, filepath.ToSlash(name))
		}
		sources[i] = Source{
			Name: "file '" + filepath.Join(file, name) + "'", read: read, warn: o.Warn, foreign: o.Foreign,
		}
	}
	return sources, nil
}

// Load reads the objects of the source.
func (s Source) Load(ctx context.Context) ([]resource.Resource, error) {
	text, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	found, err := s.parse(ctx, text)
	if s.foreign != nil {
		for _, r := range found {
			warnForeign(r, s.foreign)
		}
	}
	return found, err
}

// warnForeign prints what an object has for other tools.
func warnForeign(r resource.Resource, print func(string)) {
	for _, f := range foreign.Find(r.Object) {
		name := strings.ToLower(r.GetKind()) + "/" + r.GetName()
		print(fmt.Sprintf("%s (%s): %s", name, r.Origin, f.Warning()))
	}
}

func (o Options) stdin(ctx context.Context) ([]byte, error) {
	if o.Stdin == nil {
		return nil, nil
	}
	text, err := boundedio.ReadStream(ctx, o.Stdin)
	if err != nil {
		return nil, fmt.Errorf("Reading stdin: %w", err)
	}
	return text, nil
}

// listManifests returns the paths in a folder, which may be a symbolic link, of its manifests.
func listManifests(folder string) ([]string, error) {
	var paths []string
	visit := func(rel string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(rel)) {
			paths = append(paths, filepath.FromSlash(rel))
		}
		return nil
	}
	if err := fs.WalkDir(os.DirFS(folder), ".", visit); err != nil {
		return nil, err
	}
	slices.Sort(paths)
	return paths, nil
}
