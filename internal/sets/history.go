package sets

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// RenamedError reports a set that has another name, or its record another namespace, now.
type RenamedError struct {
	Title, Namespace string
	Now              Listed
}

func (e *RenamedError) Error() string {
	return fmt.Sprintf("%s in namespace %s was renamed: use %s %s -n %s", e.Title, e.Namespace,
		formatOfKind(e.Now.Kind).flag, e.Now.Name, e.Now.Namespace)
}

// OpenHistory returns the history of a set. That of a set which was destroyed is found by the name
// of its record. A set without a record and without a history is an error, and so is one that was
// renamed, a *RenamedError.
func OpenHistory(ctx context.Context, c cluster.Writer, set Set) (*history.Store, error) {
	found, err := set.History(ctx, c)
	if err != nil {
		return nil, err
	}
	s := storeOf(c, found)
	if found.ID == "" {
		err = resolve(ctx, c, s, set.Title())
	}
	if err == nil && s.Set.ID == "" {
		_, err = set.Targets(ctx, c) // there is no record
	}
	return s, err
}

// FindHistory returns the history of a request for the record of a package. The record may be gone;
// then the package is found by what its revisions say. The error is a *RenamedError if the package
// was renamed.
func FindHistory(ctx context.Context, c cluster.Writer, r Request) (*history.Store, error) {
	set, unfound := Find(ctx, c, r)
	if unfound == nil {
		return OpenHistory(ctx, c, set)
	}
	if !errors.As(unfound, new(*packages.NoRecordError)) {
		return nil, unfound
	}
	for _, kind := range []schema.GroupKind{
		inventory.ResourceGroupKind.GroupKind(), {Kind: "ConfigMap"},
	} {
		record := object.Ref{Group: kind.Group, Kind: kind.Kind, Name: r.Record}
		s := storeOf(c, history.Set{
			Namespace: r.Namespace, Name: r.Record, Record: record.Short(),
		})
		if err := resolve(ctx, c, s, fmt.Sprintf("package %q", r.Record)); err != nil {
			return nil, err
		}
		if s.Set.ID != "" {
			return s, nil
		}
	}
	return nil, unfound
}

// resolve sets the ID of a set whose record does not exist any more. The error is a *RenamedError
// if another record has that ID.
func resolve(ctx context.Context, c cluster.Writer, s *history.Store, title string) error {
	if err := s.Resolve(ctx); err != nil || s.Set.ID == "" {
		return err
	}
	// Who may not list records sees the history, as of a set that was destroyed.
	if now, _ := recordOf(ctx, c, s.Set.Namespace, s.Set.ID); now != nil {
		return &RenamedError{title, s.Set.Namespace, *now}
	}
	return nil
}

// storeOf returns the history of a set, which does not delete what a renamed set has left.
func storeOf(c cluster.Writer, set history.Set) *history.Store {
	return &history.Store{
		Cluster: c, Set: set, Exists: func(ctx context.Context, id string) (bool, error) {
			now, err := recordOf(ctx, c, set.Namespace, id)
			return now != nil, err
		},
	}
}

// recordOf returns the set whose record has an ID; nil if there is none. It looks in all
// namespaces, or in one if the user may not list the others.
func recordOf(ctx context.Context, c cluster.Writer, namespace, id string) (*Listed, error) {
	all, err := List(ctx, c, "")
	if err != nil && apierrors.IsForbidden(err) {
		all, err = List(ctx, c, namespace)
	}
	for i := range all {
		_, label, _ := strings.Cut(all[i].Identity, "=") // of an app
		if all[i].Identity == id || label == id || all[i].Labels[app.LabelHistory] == id {
			return &all[i], nil
		}
	}
	return nil, err
}
