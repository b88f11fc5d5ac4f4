package ready

import (
	"regexp"
	"strings"
)

// temporary matches the part of a path that ends in a long number, as names of temporary files and
// folders do.
var temporary = regexp.MustCompile(`(/[^/\s]*?)[0-9]{6,}`)

// sameText reports whether two messages say the same. Controllers create temporary files again in
// each attempt, and name them in errors.
func sameText(a, b string) bool { return a == b || withoutTemporary(a) == withoutTemporary(b) }

// withoutTemporary returns a message without the names of temporary files.
func withoutTemporary(text string) string {
	if !strings.Contains(text, "/") {
		return text
	}
	return temporary.ReplaceAllString(text, "$1#")
}
