package cluster

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// endless is a server whose answers do not end.
type endless struct{ status int }

// RoundTrip returns an answer of blanks.
func (e endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: e.status, Body: io.NopCloser(blanks{})}, nil
}

type blanks struct{}

// Read returns blanks.
func (blanks) Read(to []byte) (int, error) { return copy(to, strings.Repeat(" ", len(to))), nil }

// An answer that does not end takes no more memory than the limit, and an error keeps its status.
func TestAnswerWithoutEnd(t *testing.T) {
	const most, mostError = 100_000, 1_000
	for _, test := range []struct {
		path   string
		status int
		large  bool  // an error is wanted
		bytes  int64 // that are read at most
	}{
		{"/version", http.StatusOK, true, most},
		{"/api/v1/namespaces/a/configmaps/log", http.StatusOK, true, most},
		{"/version", http.StatusInternalServerError, false, mostError},
		{"/api/v1/namespaces/a/pods/b/log", http.StatusForbidden, false, mostError},
		{"/api/v1/namespaces/a/pods/b/log", http.StatusOK, false, 2 * most},
		{"/clusters/c/api/v1/namespaces/a/pods/b/log", http.StatusOK, false, 2 * most},
	} {
		l := &answerLimit{
			next: endless{test.status}, after: time.Minute, whole: time.Minute,
			most: most, mostError: mostError,
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://x"+test.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := l.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		read, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 2*most))
		resp.Body.Close()
		large := (*AnswerError)(nil)
		if read > test.bytes || errors.As(err, &large) != test.large || err != nil && !test.large {
			t.Errorf("%s, status %d: %d bytes, error %v", test.path, test.status, read, err)
		}
	}
}
