package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
)

// RecordedDeployment is a change of an app that has a record of its own.
type RecordedDeployment struct {
	Name    string
	Created time.Time
	DeploymentRecord

	record *unstructured.Unstructured
}

// Begin records that a change begins. It is called before the first object is written, and writes on the app's record also the
// kinds that Covers was told: they must cover the objects that there are as well as those that are to come, and so must the
// namespaces. With keep the change gets a record of its own.
func (a *App) Begin(ctx context.Context, description string, namespaces []string, keep bool) error {
	if a.IsLabelled() {
		return nil
	}
	change := DeploymentRecord{
		StartedAt: a.store.Now().UTC(), Description: description, Namespaces: sorted(namespaces),
	}
	a.running = nil
	if !keep {
		return a.note(ctx, "", change)
	}
	record := a.changeRecord(change)
	var created, noted error
	both(func() {
		a.running, created = a.store.Cluster.Write(ctx, cluster.Write{Object: record, Method: cluster.Create, Manager: a.store.Manager})
	}, func() {
		noted = a.note(ctx, record.GetName(), change)
	})
	if created != nil {
		a.running, created = nil, fmt.Errorf("Creating app change: %w", created)
	}
	if lost := (*RecordDeletedError)(nil); errors.As(noted, &lost) {
		return errors.Join(noted, a.store.drop(ctx, a.running)) // nothing would find it
	}
	if noted != nil && created == nil {
		return errors.Join(noted, a.finishChange(ctx, finished(change, a.store.Now(), false)))
	}
	return errors.Join(created, noted)
}

// Finish records how the change that has begun ended, and with it the kinds that Used was told and the namespaces of what is
// there now.
func (a *App) Finish(ctx context.Context, successful bool, namespaces []string) error {
	if a.IsLabelled() {
		return nil
	}
	change := finished(a.Meta.LastDeployment, a.store.Now(), successful)
	change.Namespaces = sorted(namespaces)
	name := a.Meta.LastDeploymentName
	var changed, noted error
	both(func() {
		changed = a.finishChange(ctx, change)
	}, func() {
		noted = a.note(ctx, name, change)
	})
	return errors.Join(changed, noted)
}

// sorted are names in the order of the format, each once.
func sorted(names []string) []string { return slices.Compact(slices.Sorted(slices.Values(names))) }

// both runs two requests at once and waits for both; neither is cancelled by the failure of the other.
func both(one, other func()) {
	var running sync.WaitGroup
	running.Go(one)
	other()
	running.Wait()
}

// finished is a change that has ended.
func finished(c DeploymentRecord, now time.Time, successful bool) DeploymentRecord {
	c.FinishedAt, c.Successful = now.UTC(), &successful
	return c
}

// note writes on the app's record which change was the last, and which kinds are used.
func (a *App) note(ctx context.Context, name string, change DeploymentRecord) error {
	return a.save(ctx, func(m *Meta) { m.LastDeploymentName, m.LastDeployment = name, change }, nil)
}

// The server makes names of generateName so; we do it ourselves, so that the name can be written on the app at the same time
// and the request can be sent again when its answer was lost.
const (
	maxGenerated = 58
	randomLength = 5
)

// changeRecord is the record of a change as it is first written.
func (a *App) changeRecord(change DeploymentRecord) *unstructured.Unstructured {
	base := a.Name + "-change-"
	base = base[:min(len(base), maxGenerated)]
	labels := map[string]any{resource.LabelIsAppChange: "", resource.LabelAppChangeByLabel: a.Meta.LabelValue}
	if len(a.Name) <= maxLabelValue {
		labels[resource.LabelAppChangeApp] = a.Name
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": configMap.Kind,
		"metadata": map[string]any{
			"name": base + rand.String(randomLength), "generateName": base, "namespace": a.Namespace, "labels": labels,
		},
		"data": map[string]any{"spec": change.JSON()},
	}}
}

