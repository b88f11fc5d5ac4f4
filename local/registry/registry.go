// Package registry runs registries of OCI artifacts on this host, for tests and scripts: a real
// one, behind what asks for credentials, speaks TLS, and can break what is sent.
package registry

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/registry"
)

// Server is a registry on this host.
type Server struct {
	*httptest.Server
	Address string // host and port

	writes   atomic.Int64                 // the number of uploads
	password string                       // empty for none
	keys     map[string]*ecdsa.PrivateKey // of scripts, by their names
	altered  atomic.Pointer[string]       // contents below this folder are changed on their way
}

// Start starts a registry. Unless the password is empty, users need it. Unless authority is empty,
// the registry speaks TLS, and the certificate of its authority is written to this file.
func Start(password, authority string) (*Server, error) {
	s := &Server{password: password, keys: map[string]*ecdsa.PrivateKey{}}
	s.Alter("")
	storage := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) { s.serve(storage, w, r) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if authority == "" {
		s.Start()
	} else {
		certificate, err := newAuthority(authority)
		if err != nil {
			return nil, fmt.Errorf("make a certificate: %w", err)
		}
		s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		s.StartTLS()
	}
	s.Address = s.Listener.Addr().String()
	return s, nil
}

// Alter changes contents on their way whose path has this folder; an empty one changes none.
func (s *Server) Alter(folder string) { s.altered.Store(&folder) }

// Uploads returns the number of requests that have uploaded since the last call.
func (s *Server) Uploads() int { return int(s.writes.Swap(0)) }

// serve answers one request.
func (s *Server) serve(storage http.Handler, w http.ResponseWriter, r *http.Request) {
	if _, password, _ := r.BasicAuth(); password != s.password {
		w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch {
		s.writes.Add(1)
	}
	folder := *s.altered.Load()
	if folder == "" || !strings.Contains(r.URL.Path, "/"+folder+"/") ||
		r.Method != http.MethodGet {
		storage.ServeHTTP(w, r)
		return
	}
	answer := httptest.NewRecorder()
	storage.ServeHTTP(answer, r)
	body := answer.Body.Bytes()
	body[len(body)/2] ^= 1
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}

// newAuthority makes an authority, writes its certificate to a file, and returns the certificate of
// a server on this host.
func newAuthority(file string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a registry's own authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
	return tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: key},
		os.WriteFile(file, text, 0o600)
}
