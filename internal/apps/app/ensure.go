package app

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
)

// Request asks for the app that is to be deployed.
type Request struct {
	Name, Namespace string
	PreviousName    string            // the name that the app may have had before; empty for none
	Labels          map[string]string // for the record; values that it has may not change
	Group           string            // the group of apps that it belongs to; empty for none
	DryRun          bool              // write nothing: the app that is given back is not to be written either
}

// labels are all those that the record is to have.
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

// Ensure gives the app of a name with a record that can be deployed against. It makes one if there is none, or renames that of
// the previous name, or gives it its full name where that is wanted. A record that is as it should be is not written.
func (s *Store) Ensure(ctx context.Context, r Request) (*App, error) {
	app, err := s.Find(ctx, r.Name, r.Namespace)
	if err != nil || app.IsLabelled() {
		return app, err
	}
	if app.Exists() {
		return app, app.update(ctx, r)
	}
	if err := impossible(app.Name); err != nil {
		return nil, err
	}
	if s.FullNames {
		if err := impossible(app.Name + suffix); err != nil {
			return nil, err
		}
	}
	if r.PreviousName != "" {
		prev, err := s.Find(ctx, r.PreviousName, r.Namespace)
		switch {
		case err != nil:
			return nil, err
		case prev.IsLabelled():
			return nil, fmt.Errorf("Expected previous app name to be the name of an app, but was '%s'", r.PreviousName)
		case prev.Exists():
			return prev.succeed(ctx, app.Name, r)
		}
	}
	return app, app.create(ctx, r)
}

// Commit writes what Ensure, with DryRun, has foreseen: the record of an app that is new, the name of one that had another, or
// labels. It sends nothing if the record is as it should be. That somebody else has made the app meanwhile is an error, since
// its objects get another label than was foreseen.
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

// succeed gives an app the name under which it is deployed from now on.
func (a *App) succeed(ctx context.Context, name string, r Request) (*App, error) {
	if r.DryRun {
		a.Name = name
		return a, nil
	}
	return a, a.move(ctx, name, a.Namespace, r.labels())
}

// update gives a record that exists its labels and the name that it should have.
func (a *App) update(ctx context.Context, r Request) error {
	labelled := a.stored.DeepCopy()
	if err := merge(labelled, r.labels()); err != nil || r.DryRun {
		return err
	}
	if a.store.FullNames && !a.migrated() {
		return a.move(ctx, a.Name, a.Namespace, r.labels())
	}
	if err := a.save(ctx, nil, r.labels()); err != nil {
		return err
	}
	return a.dropTwin(ctx)
}

// create makes the record of a new app. If somebody else was faster, theirs is used.
func (a *App) create(ctx context.Context, r Request) error {
	m := a.Meta
	if !a.IsNew {
		m = Meta{LabelKey: resource.LabelApp, LabelValue: strconv.FormatInt(a.store.Now().UTC().UnixNano(), 10), UsedGKs: &[]schema.GroupKind{}}
	}
	foreseen := a.IsNew
	record := newRecord(a.Name, a.Namespace, a.store.FullNames)
	annotate(record, map[string]string{resource.AnnChangesUseLabel: ""})
	record.Object["data"] = map[string]any{"spec": m.JSON()}
	if err := merge(record, r.labels()); err != nil {
		return err
	}
	a.IsNew, a.Meta, a.used = true, m, m.used()
	if r.DryRun {
		return nil
	}
	stored, err := a.store.Cluster.Write(ctx, cluster.Write{Object: record, Method: cluster.Create, Manager: a.store.Manager})
	if apierrors.IsAlreadyExists(err) && foreseen {
		return a.metAnother()
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
	if said(stored) != m.JSON() { // an answer was lost, and what was taken for ours is the record of somebody else
		return a.metAnother()
	}
	a.take(stored, m)
	return nil
}

// metAnother is the error of the creation of an app of which another run has made the record.
func (a *App) metAnother() error {
	return fmt.Errorf("App '%s' (namespace: %s) was created by another run meanwhile: run the command again", a.Name, a.Namespace)
}
