package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

// answerTimeout is how long the server may take to begin its answer: a little longer than the API
// server permits itself.
const answerTimeout = 65 * time.Second

// errNoAnswer is the error of a request whose answer did not begin in time.
var errNoAnswer = errors.New("no answer within " + answerTimeout.String())

// answerLimit is a transport that ends requests whose answer does not begin within answerTimeout.
// Watches and logs may begin to answer later.
type answerLimit struct{ next http.RoundTripper }

// RoundTrip sends the request.
func (l *answerLimit) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	if query.Get("watch") == "true" || query.Get("follow") == "true" {
		return l.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(answerTimeout, func() { cancel(errNoAnswer) })
	resp, err := l.next.RoundTrip(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		if context.Cause(ctx) == errNoAnswer {
			err = errNoAnswer
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = &releasingBody{resp.Body, cancel}
	return resp, nil
}

// releasingBody is the body of a response that releases the context of its request when it is
// closed.
type releasingBody struct {
	io.ReadCloser
	release context.CancelCauseFunc
}

// Close closes the body.
func (b *releasingBody) Close() error {
	defer b.release(nil)
	return b.ReadCloser.Close()
}
