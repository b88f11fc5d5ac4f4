package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/internal/feature/artifact"
)

// defaultTag is the tag of a source without a reference.
const defaultTag = "latest"

// advice is what errors of registries recommend.
var advice = artifact.Advice{
	Login:     "spec.source.oci.secretRef names a Secret with them",
	PlainHTTP: "spec.source.oci.insecure",
	Authority: "the controller has to trust the certificate of its authority",
}

// repository is an artifact in a registry.
type repository struct {
	fetcher   *Fetcher
	namespace string
	reference artifact.Reference // with the folder; without tag and digest if there are versions
	versions  *artifact.Versions // the highest one is deployed; nil for the reference
	source    v1alpha1.OCISource
}

// repository returns the artifact that a Set names.
func (f *Fetcher) repository(set *v1alpha1.Set, folder string) (origin, error) {
	s := *set.Spec.Source.OCI
	r, err := artifact.Parse(s.URL)
	if err != nil {
		return nil, invalid("spec.source.oci.url: %w", err)
	}
	if r.Tag != "" || r.Digest != "" || r.Folder != "" {
		return nil, invalid("spec.source.oci.url: %s: name the repository alone, %s; ref and path are "+
			"fields of their own", r, r.Base())
	}
	r.Tag, r.Digest, r.Folder = s.Ref.Tag, digest.Digest(s.Ref.Digest), folder
	var versions *artifact.Versions
	if s.Ref.Semver != "" {
		parsed, err := artifact.ParseVersions(s.Ref.Semver)
		if err != nil {
			return nil, invalid("spec.source.oci.ref.semver: %w", err)
		}
		versions = &parsed
	} else if r.Tag == "" && r.Digest == "" {
		r.Tag = defaultTag
	}
	if r, err = artifact.Parse(r.String()); err != nil {
		return nil, invalid("spec.source.oci.ref: %w", err)
	}
	return &repository{f, set.Namespace, r, versions, s}, nil
}

// artifactName returns what messages call an artifact.
func artifactName(r artifact.Reference) string {
	if r.Tag != "" {
		r.Digest = ""
	}
	return r.Short()
}

// revisionOf returns the revision of an artifact with a digest.
func revisionOf(r artifact.Reference, d digest.Digest) string {
	if r.Tag == "" {
		return d.String()
	}
	return r.Tag + "@" + d.String()
}

func (o *repository) revision(ctx context.Context) (string, error) {
	if o.reference.Digest != "" {
		return revisionOf(o.reference, o.reference.Digest), nil
	}
	repo, d, err := o.resolve(ctx)
	if err != nil {
		return "", err
	}
	return revisionOf(repo.Reference, d.Digest), nil
}

