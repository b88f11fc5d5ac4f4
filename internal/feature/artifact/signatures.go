package artifact

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// How cosign stores signatures: as layers of an artifact that has a tag made of the digest, or that
// refers to the artifact which was signed. See the page Signature Specification of cosign, and
// Sigstore Bundle Format.
const (
	signatureTagSuffix  = ".sig"
	signatureLayer      = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	signatureReferrer   = "application/vnd.dev.cosign.artifact.sig.v1+json"
	bundleType          = "application/vnd.dev.sigstore.bundle" // and a version
	predicateAnnotation = "dev.sigstore.bundle.predicateType"
)

// SignPredicate is the type of a statement in a bundle that signs an artifact. Others say something
// about it.
const SignPredicate = "https://sigstore.dev/cosign/sign/v1"

// Limits of what is read of signatures.
const (
	maxSignature  = 1 << 20
	maxSignatures = 100  // under a tag, and of those that refer to the artifact
	maxReferrers  = 1000 // that may be signatures
	maxFailed     = 10   // that cannot be read
)

// Signature is a signature of an artifact. Nothing of it is verified.
type Signature struct {
	// Payload is what was signed: a claim in JSON, with the digest of the artifact. It is nil in a
	// bundle.
	Payload   []byte
	Signature []byte // of the payload
	Bundle    []byte // JSON of Sigstore that has all of it; nil if there is a payload
}

// signatures reads the signatures of an artifact.
type signatures struct {
	*Repository
	of     ocispec.Descriptor
	yield  func(Signature, error) bool
	n      int     // that were read of one place
	failed []error // what cannot be read, which others may be in place of
}

// errEnough ends the reading, and errTooMany that of one place.
var errEnough, errTooMany = errors.New("enough"), errors.New("too many")

// Signatures returns the signatures of an artifact, which are read from the registry one by one.
// What cannot be read is an error at the end.
func (r *Repository) Signatures(
	ctx context.Context, d ocispec.Descriptor,
) iter.Seq2[Signature, error] {
	return func(yield func(Signature, error) bool) {
		s := &signatures{Repository: r, of: d, yield: yield}
		err := s.tagged(ctx)
		if err == nil || errors.Is(err, errTooMany) {
			s.n = 0
			err = s.referring(ctx)
		}
		if errors.Is(err, errEnough) {
			return
		}
		if !errors.Is(err, errTooMany) {
			s.failed = append(s.failed, err)
		}
		if err := errors.Join(s.failed...); err != nil {
			yield(Signature{}, err)
		}
	}
}

// tagged yields the signatures under the tag that is made of the digest.
func (s *signatures) tagged(ctx context.Context) error {
	if s.of.Digest.Algorithm() != digest.SHA256 {
		return nil // the tag would be too long
	}
	tag := "sha256-" + s.of.Digest.Encoded() + signatureTagSuffix
	found, body, err := s.remote.FetchReference(ctx, tag)
	if isNotFound(err) {
		return nil
	}
	var manifest []byte
	if err == nil {
		defer func() { _ = body.Close() }() // it is only read
		manifest, err = content.ReadAll(io.LimitReader(body, maxManifest), found)
	}
	if err != nil {
		return s.skip(ctx, s.At(tag).explain(err))
	}
	return s.in(ctx, manifest)
}

// skip notes an error of one signature. It returns an error if the context has ended, or there were
// too many.
func (s *signatures) skip(ctx context.Context, err error) error {
	s.failed = append(s.failed, err)
	if ctx.Err() == nil && len(s.failed) >= maxFailed {
		return errTooMany
	}
	return ctx.Err()
}

// referring yields the signatures that refer to the artifact.
func (s *signatures) referring(ctx context.Context) error {
	referrers, err := s.referrers(ctx, false)
	answer := (*errcode.ErrorResponse)(nil)
	if errors.As(err, &answer) && slices.Contains(noReferrers, answer.StatusCode) {
		referrers, err = s.referrers(ctx, true)
	}
	if err != nil {
		if err := s.skip(ctx, s.explain(err)); err != nil {
			return err
		}
	}
	for _, found := range referrers {
		manifest, err := s.Fetch(ctx, found)
		if err != nil {
			err = s.skip(ctx, err)
		} else {
			err = s.in(ctx, manifest)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noReferrers are the answers of registries that do not list what refers to an artifact.
var noReferrers = []int{
	http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed,
	http.StatusNotAcceptable,
}

// referrers returns what refers to the artifact and may be a signature, as the registry lists it,
// or by a tag for registries that do not. With an error it returns what was read. The client notes
// what a registry can, which may be wrong later: each call has a new one.
func (s *signatures) referrers(
	ctx context.Context, byTag bool,
) (all []ocispec.Descriptor, err error) {
	repo := &remote.Repository{
		Client: s.remote.Client, Reference: s.remote.Reference, PlainHTTP: s.remote.PlainHTTP,
		MaxMetadataBytes: maxManifest, ReferrerListMaxPages: maxPages,
	}
	if byTag {
		if err := repo.SetReferrersCapability(false); err != nil {
			return nil, err
		}
	}
	err = repo.Referrers(ctx, s.of, "", func(page []ocispec.Descriptor) error {
		for _, found := range page {
			if maySign(found) {
				all = append(all, found)
			}
		}
		if len(all) > maxReferrers {
			all = all[:maxReferrers]
			return fmt.Errorf("more than %d artifacts refer to it, which is the limit", maxReferrers)
		}
		return nil
	})
	return all, err
}

// maySign reports whether an artifact that refers to another one may hold a signature. In lists
// that cosign writes itself, for registries that do not, the type is that of the empty
// configuration.
func maySign(d ocispec.Descriptor) bool {
	isManifest := d.MediaType == ocispec.MediaTypeImageManifest &&
		d.Digest.Validate() == nil && d.Size >= 0 && d.Size <= maxManifest
	return isManifest && isSign(d.Annotations) && (d.ArtifactType == "" ||
		d.ArtifactType == ocispec.MediaTypeEmptyJSON || d.ArtifactType == signatureReferrer ||
		strings.HasPrefix(d.ArtifactType, bundleType))
}

// isSign reports whether the annotations of a bundle, if it has some, are those of a signature.
func isSign(annotations map[string]string) bool {
	predicate, found := annotations[predicateAnnotation]
	return !found || predicate == SignPredicate
}

// in yields the signatures in the layers of a manifest.
func (s *signatures) in(ctx context.Context, manifest []byte) error {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil || !isSign(m.Annotations) {
		return nil // it is no signature
	}
	for _, layer := range m.Layers {
		signature, err := base64.StdEncoding.DecodeString(layer.Annotations[signatureAnnotation])
		isPayload := layer.MediaType == signatureLayer && err == nil && len(signature) > 0
		isBundle := strings.HasPrefix(layer.MediaType, bundleType)
		if !isPayload && !isBundle || layer.Digest.Validate() != nil ||
			layer.Size < 0 || layer.Size > maxSignature {
			continue
		}
		if s.n++; s.n > maxSignatures {
			s.failed = append(s.failed, fmt.Errorf("%s has more than %d signatures, which is the limit",
				s.Reference, maxSignatures))
			return errTooMany
		}
		text, err := s.Fetch(ctx, layer)
		switch {
		case err != nil:
			err = s.skip(ctx, err)
		case isPayload && !s.yield(Signature{Payload: text, Signature: signature}, nil),
			isBundle && !s.yield(Signature{Bundle: text}, nil):
			err = errEnough
		}
		if err != nil {
			return err
		}
	}
	return nil
}
