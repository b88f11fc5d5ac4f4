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

// events is a server that sends events of so many bytes on a line each.
type events struct{ line string }

// RoundTrip returns an answer without end.
func (e events) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(&lines{text: e.line})}, nil
}

type lines struct{ text, rest string }

// Read returns lines.
func (l *lines) Read(to []byte) (int, error) {
	if l.rest == "" {
		l.rest = l.text
	}
	n := copy(to, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// An event of a watch that does not end takes no more memory than the limit. Any number of events
// may come, and an error is cut off as others are.
func TestEventWithoutEnd(t *testing.T) {
	const mostEvent, mostError = 10_000, 1_000
	for _, test := range []struct {
		server http.RoundTripper
		query  string
		large  bool  // an error is wanted
		bytes  int64 // that are read at most
	}{
		{endless{http.StatusOK}, "watch=true", true, mostEvent},
		{endless{http.StatusForbidden}, "watch=true", false, mostError},
		{endless{http.StatusForbidden}, "follow=true", false, mostError},
		{events{strings.Repeat(" ", mostEvent-1) + "\n"}, "watch=true", false, 10 * mostEvent},
		{events{strings.Repeat(" ", 3*mostEvent) + "\n"}, "watch=true", true, mostEvent},
	} {
		l := &answerLimit{
			next: test.server, after: time.Minute, whole: time.Minute,
			most: mostEvent, mostEvent: mostEvent, mostError: mostError,
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
			"https://x/api/v1/pods?"+test.query, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := l.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		read, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 10*mostEvent))
		resp.Body.Close()
		large := (*AnswerError)(nil)
		if read > test.bytes || errors.As(err, &large) != test.large || err != nil && !test.large {
			t.Errorf("%T, %s: %d bytes, error %v", test.server, test.query, read, err)
		}
	}
}
