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

// The parts of messages that differ from attempt to attempt: words with a digit, the suffix that a
// controller gives to the name of a pod, points in time and durations.
var (
	counted   = regexp.MustCompile(`[^\s"'(]*[0-9][^\s"')]*`)
	suffixed  = regexp.MustCompile(`(-[bcdfghjklmnpqrstvwxz]{8,10})?-[bcdfghjklmnpqrstvwxz]{5}\b`)
	timestamp = regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\s"')]*|` +
		`\b\d\d?:\d\d:\d\d\S*|\b(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+\b`)
)

// Reason returns a text that is equal for causes that a repeated attempt may have in turn, although
// numbers, times, hashes and names of pods in their messages differ.
func (c Cause) Reason() string {
	text := suffixed.ReplaceAllString(counted.ReplaceAllString(c.content(), "#"), "-#")
	return c.Object.GroupKind().String() + ": " + text
}

// WithoutTimes returns a status whose message has no times. Other numbers may show progress.
func (s Status) WithoutTimes() Status {
	s.Message = timestamp.ReplaceAllString(s.Message, "#")
	return s
}