func (o *repository) fetch(ctx context.Context) (*Fetched, error) {
	by, err := o.signers(ctx)
	if err != nil {
		return nil, err
	}
	if pinned := o.reference.Digest; pinned != "" {
		if cached := o.fetcher.folders.take(o.key(pinned, by)); cached != nil {
			return o.fetched(cached, o.reference, pinned)
		}
	}
	repo, d, err := o.resolve(ctx)
	if err != nil {
		return nil, err
	}
	if cached := o.fetcher.folders.take(o.key(d.Digest, by)); cached != nil {
		return o.fetched(cached, repo.Reference, d.Digest)
	}
	if by != nil {
		if err := by.verify(ctx, repo, d); err != nil {
			return nil, err
		}
	}
	tree, err := repo.Tree(ctx, d, o.fetcher.limit())
	if err != nil {
		return nil, contentError(err)
	}
	images, _, err := repo.BundleImages(ctx, tree)
	if err != nil {
		return nil, contentError(err)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	written, err := o.fetcher.folders.put(o.key(d.Digest, by), tree, images)
	if err != nil {
		return nil, fmt.Errorf("write the files of %s: %w", artifactName(repo.Reference), err)
	}
	return o.fetched(written, repo.Reference, d.Digest)
}

// fetched returns a folder with an artifact as the manifests of the Set.
func (o *repository) fetched(
	f *folder, r artifact.Reference, d digest.Digest,
) (*Fetched, error) {
	return o.fetcher.folders.fetched(f, r.Folder, revisionOf(r, d), artifactName(r))
}

// key returns what the folder with the files is kept under. What was verified is kept for its keys.
func (o *repository) key(d digest.Digest, by *signers) content {
	parts := []string{"oci", o.reference.Base(), d.String()}
	if by != nil {
		parts = append(parts, by.id)
	}
	return content{o.namespace, strings.Join(parts, " ")}
}

// resolve returns the repository, with the tag or digest that the Set names now, and its artifact.
func (o *repository) resolve(
	ctx context.Context,
) (*artifact.Repository, ocispec.Descriptor, error) {
	config, err := o.dockerConfig(ctx)
	if err != nil {
		return nil, ocispec.Descriptor{}, err
	}
	repo, err := o.fetcher.registry.open(ctx, o, config)
	if err != nil {
		return nil, ocispec.Descriptor{}, err
	}
	if o.versions != nil {
		tag, err := repo.Newest(ctx, *o.versions)
		if err != nil {
			return nil, ocispec.Descriptor{}, err
		}
		repo = repo.At(tag)
	}
	d, err := repo.Resolve(ctx)
	return repo, d, contentError(err)
}

// dockerConfig returns the content of the Secret with credentials; nil if the Set names none.
func (o *repository) dockerConfig(ctx context.Context) ([]byte, error) {
	if o.source.SecretRef == nil {
		return nil, nil
	}
	secret, name := &corev1.Secret{}, o.source.SecretRef.Name
	if err := o.fetcher.getter(o.namespace)(ctx, "Secret", name, secret); err != nil {
		return nil, err
	}
	config := secret.Data[corev1.DockerConfigJsonKey]
	if len(config) == 0 {
		return nil, invalid("Secret %s/%s has no key %s: it has to be of type %s", o.namespace, name,
			corev1.DockerConfigJsonKey, corev1.SecretTypeDockerConfigJson)
	}
	return config, nil
}

// contentError returns an InvalidError if what is wrong is the content of an artifact.
func contentError(err error) error {
	if content := (*artifact.ContentError)(nil); errors.As(err, &content) {
		return &InvalidError{err}
	}
	return err
}

// unusedTime is how long a connection to a repository is kept that is not used.
const unusedTime = time.Hour

// registries keeps repositories, and so the tokens and connections of their registries: a look at a
// tag is one request then. Each has the credentials of one Secret of one namespace.
type registries struct {
	mutex     sync.Mutex
	transport http.RoundTripper
	opened    map[[sha256.Size]byte]*connection
}

// connection is a repository that is kept.
type connection struct {
	repository *artifact.Repository
	used       time.Time
}

// open returns a repository with the credentials of docker's configuration in a Secret.
func (r *registries) open(
	ctx context.Context, o *repository, config []byte,
) (*artifact.Repository, error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %t %q", o.namespace, o.reference.Base(),
		o.source.Insecure, config))
	if found := r.find(key); found != nil {
		return found.WithReference(o.reference), nil
	}
	credentials, err := artifact.ParseCredentials(config)
	if err != nil {
		return nil, invalid("Secret %s/%s, key %s: %w", o.namespace, o.source.SecretRef.Name,
			corev1.DockerConfigJsonKey, err)
	}
	repo, err := artifact.Access{
		PlainHTTP: o.source.Insecure, UserAgent: o.fetcher.UserAgent, Credentials: credentials,
		Transport: r.transport, Advice: advice,
	}.Open(ctx, o.reference)
	if err != nil {
		return nil, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.opened[key] = &connection{repo, time.Now()}
	return repo, nil
}

// find returns a repository that is kept, or nil, and forgets those that were not used for long.
func (r *registries) find(key [sha256.Size]byte) *artifact.Repository {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.opened == nil {
		r.opened, r.transport = map[[sha256.Size]byte]*connection{}, artifact.NewTransport()
	}
	for other, c := range r.opened {
		if time.Since(c.used) > unusedTime {
			delete(r.opened, other)
		}
	}
	c := r.opened[key]
	if c == nil {
		return nil
	}
	c.used = time.Now()
	return c.repository
}
