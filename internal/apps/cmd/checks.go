package cmd

import (
	"fmt"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/apps/preflight"
)

// checkList are names of checks, in a flag that may be given several times.
type checkList []string

// Set takes in names with commas between them.
func (l *checkList) Set(text string) error {
	for name := range strings.SplitSeq(text, ",") {
		if !preflight.Exists(name) {
			return fmt.Errorf("unknown preflight check %q specified", name)
		}
		if !slices.Contains(*l, name) {
			*l = append(*l, name)
		}
	}
	return nil
}

// String gives them as Set takes them.
func (l *checkList) String() string { return strings.Join(*l, ",") }

// Type is what the help calls them.
func (l *checkList) Type() string { return "strings" }