// finishChange writes the end of the change that runs into its record, if it has one.
func (a *App) finishChange(ctx context.Context, change DeploymentRecord) error {
	if a.running == nil {
		return nil
	}
	var refused error
	for range attempts {
		record := a.running.DeepCopy()
		if err := unstructured.SetNestedField(record.Object, change.JSON(), "data", "spec"); err != nil {
			return fmt.Errorf("Updating app change: %w", err)
		}
		stored, err := a.store.Cluster.Write(ctx, cluster.Write{Object: record, Method: cluster.Replace, Manager: a.store.Manager})
		if err == nil {
			a.running = stored
			return nil
		}
		if refused = fmt.Errorf("Updating app change: %w", err); !apierrors.IsConflict(err) {
			return refused
		}
		found, err := a.store.read(ctx, record.GetNamespace(), record.GetName())
		if err != nil {
			return fmt.Errorf("Getting app change: %w", err)
		}
		if found == nil {
			return fmt.Errorf("Getting app change: %w", apierrors.NewNotFound(configMaps, record.GetName()))
		}
		a.running = found
	}
	return refused
}

// RecordedDeployments gives the changes of the app that have records, the oldest first.
func (a *App) RecordedDeployments(ctx context.Context) ([]RecordedDeployment, error) {
	records, err := a.changeRecords(ctx)
	if err != nil {
		return nil, fmt.Errorf("Listing app changes: %w", err)
	}
	for i, r := range records {
		if records[i].DeploymentRecord, err = parseChange(said(r.record)); err != nil {
			return nil, fmt.Errorf("App change '%s' (namespace: %s) did not contain parseable app change metadata: %w "+
				"(hint: ConfigMap was overriden by another user? It can be deleted without harm)", r.Name, a.Namespace, err)
		}
	}
	return records, nil
}

// changeRecords gives the records of the app's changes, the oldest first. What they say is not looked at, but for the order of
// those that were made within a second.
func (a *App) changeRecords(ctx context.Context) ([]RecordedDeployment, error) {
	if a.stored == nil {
		return nil, nil
	}
	found, err := a.store.Cluster.List(ctx, configMap, a.Namespace, a.changeLabels())
	if err != nil {
		return nil, err
	}
	records := make([]RecordedDeployment, len(found))
	for i, obj := range found {
		records[i] = RecordedDeployment{Name: obj.GetName(), Created: obj.GetCreationTimestamp().Time, record: obj}
		records[i].DeploymentRecord, _ = parseChange(said(obj))
	}
	slices.SortStableFunc(records, func(a, b RecordedDeployment) int {
		return cmp.Or(a.Created.Compare(b.Created), a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.Name, b.Name))
	})
	return records, nil
}

// Oldest gives those of the changes that are too many if only so many are kept.
func Oldest(changes []RecordedDeployment, keep int) []RecordedDeployment {
	return changes[:max(0, len(changes)-max(0, keep))]
}

// DeleteRecords deletes the records of changes, all of which are tried. Those that are gone already are no error.
func (a *App) DeleteRecords(ctx context.Context, changes []RecordedDeployment) error {
	errs := make([]error, len(changes))
	var group errgroup.Group
	group.SetLimit(dropConcurrency)
	for i, change := range changes {
		group.Go(func() error {
			errs[i] = a.store.drop(ctx, change.record)
			return nil
		})
	}
	_ = group.Wait() // each has its own place for its error
	return errors.Join(errs...)
}

// dropConcurrency is how many records are deleted at once.
const dropConcurrency = 8

// TrimRecords deletes the records of the oldest changes so that at most this many are left.
func (a *App) TrimRecords(ctx context.Context, keep int) (deleted, kept int, err error) {
	records, err := a.changeRecords(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("Listing app changes: %w", err)
	}
	old := Oldest(records, keep)
	if err := a.DeleteRecords(ctx, old); err != nil {
		return 0, len(records), fmt.Errorf("Deleting app changes: %w", err)
	}
	return len(old), len(records) - len(old), nil
}
