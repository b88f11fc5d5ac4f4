package cli

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// certificate returns a client certificate of a user in PEM.
func certificate(t *testing.T, user string) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: user},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// The credentials show the name of the user, or a request is needed.
func TestUserOf(t *testing.T) {
	token := func(claims string) string {
		return "e30." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".sig"
	}
	const account = "system:serviceaccount:ci:deployer"
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token(`{"sub":"`+account+`"}`)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ann := certificate(t, "ann")
	for name, tc := range map[string]struct {
		config rest.Config
		want   string
	}{
		"nothing":      {rest.Config{}, ""},
		"certificate":  {rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: ann}}, "ann"},
		"account":      {rest.Config{BearerToken: token(`{"sub":"` + account + `"}`)}, account},
		"account file": {rest.Config{BearerTokenFile: file}, account},
		"OIDC":         {rest.Config{BearerToken: token(`{"sub":"1234"}`)}, ""},
		"opaque":       {rest.Config{BearerToken: "a.b.c"}, ""},
		"bad":          {rest.Config{TLSClientConfig: rest.TLSClientConfig{CertData: []byte("x")}}, ""},
		"impersonated": {rest.Config{Impersonate: rest.ImpersonationConfig{UserName: "bob"},
			TLSClientConfig: rest.TLSClientConfig{CertData: ann}}, "bob"},
	} {
		if got := userOf(&tc.config); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
