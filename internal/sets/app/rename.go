package app

import (
	"context"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Rename renames the record or moves it to another namespace. Objects keep their labels. The
// records of deployments go along if changes is set, else they stay where they are. An interrupted
// call can be repeated.
func (a *App) Rename(ctx context.Context, name, namespace string, changes bool) error {
	if a.IsLabelled() {
		return errors.New("Not supported")
	}
	target, err := a.store.Find(ctx, name, namespace)
	if err != nil {
		return err
	}
	if target.IsLabelled() {
		return fmt.Errorf("Expected new app name to be the name of an app, but was '%s'", name)
	}
	if err := checkName(target.Name); err != nil {
		return err
	}
	if target.Exists() && !a.canMoveTo(target) {
		return fmt.Errorf("Creating app: %w",
			apierrors.NewAlreadyExists(configMaps, target.stored.GetName()))
	}
	var records []RecordedDeployment
	if changes {
		if records, err = a.deploymentRecords(ctx); err != nil {
			return fmt.Errorf("Listing app changes: %w", err)
		}
	}
	return a.move(ctx, target.Name, namespace, nil, records...)
}

// canMoveTo reports whether an existing record is no obstacle: it was left by an interrupted move
// of this one, or is this one, which still has to get its full name.
func (a *App) canMoveTo(target *App) bool {
	if object.RefOf(target.stored) == object.RefOf(a.stored) {
		return a.store.FullNames && !a.migrated()
	}
	return target.Meta.LabelValue == a.Meta.LabelValue
}

var configMaps = schema.GroupResource{Resource: "configmaps"}

// newRecord returns an empty record of an app under its plain or its full name.
func newRecord(name, namespace string, full bool) *unstructured.Unstructured {
	record := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": configMap.Kind,
		"metadata": map[string]any{
			"name":      name,
			"namespace": namespace,
			"labels":    map[string]any{resource.LabelIsApp: ""},
		},
	}}
	if full {
		record.SetName(name + suffix)
		annotate(record, map[string]string{resource.AnnMigrated: ""})
	}
	return record
}

// annotate adds annotations to a record.
func annotate(record *unstructured.Unstructured, more map[string]string) {
	all := record.GetAnnotations()
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	record.SetAnnotations(all)
}

// move writes the record under another name, moves records of deployments, and then deletes the
// present record: it is never lost, and leads to what is left to move.
func (a *App) move(
	ctx context.Context, name, namespace string, more map[string]string,
	changes ...RecordedDeployment,
) error {
	record := newRecord(name, namespace, a.migrated() || a.store.FullNames)
	if err := checkName(record.GetName()); err != nil {
		return err
	}
	annotate(record, a.stored.GetAnnotations())
	err := errors.Join(mergeLabels(record, a.stored.GetLabels()), mergeLabels(record, more))
	if err != nil {
		return err
	}
	record.Object["data"] = a.stored.DeepCopy().Object["data"]
	stored, err := a.store.Cluster.Write(ctx,
		cluster.Write{Object: record, Method: cluster.Create, Manager: a.store.Manager})
	if apierrors.IsAlreadyExists(err) {
		stored, err = a.continueMove(ctx, record, err)
	}
	if err != nil {
		return fmt.Errorf("Creating app: %w", err)
	}
	for _, change := range changes { // the oldest first, since they are listed by age
		if err := a.moveChange(ctx, change.record, name, namespace); err != nil {
			return fmt.Errorf("Moving app change '%s': %w", change.Name, err)
		}
	}
	left := []*unstructured.Unstructured{a.stored, a.duplicate}
	a.Name, a.Namespace, a.duplicate = name, namespace, nil
	a.setRecord(stored, a.Meta)
	for _, record := range left {
		if err := a.deleteReplaced(ctx, record); err != nil {
			return err
		}
	}
	return nil
}

