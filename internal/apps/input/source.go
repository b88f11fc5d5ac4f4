// Package input turns what -f names into the objects of an app, and makes them ready to be deployed.
//
// In go paths, addresses and the standard input; out come objects that know where they were described, in the order in which
// they were found, or an error in the words of kapp. Prepare then checks and completes them: what identifies them, their
// namespaces, and that their kinds are known.
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

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// Options say what is read.
type Options struct {
	// Files are files of any ending; folders, of which all files are read that end in .json, .yaml or .yml, at any depth and
	// sorted by their paths; http:// and https:// addresses; and "-" for the standard input. Links to folders within a folder
	// are not followed.
	Files []string
	Stdin io.Reader // nil is empty

	// Of addresses.
	Client  *http.Client  // nil is http.DefaultClient, which follows ten redirects
	IdleTimeout time.Duration // how long nothing may come: no answer, or no more of it; 0 is 30 seconds
	MaxBytes int64         // bytes that are read at most; 0 is 256 MiB
}

// Source is one file, address or stream.
type Source struct {
	// Name is how origins call it: "file 'a.yml'", "stdin" or "HTTP URL 'https://…'".
	Name string
	read func(context.Context) ([]byte, error)
}

// Load reads all that the options name. Naming nothing is an error.
func Load(ctx context.Context, o Options) ([]resource.Resource, error) {
	if len(o.Files) == 0 {
		return nil, errors.New("Expected at least one --file (-f) specified with a file or directory path")
	}
	var all []resource.Resource
	for _, file := range o.Files {
		sources, err := o.Sources(file)
		if err != nil {
			return nil, err
		}
		for _, source := range sources {
			some, err := source.Load(ctx)
			if err != nil {
				return nil, err
			}
			all = append(all, some...)
		}
	}
	return all, nil
}

// Sources gives what one of the files stands for: several sources if it is a folder.
func (o Options) Sources(file string) ([]Source, error) {
	if file == "-" {
		return []Source{{"stdin", o.stdin}}, nil
	}
	if strings.HasPrefix(file, "http://") || strings.HasPrefix(file, "https://") {
		return []Source{o.urlSource(file)}, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []Source{fileSource(file)}, nil
	}
	paths, err := listManifests(file)
	if err != nil {
		return nil, fmt.Errorf("Listing files '%s': %w", file, err)
	}
	sources := make([]Source, len(paths))
	for i, path := range paths {
		sources[i] = fileSource(path)
	}
	return sources, nil
}

// Load reads the objects of the source.
func (s Source) Load(ctx context.Context) ([]resource.Resource, error) {
	text, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	return parse(text, s.Name)
}

func (o Options) stdin(context.Context) ([]byte, error) {
	if o.Stdin == nil {
		return nil, nil
	}
	text, err := io.ReadAll(o.Stdin)
	if err != nil {
		return nil, fmt.Errorf("Reading stdin: %w", err)
	}
	return text, nil
}

func fileSource(path string) Source {
	return Source{"file '" + path + "'", func(context.Context) ([]byte, error) { return os.ReadFile(path) }}
}

// manifests finds the manifests of a folder, which may itself be a link to one.
func listManifests(folder string) ([]string, error) {
	var paths []string
	visit := func(rel string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(rel)) {
			paths = append(paths, filepath.Join(folder, rel))
		}
		return nil
	}
	if err := fs.WalkDir(os.DirFS(folder), ".", visit); err != nil {
		return nil, err
	}
	slices.Sort(paths)
	return paths, nil
}
