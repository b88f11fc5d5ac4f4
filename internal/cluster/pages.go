package cluster

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// eachPage reads a list in pages of a size. Read gets the token of a page, empty for the first, and
// the size, and returns the token of the next page, empty for none. Pages expire if the server
// forgets the version of the list before all are read: the list is then read once more as a whole,
// which begins with an empty token and the size 0.
func eachPage(size int64, read func(token string, size int64) (next string, err error)) error {
	for token := ""; ; {
		next, err := read(token, size)
		switch {
		case isExpired(err) && token != "":
			token, size = "", 0
		case err != nil || next == "":
			return err
		default:
			token = next
		}
	}
}

// isExpired reports whether the server has forgotten the version that a request is about.
func isExpired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }
