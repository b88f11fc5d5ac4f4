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
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// RecordedDeployment is a deployment that has a record of its own.
type RecordedDeployment struct {
	Name    string
	Created time.Time
	DeploymentRecord

	record *unstructured.Unstructured
}

// Begin records that a deployment begins. It is called before the first object is written, and also
// writes the kinds of AddKinds: they and the namespaces must cover existing and future objects.
// With keep the deployment gets a record of its own.
func (a *App) Begin(ctx context.Context, description string, namespaces []string, keep bool) error {
	if a.IsLabelled() {
		return nil
	}
	change := DeploymentRecord{
		StartedAt: a.store.Now().UTC(), Description: description, Namespaces: sortedNames(namespaces),
	}
	a.running = nil
	if !keep {
		return a.saveDeployment(ctx, "", change)
	}
	record := a.newDeploymentRecord(change)
	var created, noted error
	runBoth(func() {
		a.running, created = a.store.Cluster.Write(ctx,
			cluster.Write{Object: record, Method: cluster.Create, Manager: a.store.Manager})
	}, func() {
		noted = a.saveDeployment(ctx, record.GetName(), change)
	})
	if created != nil {
		a.running, created = nil, fmt.Errorf("Creating app change: %w", created)
	}
	if lost := (*RecordDeletedError)(nil); errors.As(noted, &lost) {
		return errors.Join(noted, a.store.deleteRecord(ctx, a.running)) // nothing would find it
	}
	if noted != nil && created == nil {
		return errors.Join(noted, a.finishDeployment(ctx, ended(change, a.store.Now(), false)))
	}
	return errors.Join(created, noted)
}

// Finish records the end of the running deployment, with the kinds of SetKinds and the namespaces
// of the remaining objects.
func (a *App) Finish(ctx context.Context, successful bool, namespaces []string) error {
	if a.IsLabelled() {
		return nil
	}
	change := ended(a.Meta.LastDeployment, a.store.Now(), successful)
	change.Namespaces = sortedNames(namespaces)
	return a.record(ctx, change)
}

// Interrupted records that the running deployment was interrupted: it has no end.
func (a *App) Interrupted(ctx context.Context) error {
	if a.IsLabelled() {
		return nil
	}
	change := a.Meta.LastDeployment
	change.Description += "; interrupted"
	return a.record(ctx, change)
}

// record writes the state of the running deployment.
func (a *App) record(ctx context.Context, change DeploymentRecord) error {
	name := a.Meta.LastDeploymentName
	var changed, noted error
	runBoth(func() {
		changed = a.finishDeployment(ctx, change)
	}, func() {
		noted = a.saveDeployment(ctx, name, change)
	})
	return errors.Join(changed, noted)
}

// CloseLast records that the last deployment failed, if the record that it has of its own says
// nothing of its end: its run was killed.
func (a *App) CloseLast(ctx context.Context) error {
	last := a.Meta.LastDeployment
	if a.Meta.LastDeploymentName == "" || !last.FinishedAt.IsZero() {
		return nil
	}
	found, err := a.store.read(ctx, a.Namespace, a.Meta.LastDeploymentName)
	if err != nil || found == nil {
		return err
	}
	if !cluster.LabelSelector(a.deploymentLabels()).Matches(labels.Set(found.GetLabels())) {
		return nil // another ConfigMap has the name
	}
	a.running = found
	return a.finishDeployment(ctx, ended(last, a.store.Now(), false))
}

// sortedNames returns names in the order of the format, each once.
func sortedNames(names []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(names)))
}

// runBoth sends two requests at once and waits for both. A failure does not cancel the other one.
func runBoth(one, other func()) {
	var running sync.WaitGroup
	running.Go(one)
	other()
	running.Wait()
}

// ended returns the record of a deployment that has ended.
func ended(c DeploymentRecord, now time.Time, successful bool) DeploymentRecord {
	c.FinishedAt, c.Successful = now.UTC(), &successful
	return c
}

// saveDeployment writes the last deployment and the kinds to the app's record.
func (a *App) saveDeployment(ctx context.Context, name string, change DeploymentRecord) error {
	return a.save(ctx, func(m *Meta) { m.LastDeploymentName, m.LastDeployment = name, change }, nil)
}

// Servers generate names like this. The client does it here so that the app's record can name it at
// the same time, and so that the request can be repeated if its answer is lost.
const (
	maxGenerated = 58
	randomLength = 5
)

