package config

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// checkMinimumVersion checks a minimum version, which has no leading v and may omit its last
// numbers.
func (n node) checkMinimumVersion(have string) {
	least := n.text()
	if least == "" {
		return
	}
	if strings.HasPrefix(least, "v") {
		n.kappError("Validating minimum version: Must not have prefix 'v' (e.g. '0.8.0')")
		return
	}
	want, err := parseVersion(least)
	if err != nil {
		n.kappError("Parsing minimum version constraint: Malformed constraint: >=" + least)
		return
	}
	is, err := parseVersion(have)
	if err != nil {
		n.kappError("Parsing version constraint: Malformed version: " + have)
		return
	}
	if is.LessThan(want) {
		n.kappError("kapp version '" + have +
			"' does not meet the minimum required version '" + least + "'")
	}
}

// parseVersion reads a semantic version of one to three numbers.
func parseVersion(text string) (*version.Version, error) {
	numbers, rest := text, ""
	if end := strings.IndexAny(text, "-+"); end >= 0 {
		numbers, rest = text[:end], text[end:]
	}
	for strings.Count(numbers, ".") < 2 {
		numbers += ".0"
	}
	return version.ParseSemantic(numbers + rest)
}
