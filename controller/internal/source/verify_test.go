package source

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	sigstoredsse "github.com/sigstore/sigstore/pkg/signature/dsse"
	"github.com/sigstore/sigstore/pkg/signature/options"
	corev1 "k8s.io/api/core/v1"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// signingKey is a key that signs artifacts of a registry.
type signingKey struct {
	t       *testing.T
	private crypto.PrivateKey
	public  []byte // PEM

	prehashed bool // Ed25519 as cosign uses it
}

func newSigningKey(t *testing.T, private crypto.Signer) *signingKey {
	t.Helper()
	public, err := cryptoutils.MarshalPublicKeyToPEM(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	return &signingKey{t: t, private: private, public: public}
}

// newECDSA returns a key on a curve.
func newECDSA(t *testing.T, curve elliptic.Curve) *signingKey {
	t.Helper()
	private, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return newSigningKey(t, private)
}

// newRSA returns a key of some bits.
func newRSA(t *testing.T, bits int) *signingKey {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return newSigningKey(t, private)
}

// claimOf returns what is signed of an artifact under a tag.
func claimOf(d digest.Digest, kind string) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":"shop"},"image":`+
		`{"docker-manifest-digest":%q},"type":%q},"optional":null}`, d, kind)
}

const claimType = "cosign container image signature"

// tag stores the signature of a claim under the tag that is made of a digest.
func (k *signingKey) tag(r *fakeRegistry, d digest.Digest, claim []byte) {
	k.t.Helper()
	signer, err := signature.LoadSigner(k.private, crypto.SHA256)
	if k.prehashed {
		signer, err = signature.LoadSignerWithOpts(k.private, options.WithED25519ph())
	}
	if err != nil {
		k.t.Fatal(err)
	}
	signed, err := signer.SignMessage(bytes.NewReader(claim))
	if err != nil {
		k.t.Fatal(err)
	}
	layer := ocispec.Descriptor{
		MediaType: "application/vnd.dev.cosign.simplesigning.v1+json",
		Digest:    digest.FromBytes(claim), Size: int64(len(claim)),
		Annotations: map[string]string{
			"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signed),
		},
	}
	r.store("sha256-"+d.Encoded()+".sig", manifestOf(k.t, nil, layer), claim)
}

