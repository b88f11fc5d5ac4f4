package artifact

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// isNotFound reports whether a registry does not have what was asked for.
func isNotFound(err error) bool {
	answer := (*errcode.ErrorResponse)(nil)
	return errors.Is(err, errdef.ErrNotFound) ||
		errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound
}

// explain returns the error of a request to the registry in words for users, with what to do about
// it. Addresses are left out: those of redirects carry credentials.
func (r *Repository) explain(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %w", r.Reference, r.reason(err))
}

// reason returns why a request failed, and what to do about it.
func (r *Repository) reason(err error) error {
	answer, plain := (*errcode.ErrorResponse)(nil), (*plainHTTPError)(nil)
	unknown, invalid := x509.UnknownAuthorityError{}, x509.HostnameError{}
	switch {
	case errors.Is(err, content.ErrMismatchedDigest), errors.Is(err, content.ErrTrailingData):
		return fmt.Errorf("the registry sent another content than the digest says: %w", err)
	case errors.Is(err, auth.ErrBasicCredentialNotFound),
		errors.As(err, &answer) && answer.StatusCode == http.StatusUnauthorized:
		return fmt.Errorf("the registry does not accept the credentials, or there are none: %s",
			r.access.Advice.login(r.Registry))
	case errors.As(err, &answer) && answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("the registry does not allow this to the user of the credentials (403%s)",
			messages(answer))
	case isNotFound(err):
		return fmt.Errorf("the registry does not have it; 'muster artifacts %s' lists what it has",
			r.Base())
	case errors.As(err, &answer):
		return fmt.Errorf("the registry answered %d %s%s", answer.StatusCode,
			http.StatusText(answer.StatusCode), messages(answer))
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("the registry speaks plain HTTP, which is not encrypted; %s allows that",
			r.access.Advice.plainHTTP())
	case errors.As(err, &plain):
		return fmt.Errorf("%w; %s allows that", plain, r.access.Advice.plainHTTP())
	case errors.As(err, &unknown):
		return fmt.Errorf("its certificate is not trusted (%w); %s", unknown,
			r.access.Advice.authority())
	case errors.As(err, &invalid):
		return fmt.Errorf("its certificate is for another host: %w", invalid)
	}
	if request := (*url.Error)(nil); errors.As(err, &request) {
		return fmt.Errorf("the registry cannot be reached: %w", request.Err)
	}
	return errors.New("the request failed: " + withoutAddresses(err.Error()))
}

// Advice is what errors recommend to users. An empty field has that of the commands.
type Advice struct {
	Login     string // about credentials
	PlainHTTP string // what allows plain HTTP
	Authority string // about a certificate that is not trusted
}

func (a Advice) login(registry string) string {
	return cmp.Or(a.Login, fmt.Sprintf("log in with 'docker login %s'; they are read from docker's "+
		"configuration and its helpers", registry))
}

func (a Advice) plainHTTP() string { return cmp.Or(a.PlainHTTP, "--plain-http") }

func (a Advice) authority() string {
	return cmp.Or(a.Authority, "name the certificate of its authority with --registry-ca-file")
}

// address matches an address in a text.
var address = regexp.MustCompile(`https?://[^\s"]+`)

// withoutAddresses returns a text in which addresses have only their host.
func withoutAddresses(text string) string {
	return address.ReplaceAllStringFunc(text, func(found string) string {
		if u, err := url.Parse(found); err == nil {
			return u.Scheme + "://" + u.Host
		}
		return "an address"
	})
}

// messages returns what a registry said beside a status.
func messages(answer *errcode.ErrorResponse) string {
	if len(answer.Errors) == 0 {
		return ""
	}
	var texts []string
	for _, e := range answer.Errors {
		texts = append(texts, strings.TrimSpace(strings.ToLower(e.Code)+" "+e.Message))
	}
	return ": " + strings.Join(texts, "; ")
}
