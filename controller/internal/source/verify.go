package source

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/secure-systems-lab/go-securesystemslib/dsse"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	sigstoredsse "github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/options"
	"github.com/sigstore/sigstore/pkg/signature/payload"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-deploy/muster/internal/feature/artifact"
)

// publicKeySuffix ends the keys of a Secret that have public keys, as 'cosign generate-key-pair'
// writes it.
const publicKeySuffix = ".pub"

// signers are the accepted signers of an artifact: one of them has to have signed it.
type signers struct {
	secret    string // what messages call where their keys are
	id        string // identifies the keys
	verifiers []signature.Verifier
}

// signers returns the signers that a Set names; nil if it names none.
func (o *repository) signers(ctx context.Context) (*signers, error) {
	if o.source.Verify == nil {
		return nil, nil
	}
	secret, name := &corev1.Secret{}, o.source.Verify.Keys.SecretRef.Name
	if err := o.fetcher.getter(o.namespace)(ctx, "Secret", name, secret); err != nil {
		return nil, err
	}
	s := &signers{secret: fmt.Sprintf("Secret %s/%s", o.namespace, name)}
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(secret.Data)) {
		if !strings.HasSuffix(key, publicKeySuffix) {
			continue
		}
		if err := s.add(secret.Data[key]); err != nil {
			return nil, invalid("%s, key %s: %w", s.secret, key, err)
		}
		_, _ = fmt.Fprintf(sum, "%q", secret.Data[key]) // a hash takes everything
	}
	if len(s.verifiers) == 0 {
		return nil, invalid("%s has no public key: a key of it has to end in %s", s.secret,
			publicKeySuffix)
	}
	s.id = hex.EncodeToString(sum.Sum(nil))
	return s, nil
}

// add adds a public key in PEM format. Programs sign the hash that fits a key, or SHA-256; an
// Ed25519 key signs a text, or the hash of one (Ed25519ph).
func (s *signers) add(text []byte) error {
	public, err := cryptoutils.UnmarshalPEMToPublicKey(text)
	if err != nil {
		return fmt.Errorf("it is no public key in PEM format: %w", err)
	}
	if _, rest := pem.Decode(text); len(bytes.TrimSpace(rest)) > 0 {
		return errors.New("it has more than one public key; give each a key of its own in the Secret")
	}
	fitting, err := signature.LoadDefaultVerifier(public) // not of a weak key
	if err != nil {
		return fmt.Errorf("it has to be of ECDSA (P-256, P-384, P-521), Ed25519, or RSA (2048, 3072 or "+
			"4096 bits): %w", err)
	}
	s.verifiers = append(s.verifiers, fitting)
	for _, o := range []signature.LoadOption{
		options.WithHash(crypto.SHA256), options.WithED25519ph(), // cosign signs with these
	} {
		v, err := signature.LoadVerifierWithOpts(public, o)
		if err != nil {
			return err
		}
		s.verifiers = append(s.verifiers, v)
	}
	return nil
}

// verify returns an error unless one of the signers has signed an artifact. Another attempt may
// succeed: an artifact is pushed first, and signed then.
func (s *signers) verify(
	ctx context.Context, repo *artifact.Repository, d ocispec.Descriptor,
) error {
	others := 0
	for found, err := range repo.Signatures(ctx, d) {
		if err != nil {
			return fmt.Errorf("read the signatures of %s: %w", artifactName(repo.Reference), err)
		}
		if s.accepts(found, d.Digest) {
			return nil
		}
		others++
	}
	found := "it has no signature"
	if others > 0 {
		found = fmt.Sprintf("none of its signatures (%d) is valid with a key of %s", others, s.secret)
	}
	return fmt.Errorf("%s with the digest %s is not deployed: %s (spec.source.oci.verify)",
		artifactName(repo.Reference), d.Digest, found)
}

// accepts reports whether one of the signers has made a signature, and of a digest.
func (s *signers) accepts(found artifact.Signature, d digest.Digest) bool {
	return slices.ContainsFunc(s.verifiers, func(v signature.Verifier) bool {
		if found.Bundle != nil {
			return acceptsBundle(v, found.Bundle, d)
		}
		err := v.VerifySignature(bytes.NewReader(found.Signature), bytes.NewReader(found.Payload))
		var claim payload.SimpleContainerImage
		return err == nil && json.Unmarshal(found.Payload, &claim) == nil &&
			claim.Critical.Type == payload.CosignSignatureType &&
			claim.Critical.Image.DockerManifestDigest == d.String()
	})
}

// The types of the statement in a bundle that signs an artifact.
const (
	statementMediaType = "application/vnd.in-toto+json"
	statementType      = "https://in-toto.io/Statement/v1"
)

// acceptsBundle reports whether a bundle of Sigstore has a signature of a digest.
func acceptsBundle(v signature.Verifier, text []byte, d digest.Digest) bool {
	var bundle struct {
		Envelope json.RawMessage `json:"dsseEnvelope"`
	}
	var envelope dsse.Envelope
	if json.Unmarshal(text, &bundle) != nil || json.Unmarshal(bundle.Envelope, &envelope) != nil {
		return false
	}
	err := sigstoredsse.WrapVerifier(v).VerifySignature(bytes.NewReader(bundle.Envelope), nil)
	if err != nil || envelope.PayloadType != statementMediaType {
		return false
	}
	var statement struct {
		Type          string `json:"_type"`
		PredicateType string `json:"predicateType"`
		Subject       []struct {
			Digest map[string]string `json:"digest"`
		} `json:"subject"`
	}
	signed, err := envelope.DecodeB64Payload()
	if err != nil || json.Unmarshal(signed, &statement) != nil ||
		statement.Type != statementType || statement.PredicateType != artifact.SignPredicate {
		return false
	}
	for _, subject := range statement.Subject {
		if subject.Digest[d.Algorithm().String()] == d.Encoded() {
			return true
		}
	}
	return false
}
