package kapp

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
)

// serve serves the order of the changes to a browser on this machine until the context ends.
func (s *session) serve(ctx context.Context, r *deploy.Run) error {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return fmt.Errorf("Diff UI server: %w", err)
	}
	page := orderPage(r)
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte(page)) // a browser that went away needs no answer
		}),
	}
	s.ui.Line("Diff UI server: http://" + listener.Addr().String())
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return context.Cause(ctx)
}

// orderPage returns the order as a list: every change with those that it waits for.
func orderPage(r *deploy.Run) string {
	var b strings.Builder
	b.WriteString("<!doctype html><title>Changes</title><h1>Changes</h1><ol>")
	for i, c := range r.Changes() {
		fmt.Fprintf(&b, "<li id=%d><b>%s</b> %s", i, c.ApplyOp().Word(),
			html.EscapeString(c.Description()))
		if needs := r.Before(i); len(needs) > 0 {
			b.WriteString("<ul>")
			for _, j := range needs {
				fmt.Fprintf(&b, "<li>after <a href=#%d>%s</a>", j,
					html.EscapeString(r.Changes()[j].Description()))
			}
			b.WriteString("</ul>")
		}
	}
	b.WriteString("</ol>")
	return b.String()
}
