package sets

import (
	"context"
	"fmt"
	"time"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/packages"
)

// AppCluster is what use cases of apps need of a cluster.
type AppCluster interface {
	Cluster
	apps.Cluster
}

// AppTargets returns the objects of an app in the cluster without those that controllers created.
// Notes about kinds that cannot be listed go to notice.
func AppTargets(
	ctx context.Context, c AppCluster, name apps.Name, now func() time.Time, notice func(string),
) (*packages.StatusTargets, error) {
	client := &apps.Client{
		Cluster: c, Namespace: name.Namespace, Printer: noteLines(notice), Now: now,
		Records: &app.Store{Cluster: c, Now: now},
	}
	found, err := client.PrepareObserve(ctx, apps.ObserveRequest{App: name})
	if err != nil {
		return nil, err
	}
	return packages.NewStatusTargets(found.App.RecordRef(), found.Refs), nil
}

// RecordTargets returns the objects of the package whose record has a name in a namespace.
func RecordTargets(
	ctx context.Context, c Cluster, namespace, name string,
) (*packages.StatusTargets, error) {
	records, err := packages.List(ctx, c, namespace)
	for _, r := range records {
		switch {
		case r.Inventory.Ref.Name != name:
		case r.Err != nil:
			return nil, r.Err
		default:
			return packages.NewStatusTargets(r.Inventory.Ref, r.State.Refs()), nil
		}
	}
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("there is no record of a package with the name %q in namespace %s; "+
		"muster list -A shows all", name, namespace)
}

// noteLines passes the notes of use cases to the user, and prints nothing else.
type noteLines func(string)

// Line prints nothing.
func (noteLines) Line(string) {}

// Info passes a note to the user.
func (n noteLines) Info(text string, _ ...string) { n("Note: " + text) }

// Debug prints nothing.
func (noteLines) Debug(string, ...string) {}