// moveChange moves the record of a deployment, with its name, to another app name and namespace.
func (a *App) moveChange(
	ctx context.Context, record *unstructured.Unstructured, name, namespace string,
) error {
	labels := record.GetLabels()
	delete(labels, resource.LabelAppChangeApp)
	if len(name) <= maxLabelValue {
		labels[resource.LabelAppChangeApp] = name
	}
	switch {
	case namespace != record.GetNamespace():
	case maps.Equal(labels, record.GetLabels()):
		return nil
	default:
		renamed := record.DeepCopy()
		renamed.SetLabels(labels)
		_, err := a.store.replace(ctx, renamed)
		return err
	}
	moved := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": configMap.Kind, "data": record.DeepCopy().Object["data"],
	}}
	moved.SetName(record.GetName())
	moved.SetGenerateName(record.GetGenerateName())
	moved.SetNamespace(namespace)
	moved.SetLabels(labels)
	_, err := a.store.Cluster.Write(ctx,
		cluster.Write{Object: moved, Method: cluster.Create, Manager: a.store.Manager})
	if apierrors.IsAlreadyExists(err) {
		found, unread := a.store.read(ctx, namespace, moved.GetName())
		if unread == nil && found != nil && maps.Equal(found.GetLabels(), labels) {
			err = nil // an interrupted call has written it
		}
	}
	if err != nil {
		return err
	}
	return a.store.deleteRecord(ctx, record)
}

// deleteReplaced deletes a record, nil for none, that was replaced by the app's. Kinds that another
// run has added to it meanwhile are merged first.
func (a *App) deleteReplaced(ctx context.Context, record *unstructured.Unstructured) error {
	return cluster.RetryOnConflict(func() error {
		if err := a.store.deleteUnchanged(ctx, record); err != nil {
			return fmt.Errorf("Deleting app: %w", err)
		}
		return nil
	}, func(conflict error) (err error) {
		record, err = a.store.read(ctx, record.GetNamespace(), record.GetName())
		if err != nil || record == nil {
			return err
		}
		theirs, err := a.parse(record)
		if err != nil || theirs.LabelValue != a.Meta.LabelValue {
			return conflict // what has its name now is no record of this app
		}
		a.used = a.used.union(theirs.used())
		return a.save(ctx, nil, nil)
	}, nil)
}

// continueMove returns the record that an earlier attempt to move this one has written, updated. It
// keeps its kinds, since it may have been used meanwhile. Any other record is left alone.
func (a *App) continueMove(
	ctx context.Context, record *unstructured.Unstructured, exists error,
) (*unstructured.Unstructured, error) {
	found, err := a.store.read(ctx, record.GetNamespace(), record.GetName())
	if err != nil {
		return nil, err
	}
	if found == nil {
		return nil, exists
	}
	theirs, err := a.parse(found)
	if err != nil || theirs.LabelValue != a.Meta.LabelValue {
		return nil, exists
	}
	if sameRecord(found, record) {
		return found, nil
	}
	a.Meta.setUsed(a.Meta.used().union(theirs.used()))
	if err := setRecordText(record, a.Meta.JSON()); err != nil {
		return nil, err
	}
	record.SetResourceVersion(found.GetResourceVersion())
	return a.store.replace(ctx, record)
}

// Move renames the record of an app, or moves it to another namespace. Its objects do not change.
// With changes the change records go along.
func (c *Client) Move(ctx context.Context, target *App, to Name, changes bool) error {
	if target.IsLabelled() {
		return errors.New("Not supported")
	}
	if err := c.checkOwned(ctx, target); err != nil {
		return err
	}
	return target.Rename(ctx, to.Name, to.Namespace, changes)
}

// checkOwned returns an *object.OwnedError if an object of an app would be deleted with its record,
// since it has an owner reference to that. Objects that cannot be listed are not looked at.
func (c *Client) checkOwned(ctx context.Context, target *App) error {
	found, err := c.Objects(ctx, target, SearchOptions{RecordedKinds: true}, false,
		func(cluster.UnlistedKind) {})
	if err != nil {
		return err
	}
	record, holders := target.Holders()
	return object.CheckOwned(record, holders, found...)
}
