package plane

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// prober asks components for their health, as the plane's administrator.
type prober struct {
	http *http.Client
}

func newProber(p paths) (*prober, error) {
	ca, err := os.ReadFile(p.cert(certAuthority))
	if err != nil {
		return nil, fmt.Errorf("read certificate authority: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, errors.New("certificate authority holds no certificate")
	}
	cert, err := tls.LoadX509KeyPair(p.cert(certAdmin), p.key(certAdmin))
	if err != nil {
		return nil, fmt.Errorf("read administrator's certificate: %w", err)
	}
	return &prober{http: &http.Client{
		Timeout: 2 * time.Second,
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{cert}},
			// A connection to a component that was replaced must not be used again.
			DisableKeepAlives: true,
		},
	}}, nil
}

// check asks once. The error says what is not healthy.
func (h *prober) check(ctx context.Context, port int, path string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, httpsURL(port)+path, nil)
	if err != nil {
		return err
	}
	response, err := h.http.Do(req)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s: %s", path, response.Status, firstFailure(string(body)))
	}
	return nil
}

// firstFailure picks the line that says what is wrong from the answer of a health check.
func firstFailure(body string) string {
	first := ""
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[-]") {
			return line
		}
		if first == "" {
			first = line
		}
	}
	return first
}

// await asks until the component answers with health. It gives up when ctx is done, or ended is,
// which is the end of the component: the error is then the cause.
func (h *prober) await(ctx, ended context.Context, port int, path string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(ended, func() { cancel(context.Cause(ended)) })()
	for {
		last := h.check(ctx, port, path)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); errors.Is(cause, errEnded) {
				return cause
			}
			return fmt.Errorf("%w; last answer: %w", context.Cause(ctx), last)
		case <-time.After(pollEvery):
		}
	}
}

var errEnded = errors.New("ended")