// newDeploymentRecord returns the first content of the record of a deployment.
func (a *App) newDeploymentRecord(change DeploymentRecord) *unstructured.Unstructured {
	base := a.Name + "-change-"
	base = base[:min(len(base), maxGenerated)]
	labels := map[string]any{
		resource.LabelIsAppChange:      "",
		resource.LabelAppChangeByLabel: a.Meta.LabelValue,
	}
	if len(a.Name) <= maxLabelValue {
		labels[resource.LabelAppChangeApp] = a.Name
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": configMap.Kind,
		"metadata": map[string]any{
			"name": base + rand.String(
				randomLength,
			), "generateName": base, "namespace": a.Namespace, "labels": labels,
		},
		"data": map[string]any{"spec": change.JSON()},
	}}
}

// finishDeployment writes the end of the running deployment to its record, if it has one.
func (a *App) finishDeployment(ctx context.Context, change DeploymentRecord) error {
	if a.running == nil {
		return nil
	}
	return cluster.RetryOnConflict(func() error {
		record := a.running.DeepCopy()
		err := setRecordText(record, change.JSON())
		if err == nil {
			record, err = a.store.replace(ctx, record)
		}
		if err != nil {
			return fmt.Errorf("Updating app change: %w", err)
		}
		a.running = record
		return nil
	}, func(error) error {
		name := a.running.GetName()
		found, err := a.store.read(ctx, a.running.GetNamespace(), name)
		if err == nil && found == nil {
			err = apierrors.NewNotFound(configMaps, name)
		}
		if err != nil {
			return fmt.Errorf("Getting app change: %w", err)
		}
		a.running = found
		return nil
	}, nil)
}

// RecordedDeployments returns the deployments that have records, the oldest first.
func (a *App) RecordedDeployments(ctx context.Context) ([]RecordedDeployment, error) {
	records, err := a.deploymentRecords(ctx)
	if err != nil {
		return nil, fmt.Errorf("Listing app changes: %w", err)
	}
	for i, r := range records {
		if records[i].DeploymentRecord, err = parseDeployment(recordText(r.record)); err != nil {
			return nil, fmt.Errorf(
				"App change '%s' (namespace: %s) did not contain parseable app change metadata: %w "+
					"(hint: ConfigMap was overriden by another user? It can be deleted without harm)",
				r.Name,
				a.Namespace,
				err,
			)
		}
	}
	return records, nil
}

// deploymentRecords returns the records of deployments, the oldest first. Their content is used
// only to order those created within the same second.
func (a *App) deploymentRecords(ctx context.Context) ([]RecordedDeployment, error) {
	if a.stored == nil {
		return nil, nil
	}
	found, err := a.store.Cluster.List(ctx, configMap, a.Namespace, a.deploymentLabels())
	if err != nil {
		return nil, err
	}
	records := make([]RecordedDeployment, len(found))
	for i, obj := range found {
		records[i] = RecordedDeployment{
			Name:    obj.GetName(),
			Created: obj.GetCreationTimestamp().Time,
			record:  obj,
		}
		records[i].DeploymentRecord, _ = parseDeployment(recordText(obj))
	}
	slices.SortStableFunc(records, func(a, b RecordedDeployment) int {
		return cmp.Or(a.Created.Compare(b.Created), a.StartedAt.Compare(b.StartedAt),
			cmp.Compare(a.Name, b.Name))
	})
	return records, nil
}

// Oldest returns the deployments to delete so that keep are left.
func Oldest(changes []RecordedDeployment, keep int) []RecordedDeployment {
	return changes[:max(0, len(changes)-max(0, keep))]
}

// DeleteRecords deletes the records of deployments, and tries all of them. NotFound is no error.
func (a *App) DeleteRecords(ctx context.Context, changes []RecordedDeployment) error {
	errs := make([]error, len(changes))
	var group errgroup.Group
	group.SetLimit(dropConcurrency)
	for i, change := range changes {
		group.Go(func() error {
			errs[i] = a.store.deleteRecord(ctx, change.record)
			return nil
		})
	}
	_ = group.Wait() // each has its own place for its error
	return errors.Join(errs...)
}

// dropConcurrency is how many records are deleted at once.
const dropConcurrency = 8

// TrimRecords deletes the records of the oldest deployments so that at most keep are left.
func (a *App) TrimRecords(ctx context.Context, keep int) (deleted, kept int, err error) {
	records, err := a.deploymentRecords(ctx)
	if err != nil {
		return 0, 0, fmt.Errorf("Listing app changes: %w", err)
	}
	old := Oldest(records, keep)
	if err := a.DeleteRecords(ctx, old); err != nil {
		return 0, len(records), fmt.Errorf("Deleting app changes: %w", err)
	}
	return len(old), len(records) - len(old), nil
}
