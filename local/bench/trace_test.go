package main

import (
	"fmt"
	"maps"
	"slices"
	"testing"
)

func TestRequestsOfATrace(t *testing.T) {
	w := &requestWriter{}
	fmt.Fprint(w, `GET /api/v1/pods?limit=500 200 in 3ms
GET /api/v1/pods?allowWatchBookmarks=true&watch=true 200 in 1ms
GET /api/v1/pods?allowWatchBookmarks=true&resourceVersion=7&watch=true 200 in 1ms
POST /api/v1/namespaces/a/pods failed after 3ms: connection refused
Warning: something, and not GET /api/v1
I1103 09:14:22.000000    7 round_trippers.go:553] GET https://127.0.0.1:6443/api/v1/nodes?watch=true 200 OK in 3 milliseconds
I1103 09:14:22.000000   17 round_trippers.go:632] "Response" verb="PATCH" url="https://127.0.0.1:6443/api/v1/namespaces/a/pods/b?x=y" status="200 OK" milliseconds=4
I1103 09:14:22.000000   17 request.go:1351] Response Body: GET /api
DEL`)
	fmt.Fprint(w, "ETE /api/v1/namespaces/a/pods/b 200 in 3ms\nan error without an end")

	want := map[string]int{"GET": 1, "WATCH": 3, "POST": 1, "PATCH": 1, "DELETE": 1}
	if !maps.Equal(want, w.seen.verbs) {
		t.Errorf("requests: got %v, want %v", w.seen.verbs, want)
	}
	if got := slices.Sorted(maps.Keys(w.seen.watches)); !slices.Equal(got, []string{"/api/v1/nodes", "/api/v1/pods"}) {
		t.Errorf("watched: %v", got)
	}
	said := "Warning: something, and not GET /api/v1\n" +
		"I1103 09:14:22.000000   17 request.go:1351] Response Body: GET /api\nan error without an end"
	if w.tail() != said {
		t.Errorf("said: %q", w.tail())
	}
}
