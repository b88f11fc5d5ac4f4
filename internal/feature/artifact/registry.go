package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// maxManifest limits the size of a manifest.
const maxManifest = 4 << 20

// Repository is a repository in a registry.
type Repository struct {
	Reference
	remote   *remote.Repository
	access   Access
	progress func(done, total int64)
}

// Open returns the repository of a reference. It finds out whether a registry on this host speaks
// TLS; others have to, unless the user allows plain HTTP.
func (a Access) Open(ctx context.Context, r Reference) (*Repository, error) {
	client, err := a.client(r)
	if err != nil {
		return nil, err
	}
	repo, err := remote.NewRepository(r.Registry + "/" + r.Repository)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r, err)
	}
	repo.Client, repo.PlainHTTP = client, a.PlainHTTP
	repo.MaxMetadataBytes, repo.TagListMaxPages = maxManifest, maxPages
	if !a.PlainHTTP && isLoopback(r.Registry) {
		repo.PlainHTTP = speaksPlainHTTP(ctx, client, r.Registry)
	}
	return &Repository{Reference: r, remote: repo, access: a, progress: a.Progress}, nil
}

// isLoopback reports whether a registry is on this host.
func isLoopback(registry string) bool {
	host, _, err := net.SplitHostPort(registry)
	if err != nil {
		host = registry
	}
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

// speaksPlainHTTP reports whether a registry on this host answers to HTTPS in plain HTTP.
func speaksPlainHTTP(ctx context.Context, client *auth.Client, registry string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+registry+"/v2/", nil)
	if err != nil {
		return false
	}
	answer, err := client.Client.Do(req)
	if err == nil {
		_ = answer.Body.Close() // nothing is read
	}
	return errors.Is(err, http.ErrSchemeMismatch)
}

// Resolve returns the descriptor of the artifact that the reference of the repository names. A
// digest wins over a tag.
func (r *Repository) Resolve(ctx context.Context) (ocispec.Descriptor, error) {
	name := r.Tag
	if r.Digest != "" {
		name = r.Digest.String()
	}
	d, err := r.remote.Resolve(ctx, name)
	if err == nil && r.Digest != "" && d.Digest != r.Digest {
		err = fmt.Errorf("the registry has %s under this digest", d.Digest)
	}
	if err != nil {
		return d, r.explain(err)
	}
	if d.Size > maxManifest {
		return d, &ContentError{fmt.Errorf("%s is no artifact with manifests: its manifest has %d bytes",
			r.Reference, d.Size)}
	}
	return d, nil
}

// Fetch returns a content. It returns an error unless the content has the digest and the size of
// the descriptor.
func (r *Repository) Fetch(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	var text []byte
	var err error
	for range retries {
		text, err = r.fetchOnce(ctx, d)
		if !errors.Is(err, io.ErrUnexpectedEOF) || ctx.Err() != nil {
			break
		}
	}
	if err != nil {
		return nil, r.explain(err)
	}
	return text, nil
}

// fetchOnce fetches a content.
func (r *Repository) fetchOnce(ctx context.Context, d ocispec.Descriptor) ([]byte, error) {
	body, err := r.remote.Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }() // it is only read
	if r.progress != nil {
		return content.ReadAll(&progressReader{from: body, total: d.Size, report: r.progress}, d)
	}
	return content.ReadAll(body, d)
}

// progressReader reports how much was read.
type progressReader struct {
	from        io.Reader
	done, total int64
	report      func(done, total int64)
}

// Read reads some bytes.
func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	r.done += int64(n)
	r.report(r.done, r.total)
	return n, err
}

// Push uploads an artifact, and reports whether that was needed. It has no tag then.
func (r *Repository) Push(ctx context.Context, a *Artifact) (uploaded bool, err error) {
	for _, blob := range []struct {
		descriptor ocispec.Descriptor
		text       []byte
	}{
		{descriptor(ocispec.MediaTypeImageLayerGzip, a.Layer), a.Layer},
		{ocispec.DescriptorEmptyJSON, ocispec.DescriptorEmptyJSON.Data},
		{a.Descriptor, a.Manifest},
	} {
		exists, err := r.remote.Exists(ctx, blob.descriptor)
		if err == nil && !exists {
			uploaded = true
			err = r.remote.Push(ctx, blob.descriptor, bytes.NewReader(blob.text))
		}
		if err != nil {
			return uploaded, r.explain(err)
		}
	}
	return uploaded, nil
}

// SetTag sets a tag of an artifact that was pushed, and returns the descriptor of the artifact that
// had it before; its digest is empty if there was none.
func (r *Repository) SetTag(
	ctx context.Context, a *Artifact, tag string,
) (before ocispec.Descriptor, err error) {
	before, err = r.remote.Resolve(ctx, tag)
	if err != nil && !isNotFound(err) {
		return before, r.explain(err)
	}
	if err == nil && before.Digest == a.Digest() {
		return before, nil
	}
	return before, r.explain(
		r.remote.PushReference(ctx, a.Descriptor, bytes.NewReader(a.Manifest), tag))
}

// The limits of a list of tags. Registries have 100 tags and more on a page.
const (
	maxTags  = 100_000
	maxPages = 1000
)

// Tags returns all tags of the repository, sorted. It reads all pages of the list.
func (r *Repository) Tags(ctx context.Context) ([]string, error) {
	var all []string
	tooMany := false
	err := r.remote.Tags(ctx, "", func(tags []string) error {
		if tooMany = len(all)+len(tags) > maxTags; tooMany {
			return errors.New("too many tags")
		}
		all = append(all, tags...)
		return nil
	})
	if tooMany {
		return nil, fmt.Errorf("%s has more than %d tags, which is the limit; delete some", r.Base(),
			maxTags)
	}
	slices.Sort(all)
	return all, r.explain(err)
}

// At returns the repository with another reference in it.
func (r *Repository) At(tag string) *Repository {
	other := *r
	other.Tag, other.Digest = tag, ""
	return &other
}

// WithReference returns the repository with another reference in it.
func (r *Repository) WithReference(reference Reference) *Repository {
	other := *r
	other.Reference = reference
	return &other
}

// Tree fetches the files of an artifact, which may have so many bytes. Nothing is cached.
func (r *Repository) Tree(ctx context.Context, d ocispec.Descriptor, limit int64) (Tree, error) {
	return r.tree(d, limit, func(d ocispec.Descriptor) ([]byte, error) { return r.Fetch(ctx, d) })
}

// tree returns the files of an artifact, whose manifest and layers a function returns.
func (r *Repository) tree(
	d ocispec.Descriptor, limit int64, fetch func(ocispec.Descriptor) ([]byte, error),
) (Tree, error) {
	text, err := fetch(d)
	if err != nil {
		return nil, err
	}
	layers, err := layersOf(d, text, limit)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Reference, &ContentError{err})
	}
	contents := make([][]byte, len(layers))
	for i, layer := range layers {
		if contents[i], err = fetch(layer); err != nil {
			return nil, err
		}
	}
	t, err := unpack(contents, limit)
	if err != nil {
		return nil, fmt.Errorf("%s is not unpacked: %w", r.Reference, &ContentError{err})
	}
	return t, nil
}
