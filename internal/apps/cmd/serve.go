package cmd

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"strings"
	"time"
)

// serve serves the order of the changes to a browser on this machine until the context ends.
func (r *rollout) serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return fmt.Errorf("Diff UI server: %w", err)
	}
	page := r.page()
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(page)) // a browser that went away needs no answer
		}),
	}
	r.ui.Line("Diff UI server: http://" + listener.Addr().String())
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

// needs returns the changes that a change waits for, directly or through join steps.
func (r *rollout) needs(i int) []int {
	var all []int
	for _, j := range r.graph.Needs[i] {
		if j < len(r.changes) {
			all = append(all, j)
			continue
		}
		all = append(all, r.needs(j)...)
	}
	return all
}

// page returns the page: a list of changes, each with those that it waits for.
func (r *rollout) page() string {
	var b strings.Builder
	b.WriteString("<!doctype html><title>Changes</title><h1>Changes</h1><ol>")
	for i, c := range r.changes {
		fmt.Fprintf(
			&b,
			"<li id=%d><b>%s</b> %s",
			i,
			c.ApplyOp().Word(),
			html.EscapeString(c.Description()),
		)
		if needs := r.needs(i); len(needs) > 0 {
			b.WriteString("<ul>")
			for _, j := range needs {
				fmt.Fprintf(
					&b,
					"<li>after <a href=#%d>%s</a>",
					j,
					html.EscapeString(r.changes[j].Description()),
				)
			}
			b.WriteString("</ul>")
		}
	}
	b.WriteString("</ol>")
	return b.String()
}
