package muster

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// Drifted is an object that others changed, deleted or added.
type Drifted struct {
	Object Object
	Kind   string // changed, deleted or added
	Fields []DriftedField
}

// DriftedField is a field that others changed.
type DriftedField struct {
	Path    string
	Manager string // the field manager that owns it; empty if nobody does
}

// DriftOptions say what counts as drift. The zero value is useful.
type DriftOptions struct {
	// Ignore are the fields that the set leaves to others, as in PlanOptions.
	Ignore []IgnoreRule
	// MembersOnly leaves out added objects: to find those that carry the label of an app, every kind
	// of the cluster is listed.
	MembersOnly bool
}

// Drift returns what others changed since the last good revision of the history or, without a
// history, what differs from the files of the set. What is left to controllers, such as the
// replicas of an autoscaler, does not count. Nothing is changed. An object that may exist and
// cannot be read, because its kind is not served now, is an error.
func (s *Set) Drift(ctx context.Context, o DriftOptions) ([]Drifted, error) {
	return s.drift(ctx, o, (*sets.Baseline).Find)
}

// Look returns what Plan and Drift do, the drift of members only. It reads the objects once if the
// set is the same as when it was deployed. The plan may be there although the drift is an error.
func (s *Set) Look(ctx context.Context, o PlanOptions) (*Plan, []Drifted, error) {
	op, p, err := s.plan(ctx, o, policy.Comparison{Owners: true})
	if err != nil {
		return nil, nil, err
	}
	drifted, err := s.drift(ctx, DriftOptions{Ignore: o.Ignore, MembersOnly: true},
		func(b *sets.Baseline, ctx context.Context, o drift.Options) (*sets.Drift, error) {
			return b.FindIn(ctx, op, o)
		})
	return p, drifted, err
}

// drift returns the drift that is found by a comparison with the last good revision or the files.
func (s *Set) drift(
	ctx context.Context, o DriftOptions,
	find func(*sets.Baseline, context.Context, drift.Options) (*sets.Drift, error),
) ([]Drifted, error) {
	ignore, err := ignoreRules(o.Ignore)
	if err != nil {
		return nil, err
	}
	baseline, err := sets.OpenBaseline(ctx, s.cluster.client, s.request, sets.AgainstGood,
		o.MembersOnly)
	if none := (*sets.NoRevisionError)(nil); errors.As(err, &none) && len(s.request.Files) > 0 {
		baseline, err = sets.OpenBaseline(ctx, s.cluster.client, s.request, sets.AgainstFiles,
			o.MembersOnly)
	}
	if err != nil {
		return nil, missing(err)
	}
	found, err := find(baseline, ctx, drift.Options{Ignore: ignore})
	if err == nil {
		err = found.Incomplete
	}
	if err != nil {
		return nil, missing(err)
	}
	var drifted []Drifted
	for i := range found.Objects {
		if o := &found.Objects[i]; o.Counts() {
			drifted = append(drifted, driftedOf(o))
		}
	}
	return drifted, nil
}

// driftedOf returns an object of the packages of the program.
func driftedOf(o *drift.Object) Drifted {
	d := Drifted{Object: Object(o.Ref), Kind: string(o.Kind)}
	for _, field := range o.Drifted() {
		f := DriftedField{Path: field.Path}
		if len(field.Managers) > 0 {
			f.Manager = field.Managers[0].Name
		}
		d.Fields = append(d.Fields, f)
	}
	return d
}

// Managers returns the field managers of the fields that differ, each once.
func (d Drifted) Managers() (names []string) {
	for _, f := range d.Fields {
		if f.Manager != "" && !slices.Contains(names, f.Manager) {
			names = append(names, f.Manager)
		}
	}
	return names
}

// Resource returns the resource in which the server has objects of the object's kind, and whether
// they have namespaces.
func (c *Cluster) Resource(
	ctx context.Context, o Object,
) (resource schema.GroupVersionResource, namespaced bool, err error) {
	kind, err := c.client.Kind(ctx, schema.GroupKind{Group: o.Group, Kind: o.Kind})
	return kind.Resource, kind.Namespaced, err
}
