package cluster

import (
	"fmt"
	"net/http"
	"time"
)

// Request is one HTTP request. It holds no headers and no bodies, and so no secrets.
type Request struct {
	Method string
	Path   string // with the query
	Code   int    // of the response; 0 if there was none
	Took   time.Duration
	Err    error
}

// String formats the request in one line.
func (r Request) String() string {
	took := r.Took.Round(time.Millisecond)
	if r.Err != nil {
		return fmt.Sprintf("%s %s failed after %s: %v", r.Method, r.Path, took, r.Err)
	}
	return fmt.Sprintf("%s %s %d in %s", r.Method, r.Path, r.Code, took)
}

// tracer is a transport that reports every request.
type tracer struct {
	next  http.RoundTripper
	trace func(Request)
}

// RoundTrip sends the request.
func (t *tracer) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := t.next.RoundTrip(req)
	seen := Request{
		Method: req.Method, Path: req.URL.RequestURI(), Took: time.Since(start), Err: err,
	}
	if resp != nil {
		seen.Code = resp.StatusCode
	}
	t.trace(seen)
	return resp, err
}
