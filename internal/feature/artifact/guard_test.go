package artifact

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// answering is a transport that answers with a body.
type answering func(*http.Request) io.Reader

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(a(req))}, nil
}

// pausing is a body whose bytes arrive one by one, after a pause before each.
type pausing struct {
	ctx   context.Context
	pause time.Duration
	left  int
}

func (p *pausing) Read(into []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	p.left--
	select {
	case <-time.After(p.pause):
		into[0] = 'x'
		return 1, nil
	case <-p.ctx.Done():
		return 0, p.ctx.Err()
	}
}

// TestGuardSilence: an answer may take as long as it likes while it continues.
func TestGuardSilence(t *testing.T) {
	for _, test := range []struct {
		pause time.Duration
		bytes int
		want  error
	}{
		{silentTime - time.Second, 100, nil},
		{silentTime + time.Second, 0, errSilent},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := &guard{silence: silentTime, base: answering(func(req *http.Request) io.Reader {
				return &pausing{req.Context(), test.pause, 100}
			})}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://example.com", nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := g.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if len(text) != test.bytes || !errors.Is(err, test.want) {
				t.Errorf("a pause of %s: %d bytes, %v", test.pause, len(text), err)
			}
		})
	}
}

// TestGuardPlainHTTP: neither a registry nor a redirect of one leads to another host in plain HTTP.
func TestGuardPlainHTTP(t *testing.T) {
	for address, want := range map[string]bool{ // whether plain HTTP has to be allowed
		"http://example.com/v2/":   true,
		"http://192.0.2.1:5000/":   true,
		"https://example.com/v2/":  false,
		"http://localhost:5000/":   false,
		"http://127.0.0.1:5000/v2": false,
	} {
		for _, allowed := range []bool{false, true} {
			g := &guard{plainHTTP: allowed, silence: time.Hour, base: answering(
				func(*http.Request) io.Reader { return http.NoBody })}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := g.RoundTrip(req)
			plain := (*plainHTTPError)(nil)
			if refused := errors.As(err, &plain); refused != (want && !allowed) {
				t.Errorf("%s, allowed %t: %v", address, allowed, err)
			}
			if err == nil {
				_ = answer.Body.Close()
			}
		}
	}
}
