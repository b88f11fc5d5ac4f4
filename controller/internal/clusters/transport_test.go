package clusters

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

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
		client := &http.Client{Transport: &guarded{http.DefaultTransport, most}}
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
