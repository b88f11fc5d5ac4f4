package source

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/opencontainers/go-digest"

	"github.com/muster-deploy/muster/internal/feature/artifact"
)

// httpClient returns the client for archives.
func (f *Fetcher) httpClient() *http.Client {
	if f.HTTP != nil {
		return f.HTTP
	}
	f.web.Do(func() {
		f.client = &http.Client{
			Transport:     artifact.EndSilent(artifact.NewTransport()),
			CheckRedirect: artifact.SameScheme,
		}
	})
	return f.client
}

// download writes an archive into a file. It returns an error unless the archive has the digest.
func (o *archive) download(ctx context.Context, at *located, file io.Writer) error {
	failed := func(err error) error { return o.failed("fetch %s: %w", public(at.url), cause(err)) }
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.url.String(), nil)
	if err != nil {
		return failed(err)
	}
	req.Header.Set("User-Agent", o.fetcher.UserAgent)
	req.Header.Set("Accept-Encoding", "identity") // the digest is that of the archive
	answer, err := o.fetcher.httpClient().Do(req)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = answer.Body.Close() }() // it is only read
	limit := o.fetcher.limit()
	switch {
	case answer.StatusCode != http.StatusOK:
		return failed(fmt.Errorf("the server answered %d %s", answer.StatusCode,
			http.StatusText(answer.StatusCode)))
	case answer.ContentLength > limit:
		return o.fetcher.tooLarge("the files of " + o.name())
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, sum), io.LimitReader(answer.Body, limit+1))
	switch {
	case err != nil:
		return failed(err)
	case n > limit:
		return o.fetcher.tooLarge("the files of " + o.name())
	}
	if got := digest.NewDigest(digest.SHA256, sum); got != at.digest {
		return o.invalid("the archive at %s has the digest %s, and .status.artifact has %s",
			public(at.url), got, at.digest)
	}
	return nil
}

// public returns an address without what may be credentials.
func public(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// cause returns the error of a request without its address.
func cause(err error) error {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		return request.Err
	}
	return err
}
