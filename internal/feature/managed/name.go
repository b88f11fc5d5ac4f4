package managed

import (
	"fmt"
	"slices"
	"strings"
)

// The names of the kind of Sets in arguments. Those of the first list may be folders, too.
var (
	shortKinds = []string{"set", "sets", "mset"}
	fullKinds  = []string{"set.muster.dev", "sets.muster.dev"}
)

// ParseName returns the name in an argument: NAME, or set/NAME as kubectl writes it.
func ParseName(argument string) (string, error) {
	kind, name, found := strings.Cut(argument, "/")
	if !found {
		kind, name = "set", argument
	}
	if !isKind(kind) {
		return "", fmt.Errorf("%q is not a Set: give its name, or set/NAME", argument)
	}
	if name == "" || strings.Contains(name, "/") {
		return "", fmt.Errorf("%q does not name a Set: give its name, or set/NAME", argument)
	}
	return name, nil
}

func isKind(word string) bool {
	word = strings.ToLower(word)
	return slices.Contains(shortKinds, word) || slices.Contains(fullKinds, word)
}

// IsName reports whether an argument has the form set/NAME. It may be the path of a folder, too,
// unless it is full: with the group of the kind.
func IsName(argument string) (is, full bool) {
	kind, name, found := strings.Cut(argument, "/")
	if !found || !isKind(kind) || name == "" || strings.Contains(name, "/") {
		return false, false
	}
	return true, slices.Contains(fullKinds, strings.ToLower(kind))
}
