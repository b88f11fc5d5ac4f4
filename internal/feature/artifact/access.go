package artifact

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"
)

// Limits of what a registry may take. A transfer has no limit as long as bytes arrive.
const (
	connectTime = 10 * time.Second
	answerTime  = 30 * time.Second // to the beginning of an answer
	silentTime  = 30 * time.Second // between two parts of an answer
	retries     = 3
)

// Access is how registries are reached.
type Access struct {
	PlainHTTP bool   // http:// for other hosts than this one, too
	CAFile    string // certificates of authorities, beside those of the system; empty for none
	UserAgent string
	// Credentials are the only ones that are used. Nil means those of docker's configuration and its
	// helpers.
	Credentials *Credentials
	// Transport sends the requests; CAFile has no effect on it. Nil means one for each repository.
	Transport http.RoundTripper
	// Advice replaces that of the commands in errors.
	Advice Advice
	// Progress receives how many bytes of a content have arrived. Nil ignores that.
	Progress func(done, total int64)
}

// NewTransport returns a transport that does not wait for a host without limit.
func NewTransport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: connectTime}).DialContext
	transport.TLSHandshakeTimeout, transport.ResponseHeaderTimeout = connectTime, answerTime
	return transport
}

// transport returns what sends the requests.
func (a Access) transport() (http.RoundTripper, error) {
	if a.Transport != nil {
		return a.Transport, nil
	}
	transport := NewTransport()
	if a.CAFile != "" {
		pool, err := authorities(a.CAFile)
		if err != nil {
			return nil, err
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return transport, nil
}

// client returns the client for requests to the registry of a reference.
func (a Access) client(r Reference) (*auth.Client, error) {
	transport, err := a.transport()
	if err != nil {
		return nil, err
	}
	credential, err := a.credential(r)
	if err != nil {
		return nil, err
	}
	policy := *retry.DefaultPolicy.(*retry.GenericPolicy)
	policy.MaxRetry = retries
	client := &auth.Client{
		Client: &http.Client{Transport: &retry.Transport{
			Base:   &guard{base: transport, plainHTTP: a.PlainHTTP, silence: silentTime},
			Policy: func() retry.Policy { return &policy },
		}},
		Cache: auth.NewCache(), Credential: credential,
	}
	client.SetUserAgent(a.UserAgent)
	return client, nil
}

// authorities returns the authorities of the system and those in a file.
func authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority of the registry: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate in PEM format", file)
	}
	return pool, nil
}
