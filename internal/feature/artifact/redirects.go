package artifact

import (
	"fmt"
	"net/http"
)

// maxRedirects is the number of redirects of one request that are followed.
const maxRedirects = 10

// SameScheme returns an error for a redirect to another scheme, and for too many. It is a function
// for http.Client.CheckRedirect.
func SameScheme(req *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= maxRedirects:
		return fmt.Errorf("it redirects more than %d times", maxRedirects)
	case req.URL.Scheme != via[0].URL.Scheme:
		return fmt.Errorf("it redirects from %s to %s", via[0].URL.Scheme, req.URL.Scheme)
	}
	return nil
}
