// Package source fetches the manifests of Sets: it returns a folder with the files that the source
// of a Set names, and a revision that changes whenever they do.
//
// ConfigMaps, Secrets and objects with an artifact are read as the controller. Registries are asked
// with the credentials of the Set, and no others. What is fetched is bounded and checked before a
// file is written, and is shared by the Sets of one namespace alone: who may read a registry in one
// namespace does not read it for others. No error has values of Secrets, or addresses with
// credentials.
package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// Limits of a fetch. The time ends transfers that continue, but very slowly.
const (
	defaultLimit = 50 << 20
	fetchTime    = 10 * time.Minute
	revisionTime = time.Minute
)

// Fetched is the manifests of a Set.
type Fetched struct {
	Folder   string // with the files; nothing may be written there. It stays until Release.
	Root     string // the folder with all files of the source, which nothing leaves
	Revision string // of the source: TAG@DIGEST, DIGEST, or what an artifact calls it
	Name     string // what messages call it, as in: oci://registry.example.com/shop:stable
	// Images are the names of images in the files, with the images that they stand for; nil unless
	// the source is a bundle of imgpkg.
	Images  map[string]string
	Release func() // removes what was written for it alone; it may be called again
}

// Fetcher fetches manifests. It may be used by several goroutines at once, and must not be copied.
type Fetcher struct {
	Reader    client.Reader // reads ConfigMaps, Secrets and objects with an artifact
	Dir       string        // for files; it is private to the process, which removes old ones
	UserAgent string
	Limit     int64        // of the bytes of files; 0 means 50 MiB
	HTTP      *http.Client // for artifacts; nil means one that does not wait for silent servers

	folders  folders
	registry registries
	web      sync.Once
	client   *http.Client
}

// InvalidError reports a source that cannot be deployed without a change of it or of the Set. Other
// errors may be gone the next time.
type InvalidError struct{ Err error }

func (e *InvalidError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the source.
func (e *InvalidError) Unwrap() error { return e.Err }

// invalid returns an InvalidError.
func invalid(format string, args ...any) error {
	return &InvalidError{fmt.Errorf(format, args...)}
}

// origin is where manifests come from.
type origin interface {
	// revision returns what fetch would fetch now.
	revision(ctx context.Context) (string, error)
	fetch(ctx context.Context) (*Fetched, error)
}

// Fetch returns a folder with the files of the source of a Set. When the context ends first,
// nothing is left of it.
func (f *Fetcher) Fetch(ctx context.Context, set *v1alpha1.Set) (*Fetched, error) {
	o, err := f.origin(set)
	if err != nil {
		return nil, err
	}
	if err := f.folders.prepare(f.Dir); err != nil {
		return nil, fmt.Errorf("prepare the folder for files of sources: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	return o.fetch(ctx)
}

// Revision returns the revision that Fetch would fetch now. It fetches no files.
func (f *Fetcher) Revision(ctx context.Context, set *v1alpha1.Set) (string, error) {
	o, err := f.origin(set)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, revisionTime)
	defer cancel()
	return o.revision(ctx)
}

// origin returns what the source of a Set names. It sends no request.
func (f *Fetcher) origin(set *v1alpha1.Set) (origin, error) {
	s := set.Spec.Source
	folder := path.Clean(s.Path)
	switch {
	case !fs.ValidPath(folder):
		return nil, invalid("spec.source.path: %q is no folder below that of the source", s.Path)
	case folder == ".":
		folder = ""
	}
	switch {
	case s.OCI != nil:
		return f.repository(set, folder)
	case s.Artifact != nil:
		return f.archive(set, folder)
	case folder != "":
		return nil, invalid("spec.source.path: only oci and artifact have folders; leave it out")
	case s.Inline != nil:
		return &files{f, set.Namespace, inline(*s.Inline)}, nil
	case len(s.ConfigMaps) > 0:
		return &files{f, set.Namespace, configMaps(s.ConfigMaps)}, nil
	case len(s.Secrets) > 0:
		return &files{f, set.Namespace, secrets(s.Secrets)}, nil
	}
	return nil, &InvalidError{errors.New("spec.source: it names nothing: set one of oci, " +
		"configMaps, secrets, artifact and inline")}
}

// limit returns the limit of the bytes of files.
func (f *Fetcher) limit() int64 {
	if f.Limit > 0 {
		return f.Limit
	}
	return defaultLimit
}

// tooLarge returns the error for a source with more bytes than the limit. The source is named as
// in: the files of ConfigMap shop.
func (f *Fetcher) tooLarge(source string) error {
	if n := f.limit(); n < 1<<20 {
		return invalid("%s have more than %d bytes, which is the limit of the controller", source, n)
	}
	return invalid("%s have more than %d MiB, which is the limit of the controller", source,
		f.limit()>>20)
}
