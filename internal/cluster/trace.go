package cluster

import (
	"fmt"
	"net/http"
	"time"
)

// Request is one request as it went over the wire. It carries no headers and no bodies, and so no secrets.
type Request struct {
	Method string
	Path   string // with the query
	Code   int    // of the answer; 0 when there was none
	Took   time.Duration
	Err    error
}

// String is the request in one line.
func (r Request) String() string {
	took := r.Took.Round(time.Millisecond)
	if r.Err != nil {
		return fmt.Sprintf("%s %s failed after %s: %v", r.Method, r.Path, took, r.Err)
	}
	return fmt.Sprintf("%s %s %d in %s", r.Method, r.Path, r.Code, took)
}

// tracer tells of every request that passes.
type tracer struct {
	next http.RoundTripper
	tell func(Request)
}

// RoundTrip sends the request on.
func (t *tracer) RoundTrip(req *http.Request) (*http.Response, error) {
	start := time.Now()
	resp, err := t.next.RoundTrip(req)
	seen := Request{Method: req.Method, Path: req.URL.RequestURI(), Took: time.Since(start), Err: err}
	if resp != nil {
		seen.Code = resp.StatusCode
	}
	t.tell(seen)
	return resp, err
}
