package app

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Request describes the app to deploy.
type Request struct {
	Name, Namespace string
	PreviousName    string            // a former name of the app; empty for none
	Labels          map[string]string // of the record; present values cannot change
	Group           string            // the app group; empty for none
	LabelValue      string            // of a new app's label; empty for one that nobody has
	ObjectLabels    bool              // a new app labels only its objects, not their templates
	DryRun          bool              // write nothing, neither now nor with the returned app
}

// labels returns all labels of the record.
func (r Request) labels() map[string]string {
	all := maps.Clone(r.Labels)
	if r.Group != "" {
		if all == nil {
			all = map[string]string{}
		}
		all[resource.LabelAppGroup] = r.Group
	}
	return all
}

// Ensure returns the app of a name with a record to deploy against. It creates a missing record, or
// renames that of the previous name, or gives it its full name if wanted. A correct record is not
// written.
func (s *Store) Ensure(ctx context.Context, r Request) (*App, error) {
	app, err := s.Find(ctx, r.Name, r.Namespace)
	if err != nil || app.IsLabelled() {
		return app, err
	}
	if app.Exists() {
		return app, app.update(ctx, r)
	}
	if err := checkName(app.Name); err != nil {
		return nil, err
	}
	if s.FullNames {
		if err := checkName(app.Name + suffix); err != nil {
			return nil, err
		}
	}
	if r.PreviousName != "" {
		prev, err := s.Find(ctx, r.PreviousName, r.Namespace)
		switch {
		case err != nil:
			return nil, err
		case prev.IsLabelled():
			return nil, fmt.Errorf("Expected previous app name to be the name of an app, but was '%s'",
				r.PreviousName)
		case prev.Exists():
			return prev.takeOverName(ctx, app.Name, r)
		}
	}
	return app, app.create(ctx, r)
}

// Commit writes what Ensure planned with DryRun: the record of a new app, a new name, or labels. It
// sends nothing if the record is correct. It fails if others have created the app meanwhile,
// because its objects would get another label than planned.
func (a *App) Commit(ctx context.Context, r Request) error {
	r.DryRun = false
	switch {
	case a.IsLabelled():
		return nil
	case a.stored == nil:
		return a.create(ctx, r)
	case strings.TrimSuffix(a.stored.GetName(), suffix) != a.Name:
		return a.move(ctx, a.Name, a.Namespace, r.labels())
	default:
		return a.update(ctx, r)
	}
}

// takeOverName renames the app for this and later deployments.
func (a *App) takeOverName(ctx context.Context, name string, r Request) (*App, error) {
	if r.DryRun {
		a.Name = name
		return a, nil
	}
	return a, a.move(ctx, name, a.Namespace, r.labels())
}

// update writes the labels and the name of a record that exists.
func (a *App) update(ctx context.Context, r Request) error {
	labelled := a.stored.DeepCopy()
	if err := mergeLabels(labelled, r.labels()); err != nil || r.DryRun {
		return err
	}
	if a.store.FullNames && !a.migrated() {
		return a.move(ctx, a.Name, a.Namespace, r.labels())
	}
	if err := a.save(ctx, nil, r.labels()); err != nil {
		return err
	}
	return a.deleteDuplicate(ctx)
}

// create writes the record of a new app. If others have created it first, theirs is used.
func (a *App) create(ctx context.Context, r Request) error {
	m := a.Meta
	if !a.IsNew {
		m = Meta{
			LabelKey:   resource.LabelApp,
			LabelValue: cmp.Or(r.LabelValue, strconv.FormatInt(a.store.Now().UTC().UnixNano(), 10)),
			UsedGKs:    &[]schema.GroupKind{},
		}
	}
	planned := a.IsNew
	record := newRecord(a.Name, a.Namespace, a.store.FullNames)
	annotate(record, map[string]string{resource.AnnChangesUseLabel: ""})
	if r.ObjectLabels {
		annotate(record, map[string]string{annLabels: labelsOfObjects})
	}
	record.Object["data"] = map[string]any{"spec": m.JSON()}
	if err := mergeLabels(record, r.labels()); err != nil {
		return err
	}
	a.IsNew, a.Meta, a.used, a.objectLabels = true, m, m.used(), r.ObjectLabels
	if r.DryRun {
		return nil
	}
	stored, err := a.store.Cluster.Write(ctx,
		cluster.Write{Object: record, Method: cluster.Create, Manager: a.store.Manager})
	if apierrors.IsAlreadyExists(err) && planned {
		return a.createdByOther()
	}
	if apierrors.IsAlreadyExists(err) {
		other, err := a.store.Find(ctx, a.Name, a.Namespace)
		if err != nil {
			return err
		}
		if other.Exists() {
			*a = *other
			return a.update(ctx, r)
		}
	}
	if err != nil {
		return fmt.Errorf("Creating app: %w", err)
	}
	if recordText(stored) != m.JSON() { // a lost answer: the record belongs to others
		return a.createdByOther()
	}
	a.setRecord(stored, m)
	return nil
}

// RecordCreatedError reports that another run has created the record of an app.
type RecordCreatedError struct{ name, namespace string }

// Error returns the text under kapp's grammar.
func (e *RecordCreatedError) Error() string {
	return fmt.Sprintf("App '%s' (namespace: %s) was created by another run meanwhile: run the "+
		"command again", e.name, e.namespace)
}

// createdByOther returns the error for an app that another run has created.
func (a *App) createdByOther() error { return &RecordCreatedError{a.Name, a.Namespace} }
