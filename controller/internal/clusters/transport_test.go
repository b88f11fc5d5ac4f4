package clusters

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/controller/internal/gate"
)

// TestLargeAnswers: a large answer of another cluster waits until there is memory for it.
func TestLargeAnswers(t *testing.T) {
	body := strings.Repeat("x", freeAnswer+2)
	g := &guarded{most: mostAnswer, namespace: "shop", large: gate.NewBytes(mostAnswer)}
	read := func() (*limited, error) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://far", nil)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		l := &limited{
			ReadCloser: io.NopCloser(strings.NewReader(body)), left: g.most, guarded: g,
			request: request.WithContext(ctx),
		}
		if _, err := io.CopyN(io.Discard, l, freeAnswer+1); err != nil {
			t.Fatal(err)
		}
		cancel() // who has to wait does not get more
		_, err = io.ReadAll(l)
		return l, err
	}
	first, err := read()
	if err != nil {
		t.Fatalf("the first answer: %v", err)
	}
	if second, err := read(); !errors.Is(err, context.Canceled) || second.Close() != nil {
		t.Errorf("a second answer meanwhile: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := read(); err != nil {
		t.Errorf("a second answer after the first: %v", err)
	}
}

// The server of a kubeconfig leads nobody elsewhere, and its answers end.
func TestGuard(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		reached = true
	}))
	defer other.Close()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/redirect" {
			http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, strings.Repeat("x", 100)) // the client may have left
	}))
	defer server.Close()
	get := func(path string, most int64) (int, error) {
		client := &http.Client{Transport: &guarded{
			next: http.DefaultTransport, most: most, namespace: "shop", large: gate.NewBytes(2 * most),
		}}
		answer, err := client.Get(server.URL + path)
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return len(text), err
	}
	if _, err := get("/redirect", 100); !errors.Is(err, errRedirect) || reached {
		t.Errorf("a redirect: %v, followed: %v", err, reached)
	}
	if n, err := get("/list", 100); n != 100 || err != nil {
		t.Errorf("an answer of the limit: %d bytes, %v", n, err)
	}
	if _, err := get("/list", 99); err == nil || !strings.Contains(err.Error(), "more than 99 bytes") {
		t.Errorf("a longer answer: %v", err)
	}
	if n, err := get("/list?watch=true", 99); n != 100 || err != nil {
		t.Errorf("a watch: %d bytes, %v", n, err)
	}
}