// statementOf returns what is signed of an artifact in a bundle.
func statementOf(d digest.Digest, predicate string) []byte {
	return fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"digest":`+
		`{"sha256":%q}}],"predicateType":%q,"predicate":{}}`, d.Encoded(), predicate)
}

// bundle stores the signature of a statement as a bundle that refers to an artifact.
func (k *signingKey) bundle(r *fakeRegistry, d digest.Digest, statement []byte) {
	k.t.Helper()
	signer, err := signature.LoadDefaultSigner(k.private)
	if k.prehashed {
		signer, err = signature.LoadSignerWithOpts(k.private, options.WithED25519ph())
	}
	if err != nil {
		k.t.Fatal(err)
	}
	envelope, err := sigstoredsse.WrapSigner(signer, "application/vnd.in-toto+json").SignMessage(
		bytes.NewReader(statement))
	if err != nil {
		k.t.Fatal(err)
	}
	r.refer(k.t, d, fmt.Appendf(nil, `{"mediaType":"application/vnd.dev.sigstore.bundle.v0.3+json",`+
		`"verificationMaterial":{"publicKey":{"hint":""}},"dsseEnvelope":%s}`, envelope), nil)
}

// bundleMediaType is the type of a bundle, and of the artifact that has it.
const bundleMediaType = "application/vnd.dev.sigstore.bundle.v0.3+json"

// refer stores a bundle that refers to an artifact, with annotations.
func (r *fakeRegistry) refer(
	t *testing.T, d digest.Digest, bundle []byte, annotations map[string]string,
) {
	t.Helper()
	manifest := manifestOf(t, annotations, ocispec.Descriptor{
		MediaType: bundleMediaType, Digest: digest.FromBytes(bundle), Size: int64(len(bundle)),
	})
	r.store("", manifest, bundle)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.referrers[d.String()] = append(r.referrers[d.String()], ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, ArtifactType: bundleMediaType,
		Digest: digest.FromBytes(manifest), Size: int64(len(manifest)),
	})
}

// manifestOf returns the manifest of an artifact with annotations and a layer.
func manifestOf(
	t *testing.T, annotations map[string]string, layer ocispec.Descriptor,
) []byte {
	t.Helper()
	m := ocispec.Manifest{
		MediaType: ocispec.MediaTypeImageManifest, Annotations: annotations,
		Config: ocispec.DescriptorEmptyJSON, Layers: []ocispec.Descriptor{layer},
	}
	m.SchemaVersion = 2
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// verified returns a Set with an artifact that has to be signed by a key in the Secret keys.
func (r *fakeRegistry) verified(ref v1alpha1.OCIRef) *v1alpha1.Set {
	set := r.set(ref)
	set.Spec.Source.OCI.Verify = &v1alpha1.Verification{Provider: "cosign", Keys: v1alpha1.PublicKeys{
		SecretRef: v1alpha1.LocalReference{Name: "keys"},
	}}
	return set
}

// keysOf returns a Secret with public keys, and a private one that nobody reads.
func keysOf(keys ...*signingKey) *corev1.Secret {
	s := &corev1.Secret{Data: map[string][]byte{"cosign.key": []byte(secret)}}
	for i, k := range keys {
		s.Data[fmt.Sprintf("%d.pub", i)] = k.public
	}
	return s
}

// TestVerify: an artifact is fetched only if one of the keys has signed its digest.
func TestVerify(t *testing.T) {
	ours, theirs := newECDSA(t, elliptic.P256()), newECDSA(t, elliptic.P256())
	other := digest.FromString("another artifact")
	const sign = "https://sigstore.dev/cosign/sign/v1"
	const none = "it has no signature (spec.source.oci.verify)"
	const foreign = "none of its signatures (%d) is valid with a key of Secret team-a/keys"
	for name, test := range map[string]struct {
		sign func(r *fakeRegistry, d digest.Digest)
		want string // in the error; empty for none
	}{
		"nothing": {func(*fakeRegistry, digest.Digest) {}, none},
		"tag": {func(r *fakeRegistry, d digest.Digest) {
			ours.tag(r, d, claimOf(d, claimType))
		}, ""},
		"bundle": {func(r *fakeRegistry, d digest.Digest) {
			ours.bundle(r, d, statementOf(d, sign))
		}, ""},
		"both": {func(r *fakeRegistry, d digest.Digest) {
			theirs.tag(r, d, claimOf(d, claimType))
			theirs.bundle(r, d, statementOf(d, sign))
			ours.bundle(r, d, statementOf(d, sign))
		}, ""},
		"tag of others": {func(r *fakeRegistry, d digest.Digest) {
			theirs.tag(r, d, claimOf(d, claimType))
		}, fmt.Sprintf(foreign, 1)},
		"bundles of others": {func(r *fakeRegistry, d digest.Digest) {
			theirs.bundle(r, d, statementOf(d, sign))
			theirs.bundle(r, d, statementOf(d, sign+"?"))
		}, fmt.Sprintf(foreign, 2)},
		"tag for another artifact": {func(r *fakeRegistry, d digest.Digest) {
			ours.tag(r, d, claimOf(other, claimType))
		}, fmt.Sprintf(foreign, 1)},
		"another claim": {func(r *fakeRegistry, d digest.Digest) {
			ours.tag(r, d, claimOf(d, "remark"))
		}, fmt.Sprintf(foreign, 1)},
		"bundle for another artifact": {func(r *fakeRegistry, d digest.Digest) {
			ours.bundle(r, d, statementOf(other, sign))
		}, fmt.Sprintf(foreign, 1)},
		"attestation": {func(r *fakeRegistry, d digest.Digest) {
			ours.bundle(r, d, statementOf(d, "https://slsa.dev/provenance/v1"))
		}, fmt.Sprintf(foreign, 1)},
		"many attestations": {func(r *fakeRegistry, d digest.Digest) {
			const kind = "https://cosign.sigstore.dev/attestation/vuln/v1"
			for i := range 150 {
				text := fmt.Sprint(i)
				r.refer(t, d, []byte(text), map[string]string{"dev.sigstore.bundle.predicateType": kind})
			}
			ours.bundle(r, d, statementOf(d, sign))
		}, ""},
		"too many": {func(r *fakeRegistry, d digest.Digest) {
			for i := range 150 {
				r.refer(t, d, []byte(fmt.Sprint(i)), nil)
			}
			ours.bundle(r, d, statementOf(d, sign))
		}, "has more than 100 signatures, which is the limit"},
		"lost before a good one": {func(r *fakeRegistry, d digest.Digest) {
			r.lost["sha256-"+d.Encoded()+".sig"] = true
			r.refer(t, d, []byte("lost"), nil)
			r.lost[digest.FromString("lost").String()] = true
			ours.bundle(r, d, statementOf(d, sign))
		}, ""},
		"lost": {func(r *fakeRegistry, d digest.Digest) {
			r.refer(t, d, []byte("lost"), nil)
			r.lost[digest.FromString("lost").String()] = true
			theirs.bundle(r, d, statementOf(d, sign))
		}, "read the signatures of "},
		"too many lost": {func(r *fakeRegistry, d digest.Digest) {
			for i := range 10 {
				r.refer(t, d, []byte(fmt.Sprint(i)), nil)
				r.lost[digest.FromString(fmt.Sprint(i)).String()] = true
			}
			ours.bundle(r, d, statementOf(d, sign))
		}, "read the signatures of "},
		"listed as others": {func(r *fakeRegistry, d digest.Digest) {
			ours.bundle(r, d, statementOf(d, sign))
			r.referrers[d.String()][0].ArtifactType = "application/spdx+json"
		}, none},
		"listed as an attestation": {func(r *fakeRegistry, d digest.Digest) {
			ours.bundle(r, d, statementOf(d, sign))
			r.referrers[d.String()][0].Annotations = map[string]string{
				"dev.sigstore.bundle.predicateType": "https://slsa.dev/provenance/v1"}
		}, none},
		"too many that refer": {func(r *fakeRegistry, d digest.Digest) {
			other := digest.FromString("{}")
			all := make([]ocispec.Descriptor, 1001)
			for i := range all {
				all[i] = ocispec.Descriptor{
					MediaType: ocispec.MediaTypeImageManifest, Digest: other, Size: 2,
				}
			}
			r.contents[other.String()], r.referrers[d.String()] = []byte("{}"), all
		}, "more than 1000 artifacts refer to it, which is the limit"},
		"no bundles": {func(r *fakeRegistry, d digest.Digest) {
			for _, text := range []string{"", "null", "{}", `{"dsseEnvelope":null}`,
				`{"dsseEnvelope":{"payloadType":"application/vnd.in-toto+json","payload":"e30="}}`} {
				r.refer(t, d, []byte(text), nil)
			}
		}, fmt.Sprintf(foreign, 5)},
	} {
		t.Run(name, func(t *testing.T) {
			f, cluster := newFetcher(t)
			cluster.put("keys", keysOf(ours))
			r := newRegistry(t, "")
			files := map[string]string{"web.yaml": "web"}
			d := r.push(t, "stable", files)
			test.sign(r, d)
			tagged := r.verified(v1alpha1.OCIRef{Tag: "stable"})
			pinned := r.verified(v1alpha1.OCIRef{Digest: d.String()})
			if test.want == "" {
				checkFetch(t, f, tagged, r.url()+":stable", files)
				checkFetch(t, f, pinned, r.url()+"@"+d.String()[:len("sha256:")+12], files)
				return
			}
			for _, set := range []*v1alpha1.Set{tagged, pinned} {
				checkError(t, f, set, false, test.want)
			}
		})
	}
}

// TestVerifyCosign: what cosign 3.0.6 has written is verified: a tag beside the artifact, a bundle
// and a signature that refer to the artifact, in a registry that does not list what refers to one.
func TestVerifyCosign(t *testing.T) {
	text, err := os.ReadFile("testdata/cosign.json")
	if err != nil {
		t.Fatal(err)
	}
	var stored struct {
		Key      string
		Contents map[string][]byte
	}
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	for tag, status := range map[string]int{ // which registries answer without a list
		"tag": http.StatusNotFound, "bundle": http.StatusBadRequest,
		"referrer": http.StatusMethodNotAllowed,
	} {
		for name, keys := range map[string]*signingKey{
			"ours": {public: []byte(stored.Key)}, "theirs": newECDSA(t, elliptic.P256()),
		} {
			t.Run(tag+"/"+name, func(t *testing.T) {
				f, cluster := newFetcher(t)
				cluster.put("keys", keysOf(keys))
				r := newRegistry(t, "")
				r.contents, r.referrers, r.noReferrers = stored.Contents, nil, status
				set := r.verified(v1alpha1.OCIRef{Tag: tag})
				if name == "ours" {
					checkFetch(t, f, set, r.url()+":"+tag, map[string]string{
						tag + ".yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + tag + "}\n",
					})
					return
				}
				checkError(t, f, set, false, "none of its signatures (1)")
			})
		}
	}
}

// TestVerifyKeys: all kinds of keys verify, and one of several is enough.
func TestVerifyKeys(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other := newECDSA(t, elliptic.P256())
	prehashed := newSigningKey(t, private)
	prehashed.prehashed = true
	for name, key := range map[string]*signingKey{
		"P-256": newECDSA(t, elliptic.P256()), "P-384": newECDSA(t, elliptic.P384()),
		"RSA": newRSA(t, 2048), "Ed25519": newSigningKey(t, private), "Ed25519ph": prehashed,
	} {
		for form, sign := range map[string]func(r *fakeRegistry, d digest.Digest){
			"tag": func(r *fakeRegistry, d digest.Digest) { key.tag(r, d, claimOf(d, claimType)) },
			"bundle": func(r *fakeRegistry, d digest.Digest) {
				key.bundle(r, d, statementOf(d, "https://sigstore.dev/cosign/sign/v1"))
			},
		} {
			t.Run(name+"/"+form, func(t *testing.T) {
				f, cluster := newFetcher(t)
				cluster.put("keys", keysOf(other, key))
				r := newRegistry(t, "")
				files := map[string]string{"web.yaml": "web"}
				sign(r, r.push(t, "stable", files))
				checkFetch(t, f, r.verified(v1alpha1.OCIRef{Tag: "stable"}), r.url()+":stable", files)
			})
		}
	}
}

// TestVerifyAgain: what was fetched is not used for other keys, nor is what nobody has signed.
func TestVerifyAgain(t *testing.T) {
	ours, theirs := newECDSA(t, elliptic.P256()), newECDSA(t, elliptic.P256())
	f, cluster := newFetcher(t)
	r := newRegistry(t, "")
	files := map[string]string{"web.yaml": "web"}
	d := r.push(t, "stable", files)
	set := r.verified(v1alpha1.OCIRef{Tag: "stable"})
	checkError(t, f, set, false, "read Secret team-a/keys: ", "not found")
	cluster.put("keys", keysOf(ours))
	checkFetch(t, f, r.set(v1alpha1.OCIRef{Tag: "stable"}), r.url()+":stable", files)
	_, err := f.Fetch(t.Context(), set)
	checkText(t, err, false, "it has no signature")
	ours.tag(r, d, claimOf(d, claimType))
	checkFetch(t, f, set, r.url()+":stable", files)
	r.seen()
	checkFetch(t, f, set, r.url()+":stable", files)
	if seen := r.seen(); seen != "HEAD manifests, HEAD manifests" { // for the revision, too
		t.Errorf("again: the requests were %s", seen)
	}
	cluster.put("keys", keysOf(theirs))
	_, err = f.Fetch(t.Context(), set)
	checkText(t, err, false, "none of its signatures (1)")
}

// TestBadPublicKeys: a Secret without a public key is named, and its values are not.
func TestBadPublicKeys(t *testing.T) {
	f, cluster := newFetcher(t)
	set := newRegistry(t, "").verified(v1alpha1.OCIRef{})
	one := newECDSA(t, elliptic.P256()).public
	for name, test := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"none": {map[string][]byte{"cosign.key": []byte(secret)},
			"Secret team-a/keys has no public key: a key of it has to end in .pub"},
		"text": {map[string][]byte{"a.pub": []byte(secret)},
			"Secret team-a/keys, key a.pub: it is no public key in PEM format"},
		"two": {map[string][]byte{"a.pub": append(slices.Clone(one), one...)},
			"Secret team-a/keys, key a.pub: it has more than one public key"},
		"weak": {map[string][]byte{"a.pub": newRSA(t, 1024).public},
			"Secret team-a/keys, key a.pub: "},
	} {
		t.Run(name, func(t *testing.T) {
			cluster.put("keys", &corev1.Secret{Data: test.data})
			checkError(t, f, set, true, test.want)
		})
	}
}
