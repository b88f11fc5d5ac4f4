package main

import (
	"bytes"
	"net/url"
	"regexp"
)

// requests are those that a command showed, by verb. A GET that watches is a WATCH.
type requests struct {
	verbs   map[string]int
	watches map[string]bool // what is watched: the paths, without queries
}

// shown is a request in the trace of muster or of a tool that uses client-go, whose form has changed over time:
//
//	GET /api/v1/pods?limit=500 200 in 3ms
//	I1103 09:14:22.000000    7 round_trippers.go:553] GET https://127.0.0.1:6443/api/v1/pods?limit=500 200 OK in 3 milliseconds
//	I1103 09:14:22.000000    7 round_trippers.go:632] "Response" verb="GET" url="https://127.0.0.1:6443/api/v1/pods" status="200 OK"
var shown = regexp.MustCompile(`^(?:I\d{4} \S+ +\d+ round_trippers\.go:\d+\] (?:"Response" verb=")?)?(GET|POST|PUT|PATCH|DELETE)"? (?:url=")?((?:https?:/)?/[^\s"]*)`)

// add counts the request that a line shows, if it does.
func (r *requests) add(line []byte) {
	found := shown.FindSubmatch(line)
	if found == nil {
		return
	}
	verb := string(found[1])
	target, err := url.Parse(string(found[2]))
	if watch := target.Query().Get("watch"); err == nil && verb == "GET" && (watch == "1" || watch == "true") {
		verb = "WATCH"
		if r.watches == nil {
			r.watches = map[string]bool{}
		}
		r.watches[target.Path] = true
	}
	if r.verbs == nil {
		r.verbs = map[string]int{}
	}
	r.verbs[verb]++
}

// requestWriter counts the requests in what is written to it, and keeps the end of all else.
type requestWriter struct {
	seen requests
	rest []byte
	said []byte
}

// kept is how much is kept of what a command says besides its requests.
const kept = 2000

func (w *requestWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		w.seen.add(line)
		if !shown.Match(line) {
			w.said = append(append(w.said, line...), '\n')
			w.said = w.said[max(0, len(w.said)-kept):]
		}
		w.rest = rest
	}
}

// tail is the end of what the command said.
func (w *requestWriter) tail() string { return string(w.said) + string(w.rest) }
