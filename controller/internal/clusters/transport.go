package clusters

import (
	"errors"
	"fmt"
	"io"
	"net/http"

	"k8s.io/client-go/transport"

	"github.com/muster-deploy/muster/controller/internal/gate"
)

// The limits of the bytes of an answer of another cluster that is no watch. What is more than
// freeAnswer counts as mostAnswer in the limit of all answers.
const (
	mostAnswer = 32 << 20
	freeAnswer = 1 << 20
)

// errRedirect reports a server that answers with another address: only the one in the kubeconfig
// was checked.
var errRedirect = errors.New("the server of the kubeconfig redirects, which is not followed")

// guarded is the transport to the server of a kubeconfig, which may be anybody's: it follows no
// redirects, and ends answers that are too long.
type guarded struct {
	next      http.RoundTripper
	most      int64 // bytes of an answer
	namespace string
	large     *gate.Bytes // of the answers that are read at once
}

// guard returns what makes a guarded transport for the Sets of a namespace.
func (p *Pool) guard(namespace string) transport.WrapperFunc {
	return func(next http.RoundTripper) http.RoundTripper {
		return &guarded{next, mostAnswer, namespace, p.answers}
	}
}

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
		answer.Body = &limited{ReadCloser: answer.Body, left: g.most, guarded: g, request: r}
	}
	return answer, nil
}

// limited is the body of an answer, which fails after a number of bytes. A large one waits until
// others were read.
type limited struct {
	io.ReadCloser
	left    int64
	guarded *guarded
	request *http.Request // with which its body ends
	load    *gate.Load    // nil as long as the answer is small
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (n int, err error) {
	g := l.guarded
	if l.load == nil && g.most-l.left > freeAnswer {
		if l.load, err = g.large.Acquire(l.request.Context(), g.namespace, g.most); err != nil {
			return 0, err
		}
	}
	n, err = l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, fmt.Errorf("an answer of the cluster has more than %d bytes", g.most)
	}
	return n, err
}

// Close implements io.Closer.
func (l *limited) Close() error {
	l.load.Release()
	return l.ReadCloser.Close()
}
