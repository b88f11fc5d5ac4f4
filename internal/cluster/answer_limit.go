package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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

// The bytes that an answer may have, and one that is an error. Lists come in pages, so that answers
// are far below that.
const (
	mostAnswer = 256 << 20
	mostEvent  = 16 << 20 // of a watch: an object has 3 MiB at most
	mostError  = 1 << 20
)

// AnswerError is the error of a request whose answer did not come in time, or is too large.
type AnswerError struct{ text string }

func (e *AnswerError) Error() string { return e.text }

// answerLimit is a transport that ends requests whose answer does not begin within a time, does not
// continue within the same time, takes too long in all, or is too large. Watches, and logs that are
// followed, may begin to answer later and pause, and each log may be long and large; one event of a
// watch may not. Of an error that is too large the rest is left out.
type answerLimit struct {
	next      http.RoundTripper
	after     time.Duration // to the beginning of the answer, and between its parts
	whole     time.Duration // to the end of the answer, from its beginning
	most      int64         // bytes of an answer
	mostEvent int64         // bytes of one event of a watch
	mostError int64         // bytes of an answer that is an error
}

// RoundTrip sends the request.
func (l *answerLimit) RoundTrip(req *http.Request) (*http.Response, error) {
	query := req.URL.Query()
	if query.Get("watch") == "true" || query.Get("follow") == "true" {
		return l.stream(req, query.Get("watch") == "true")
	}
	ctx, cancel := context.WithCancelCause(req.Context())
	timer := time.AfterFunc(l.after, func() {
		cancel(&AnswerError{"no answer within " + l.after.String()})
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
		cancel(&AnswerError{"the answer has stopped: nothing came within " + l.after.String()})
	})
	body.stall.Stop() // until the next Read
	switch {
	case resp.StatusCode >= http.StatusBadRequest:
		body.ReadCloser = cutBody{io.LimitReader(resp.Body, l.mostError), resp.Body}
	case !isLog(req.URL.Path):
		body.left, body.limited = l.most, true
	}
	if !isLog(req.URL.Path) {
		body.end = time.AfterFunc(l.whole, func() {
			cancel(&AnswerError{"the answer was not complete within " + l.whole.String()})
		})
	}
	resp.Body = body
	return resp, nil
}

// stream sends the request for a watch, or for a log that is followed.
func (l *answerLimit) stream(req *http.Request, isWatch bool) (*http.Response, error) {
	resp, err := l.next.RoundTrip(req)
	switch {
	case err != nil:
		return nil, err
	case resp.StatusCode >= http.StatusBadRequest:
		resp.Body = cutBody{io.LimitReader(resp.Body, l.mostError), resp.Body}
	case isWatch:
		resp.Body = &eventBody{ReadCloser: resp.Body, most: l.mostEvent}
	}
	return resp, nil
}

// eventBody is the body of a watch, in which each event is a line.
type eventBody struct {
	io.ReadCloser
	most, read int64 // bytes of an event, and those of the present one so far
}

// Read reads the next part of the body.
func (b *eventBody) Read(to []byte) (int, error) {
	if room := b.most - b.read + 1; int64(len(to)) > room {
		to = to[:room]
	}
	n, err := b.ReadCloser.Read(to)
	b.read += int64(n)
	if end := bytes.LastIndexByte(to[:n], '\n'); end >= 0 {
		b.read = int64(n - end - 1)
	}
	if b.read > b.most {
		return 0, &AnswerError{fmt.Sprintf("an event of the watch has more than %d MiB", b.most>>20)}
	}
	return n, err
}

// isLog reports whether a path ends as that of the log of a pod does. What it begins with may be
// that of a proxy.
func isLog(path string) bool {
	parts := strings.Split(path, "/")
	n := len(parts)
	return n > 5 && parts[n-5] == "namespaces" && parts[n-3] == "pods" && parts[n-1] == "log"
}

// cutBody is a body of which a part is read.
type cutBody struct {
	io.Reader
	io.Closer
}

// silence returns the error of a request that this package has ended, or else err.
func silence(ctx context.Context, err error) error {
	if silent := (*AnswerError)(nil); errors.As(context.Cause(ctx), &silent) {
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
	limited bool
	left    int64 // bytes that may still come, if limited
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
	if b.left -= int64(n); b.limited && b.left < 0 {
		return 0, &AnswerError{fmt.Sprintf("the answer has more than %d MiB", mostAnswer>>20)}
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
