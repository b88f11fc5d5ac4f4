package input

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/base/boundedio"
	"github.com/muster-deploy/muster/internal/feature/artifact"
)

const idleTimeout = 30 * time.Second

// IsURL reports whether one of Options.Files is a URL.
func IsURL(file string) bool {
	return strings.HasPrefix(file, "http://") || strings.HasPrefix(file, "https://")
}

// urlSource returns the source for a URL.
func (o Options) urlSource(address string) Source {
	read := func(ctx context.Context) ([]byte, error) { return o.Fetch(ctx, address) }
	return Source{
		Name: "HTTP URL '" + PrintableURL(address) + "'", read: read, warn: o.Warn, foreign: o.Foreign,
	}
}

// PrintableURL returns a URL without its password.
func PrintableURL(address string) string {
	if parsed, err := url.Parse(address); err == nil {
		return parsed.Redacted()
	}
	return address
}

// Fetch returns the text of a URL. Files and Stdin of the options do not count.
func (o Options) Fetch(ctx context.Context, address string) ([]byte, error) {
	shown := PrintableURL(address)
	client := http.Client{}
	if o.Client != nil {
		client = *o.Client
	}
	client.CheckRedirect = artifact.SameScheme
	ctx, guard := newIdleGuard(ctx, cmp.Or(o.IdleTimeout, idleTimeout))
	defer guard.end()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("Requesting URL '%s': %w", shown, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("Requesting URL '%s': %w", shown, guard.cause(err))
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, fmt.Errorf("Requesting URL '%s': %s", shown, response.Status)
	}
	guard.reset()
	guard.body = response.Body
	most := cmp.Or(o.MaxBytes, boundedio.MaxBytes)
	text, tooLarge, err := boundedio.ReadAnswer(guard, response.ContentLength, most)
	switch {
	case err != nil:
		return nil, fmt.Errorf("Reading URL '%s': %w", shown, guard.cause(err))
	case tooLarge:
		return nil, fmt.Errorf(
			"Reading URL '%s': it holds more than %d bytes (hint: download it, and give the file)",
			shown, most)
	}
	return text, nil
}

// idleError is the error of a server that sends nothing for too long.
type idleError struct{ limit time.Duration }

func (e *idleError) Error() string {
	return fmt.Sprintf("nothing came for %s (hint: if a proxy is needed, name it in HTTPS_PROXY or "+
		"HTTP_PROXY; "+
		"or download it in another way, and give the file)", e.limit)
}

// idleGuard reads a body and cancels its request if no data arrives for too long.
type idleGuard struct {
	body  io.Reader
	ctx   context.Context
	end   func()
	alarm *time.Timer
	limit time.Duration
}

// newIdleGuard returns the context of a request and its guard, which is active until it ends.
func newIdleGuard(ctx context.Context, limit time.Duration) (context.Context, *idleGuard) {
	ctx, cancel := context.WithCancelCause(ctx)
	alarm := time.AfterFunc(limit, func() { cancel(&idleError{limit}) })
	end := func() {
		alarm.Stop()
		cancel(nil)
	}
	return ctx, &idleGuard{ctx: ctx, end: end, alarm: alarm, limit: limit}
}

// reset restarts the timer after data arrived.
func (g *idleGuard) reset() { g.alarm.Reset(g.limit) }

func (g *idleGuard) Read(to []byte) (int, error) {
	n, err := g.body.Read(to)
	if n > 0 {
		g.reset()
	}
	return n, err
}

// cause returns the reason why the request was canceled, or else err.
func (g *idleGuard) cause(err error) error {
	if cause := context.Cause(g.ctx); cause != nil {
		return cause
	}
	return err
}
