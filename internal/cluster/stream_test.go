package cluster

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// A server that aborts its answer breaks the stream; one that refuses the connection does not.
func TestBrokenStream(t *testing.T) {
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }),
	)
	server.EnableHTTP2 = true
	server.StartTLS()
	_, err := server.Client().Get(server.URL)
	if err == nil || !BrokenStream(err) {
		t.Errorf("broken stream not recognised: %v", err)
	}
	server.Close()
	if _, err := server.Client().Get(server.URL); err == nil || BrokenStream(err) {
		t.Errorf("taken for a broken stream: %v", err)
	}
}
