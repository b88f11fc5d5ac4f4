package clusters

import (
	"errors"
	"fmt"
	"io"
	"net/http"
)

// mostAnswer is the limit of the bytes of an answer of another cluster that is no watch.
const mostAnswer = 64 << 20

// errRedirect reports a server that answers with another address: only the one in the kubeconfig
// was checked.
var errRedirect = errors.New("the server of the kubeconfig redirects, which is not followed")

// guarded is the transport to the server of a kubeconfig, which may be anybody's: it follows no
// redirects, and ends answers that are too long.
type guarded struct {
	next http.RoundTripper
	most int64 // bytes of an answer
}

// guard returns a guarded transport.
func guard(next http.RoundTripper) http.RoundTripper { return &guarded{next, mostAnswer} }

// RoundTrip implements http.RoundTripper.
func (g *guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := g.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode/100 == 3 && answer.Header.Get("Location") != "" {
		_ = answer.Body.Close() // it is not read
		return nil, errRedirect
	}
	if !r.URL.Query().Has("watch") {
		answer.Body = &limited{answer.Body, g.most, g.most}
	}
	return answer, nil
}

// limited is the body of an answer, which fails after a number of bytes.
type limited struct {
	io.ReadCloser
	left, most int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("an answer of the cluster has more than %d bytes", l.most)
	}
	return n, err
}
