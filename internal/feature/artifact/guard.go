package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// guard is a transport that ends silent answers, and refuses requests in plain HTTP to other hosts
// unless they are allowed: a redirect may lead to one.
type guard struct {
	base      http.RoundTripper
	plainHTTP bool
	silence   time.Duration
}

// plainHTTPError reports a request that would not be encrypted.
type plainHTTPError struct{ host string }

func (e *plainHTTPError) Error() string {
	return fmt.Sprintf("it leads to %s in plain HTTP, which is not encrypted", e.host)
}

// errSilent reports an answer that does not continue.
var errSilent = errors.New("it sends nothing any more")

// EndSilent returns a transport that ends answers that are silent for too long.
func EndSilent(base http.RoundTripper) http.RoundTripper {
	return &guard{base: base, plainHTTP: true, silence: silentTime}
}

// RoundTrip sends a request.
func (g *guard) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == "http" && !g.plainHTTP && !isLoopback(req.URL.Host) {
		return nil, &plainHTTPError{req.URL.Host}
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	answer, err := g.base.RoundTrip(req.WithContext(ctx))
	if err != nil {
		cancel(nil)
		return nil, err
	}
	body := &guardedBody{ReadCloser: answer.Body, ctx: ctx, cancel: cancel, silence: g.silence}
	body.timer = time.AfterFunc(g.silence, func() { cancel(errSilent) })
	answer.Body = body
	return answer, nil
}

// guardedBody ends an answer that is silent for too long.
type guardedBody struct {
	io.ReadCloser
	ctx     context.Context
	cancel  context.CancelCauseFunc
	timer   *time.Timer
	silence time.Duration
}

// Read reads some bytes.
func (b *guardedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.timer.Reset(b.silence)
	if err != nil && errors.Is(context.Cause(b.ctx), errSilent) {
		err = errSilent
	}
	return n, err
}

// Close ends the answer.
func (b *guardedBody) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
