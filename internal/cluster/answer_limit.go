package cluster

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"
)

// answerTimeout is how long the server may take to begin its answer, and to continue it: a little
// longer than the API server permits itself. wholeTimeout is how long the rest of an answer may
// take.
const (
	answerTimeout = 65 * time.Second
	wholeTimeout  = 5 * time.Minute
)

// SilentError is the error of a request whose answer did not come in time.
type SilentError struct{ text string }

func (e *SilentError) Error() string { return e.text }

// answerLimit is a transport that ends requests whose answer does not begin within a time, does not
// continue within the same time, or takes too long in all. Watches, and logs that are followed, may
// begin to answer later and pause, and each log may be long.
type answerLimit struct {
	next  http.RoundTripper
	after time.Duration // to the beginning of the answer, and between its parts
	whole time.Duration // to the end of the answer, from its beginning
}

// RoundTrip sends the request.
func (l *answerLimit) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	if query.Get("watch") == "true" || query.Get("follow") == "true" {
		return l.next.RoundTrip(req)
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(l.after, func() {
		cancel(&SilentError{"no answer within " + l.after.String()})
	})
	resp, err := l.next.RoundTrip(req.WithContext(ctx))
	timer.Stop()
	if err != nil {
		err = silence(ctx, err)
		cancel(nil)
		return nil, err
	}
	body := &limitedBody{
		ReadCloser: resp.Body, after: l.after, release: cancel,
		reason: func(err error) error { return silence(ctx, err) },
	}
	body.stall = time.AfterFunc(l.after, func() {
		cancel(&SilentError{"the answer has stopped: nothing came within " + l.after.String()})
	})
	body.stall.Stop() // until the next Read
	if !strings.HasSuffix(req.URL.Path, "/log") {
		body.end = time.AfterFunc(l.whole, func() {
			cancel(&SilentError{"the answer was not complete within " + l.whole.String()})
		})
	}
	resp.Body = body
	return resp, nil
}

// silence returns the error of a request that this package has ended, or else err.
func silence(ctx context.Context, err error) error {
	if silent := (*SilentError)(nil); errors.As(context.Cause(ctx), &silent) {
		return silent
	}
	return err
}

// limitedBody is the body of a response whose request ends if the body stalls. It releases the
// context of the request when it is closed.
type limitedBody struct {
	io.ReadCloser
	after   time.Duration
	stall   *time.Timer // ends the request; it runs during each Read
	end     *time.Timer // ends the whole answer; nil if nothing does
	release context.CancelCauseFunc
	reason  func(error) error // the reason why the request was ended, or else the error
}

// Read reads the next part of the body.
func (b *limitedBody) Read(to []byte) (int, error) {
	b.stall.Reset(b.after)
	n, err := b.ReadCloser.Read(to)
	b.stall.Stop()
	if err != nil && err != io.EOF {
		err = b.reason(err)
	}
	return n, err
}

// Close closes the body.
func (b *limitedBody) Close() error {
	if b.end != nil {
		b.end.Stop()
	}
	defer b.release(nil)
	return b.ReadCloser.Close()
}
