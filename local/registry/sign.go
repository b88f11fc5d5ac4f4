package registry

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// newKey returns a key for signatures, and writes its public key to a file in PEM format.
func newKey(file string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	return key, os.WriteFile(file, text, 0o600)
}

// sign signs an artifact as cosign does, by a tag beside it. Another signature there is replaced.
func (s *Server) sign(name string, key *ecdsa.PrivateKey) error {
	hash, err := s.digest(name)
	if err != nil {
		return err
	}
	claim := fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":`+
		`{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`,
		s.Address+"/"+repository(name), hash)
	sum := sha256.Sum256(claim)
	signature, err := ecdsa.SignASN1(rand.Reader, key, sum[:])
	if err != nil {
		return err
	}
	const mediaType = types.MediaType("application/vnd.dev.cosign.simplesigning.v1+json")
	image, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
		mutate.Addendum{Layer: static.NewLayer(claim, mediaType), Annotations: map[string]string{
			"dev.cosignproject.cosign/signature": base64.StdEncoding.EncodeToString(signature),
		}})
	if err != nil {
		return err
	}
	return s.push(fmt.Sprintf("%s:%s-%s.sig", repository(name), hash.Algorithm, hash.Hex), image)
}

// digest returns the digest of the artifact with a tag.
func (s *Server) digest(name string) (v1.Hash, error) {
	repository, tag := splitName(name)
	req, err := http.NewRequest(http.MethodGet, s.URL+"/v2/"+repository+"/manifests/"+tag, nil)
	if err != nil {
		return v1.Hash{}, err
	}
	req.SetBasicAuth("ann", s.password)
	answer, err := s.Client().Do(req)
	if err != nil {
		return v1.Hash{}, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return v1.Hash{}, err
	}
	if answer.StatusCode != http.StatusOK {
		return v1.Hash{}, fmt.Errorf("read %s: %s: %s", name, answer.Status, text)
	}
	hash, _, err := v1.SHA256(bytes.NewReader(text))
	return hash, err
}
