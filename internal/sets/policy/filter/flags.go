package filter

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// Flags are the values of the filter flags. The zero value selects all objects.
type Flags struct {
	Age string // "5m+" selects older objects, "5m-" younger ones

	Kinds, Namespaces, Names, KindNames, KindNamespaces []string
	KindNsNames, Labels                                 []string

	JSON string // if set, the others are ignored, but Age is checked
}

// Add adds the flags.
func (f *Flags) Add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Age, "filter-age", "", "Set age filter (example: 5m+, 500h-, 10m-)")
	for _, list := range []struct {
		to         *[]string
		name, help string
	}{
		{&f.Kinds, "kind", "Set kinds filter (example: Pod) (can repeat)"},
		{&f.Namespaces, "ns", "Set namespace filter (example: knative-serving) (can repeat)"},
		{&f.Names, "name", "Set name filter (example: controller) (can repeat)"},
		{&f.KindNames, "kind-name", "Set kind-name filter (example: Pod/controller) (can repeat)"},
		{&f.KindNamespaces, "kind-ns", "Set kind-namespace filter (example: Pod/, " +
			"Pod/knative-serving) (can repeat)"},
		{&f.KindNsNames, "kind-ns-name", "Set kind-namespace-name filter (example: " +
			"Deployment/knative-serving/controller) (can repeat)"},
		{&f.Labels, "labels", "Set label filter (example: x=y)"},
	} {
		flags.StringSliceVar(list.to, "filter-"+list.name, nil, list.help)
	}
	flags.StringVar(
		&f.JSON,
		"filter",
		"",
		`Set filter (example: {"and":[{"not":{"resource":{"kinds":["Secret"]}}},`+
			`{"resource":{"kinds":["ConfigMap"]}}]})`,
	)
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
