package filter

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Flags are the values of the filter flags. The zero value selects all objects.
type Flags struct {
	Age string // "5m+" selects older objects, "5m-" younger ones

	Kinds, Namespaces, Names, KindNames, KindNamespaces []string
	KindNsNames, Labels                                 []string

	JSON string // if set, the others are ignored, but Age is checked
}

// errAge is kapp's error for an invalid age.
var errAge = errors.New(
	"Expected age filter to be either empty or parseable time.Duration (example: 5m+, 24h-; valid " +
		"units: ns, us, ms, s, m, h)")

// ResourceFilter returns the filter of the flags, or nil if none is set. Ages are relative to now.
func (f Flags) ResourceFilter(now time.Time) (*ResourceFilter, error) {
	c := &clause{Kinds: f.Kinds, Namespaces: f.Namespaces, Names: f.Names, KindNames: f.KindNames,
		KindNamespaces: f.KindNamespaces, KindNsNames: f.KindNsNames, Labels: f.Labels}
	if f.Age != "" {
		length, older := strings.CutSuffix(f.Age, "+")
		length, younger := strings.CutSuffix(length, "-")
		age, err := time.ParseDuration(length)
		if err != nil || older == younger {
			return nil, errAge
		}
		at := now.Add(-age)
		if older {
			c.CreatedAtBeforeTime = &at
		} else {
			c.CreatedAtAfterTime = &at
		}
	}
	if f.JSON != "" {
		return ParseResourceFilter(f.JSON)
	}
	asked := len(f.Kinds) + len(f.Namespaces) + len(f.Names) + len(f.KindNames) +
		len(f.KindNamespaces) + len(f.KindNsNames) + len(f.Labels)
	if asked == 0 && f.Age == "" {
		return nil, nil
	}
	if err := c.compile(); err != nil {
		return nil, fmt.Errorf("Parsing filter flags: %w", err)
	}
	return &ResourceFilter{Resource: c}, nil
}
