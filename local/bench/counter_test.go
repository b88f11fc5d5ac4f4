package main

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func TestCounter(t *testing.T) {
	const answer = "an answer"
	api := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer admin" || r.ProtoMajor != 2 {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = io.WriteString(w, answer+string(body))
		w.(http.Flusher).Flush()
		if r.URL.Query().Get("watch") != "" {
			<-r.Context().Done() // a watch ends when the client ends it
		}
	}))
	api.EnableHTTP2 = true
	api.StartTLS()
	defer api.Close()
	config := &rest.Config{
		Host:            api.URL,
		BearerToken:     "admin",
		TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	}
	c, err := newCounter(config, filepath.Join(t.TempDir(), "kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	counted, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(counted)
	if err != nil {
		t.Fatal(err)
	}
	body := strings.Repeat("x", 5000)
	for _, r := range [][3]string{{"GET", "/api/v1/pods?limit=500", ""}, {"GET",
		"/api/v1/pods?watch=true", ""},
		{"GET", "/api/v1/pods?resourceVersion=7&watch=1", ""},
		{"GET", "/api/v1/nodes?watch=1", ""}, {"POST", "/api/v1/pods", body}} {
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, r[0], c.server.URL+r[1], strings.NewReader(r[2]))
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(answer)+len(r[2]))
		if _, err := io.ReadFull(response.Body, got); err != nil || string(got) != answer+r[2] ||
			response.StatusCode != http.StatusOK {
			t.Errorf("%s %s: %d %.20q, %v", r[0], r[1], response.StatusCode, got, err)
		}
		cancel()
		response.Body.Close()
	}
	seen := c.take()
	if want := map[string]int{"GET": 1, "WATCH": 3, "POST": 1}; !maps.Equal(want, seen.Verbs) ||
		seen.Watches != 2 ||
		seen.Requests() != 5 {
		t.Errorf("got %v, %d watched", seen.Verbs, seen.Watches)
	}
	if seen.Sent < 5000 || seen.Sent > 10000 || seen.Received < 5000 || seen.Received > 10000 {
		t.Errorf("%d bytes sent, %d received", seen.Sent, seen.Received)
	}
	if again := c.take(); again.Requests() != 0 || again.Watches != 0 {
		t.Errorf("counted twice: %+v", again)
	}
}
