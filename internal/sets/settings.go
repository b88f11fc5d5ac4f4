package sets

import (
	"encoding/json"

	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// Basis is what an operation is made from, beside the objects.
type Basis struct {
	Options policy.Options
	Group   string            // of an app
	Rules   []policy.RuleFile // that users wrote
	// Partial is why the operation does not make the cluster the same as all objects; empty if it
	// does.
	Partial string

	// former is the newest revision of the set from which the objects are taken over; nil for none.
	former *history.Revision
}

// settings are what a revision keeps of the options of its run.
type settings struct {
	Plan  policy.Options `json:"plan"`
	Group string         `json:"group,omitempty"` // of an app
}

// details returns what a revision keeps of the basis of its run.
func (b Basis) details() (history.Details, error) {
	d := history.Details{}
	for _, file := range b.Rules {
		d.Rules = append(d.Rules, history.File(file))
	}
	text, err := json.Marshal(settings{b.Options, b.Group})
	d.Settings = text
	return d, err
}

// partial returns Basis.Partial for options, with which objects may stay that are no longer
// described.
func partial(o policy.Options, stay bool) string {
	matching, err := o.Filter.ResourceFilter(o.Now)
	switch {
	case err == nil && matching != nil:
		return "filters selected the objects of the run"
	case stay:
		return "the run did not prune objects that were no longer described"
	}
	return ""
}

// readSettings returns the settings of a revision; zero ones if it has none.
func readSettings(text []byte) (s settings, err error) {
	if len(text) > 0 {
		err = json.Unmarshal(text, &s)
	}
	return s, err
}
