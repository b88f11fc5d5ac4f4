package app

import (
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// attempts is how often a record is written that others write at the same time.
const attempts = 10

// save writes the record with what edit, if any, makes of its Meta, and with more labels; nothing is sent if that is what is
// stored. If somebody else wrote it meanwhile, theirs is taken as the base, and the kinds of both are kept: a record may name
// too many kinds, which costs a request, but never too few, since the objects of others would not be found any more.
func (a *App) save(ctx context.Context, edit func(*Meta), more map[string]string) error {
	if a.stored == nil {
		return fmt.Errorf("Updating app: %w", apierrors.NewNotFound(configMaps, a.Name))
	}
	var refused error
	for range attempts {
		m := a.Meta
		m.setUsed(a.used)
		if edit != nil {
			edit(&m)
		}
		record := a.stored.DeepCopy()
		if err := merge(record, more); err != nil {
			return err
		}
		if text := m.JSON(); text != a.Meta.JSON() { // other versions of kapp write the same in other words
			if err := unstructured.SetNestedField(record.Object, text, "data", "spec"); err != nil {
				return fmt.Errorf("Updating app: %w", err)
			}
		}
		if sameRecord(record, a.stored) {
			return nil
		}
		stored, err := a.store.Cluster.Write(ctx, cluster.Write{Object: record, Method: cluster.Replace, Manager: a.store.Manager})
		if err == nil {
			a.take(stored, m)
			return nil
		}
		switch {
		case apierrors.IsNotFound(err):
			return a.lost(fmt.Errorf("Updating app: %w", err))
		case !apierrors.IsConflict(err):
			return fmt.Errorf("Updating app: %w", err)
		}
		refused = err
		if err := a.again(ctx, record, m); err != nil {
			return err
		}
	}
	return fmt.Errorf("Updating app: %w", refused)
}

// again takes the record that is stored now as the base of the next attempt to write ours.
func (a *App) again(ctx context.Context, sent *unstructured.Unstructured, m Meta) error {
	found, err := a.store.read(ctx, sent.GetNamespace(), sent.GetName())
	if err != nil {
		return fmt.Errorf("Getting app: %w", err)
	}
	if found == nil {
		return a.lost(fmt.Errorf("Getting app: %w", apierrors.NewNotFound(configMaps, sent.GetName())))
	}
	if sameRecord(found, sent) { // ours, the answer to which was lost
		a.take(found, m)
		return nil
	}
	theirs, err := a.parse(found)
	if err != nil {
		return err
	}
	if theirs.LabelValue != m.LabelValue {
		return &RecordDeletedError{Recreated: true, cause: fmt.Errorf("App '%s' (namespace: %s) was deleted and created anew meanwhile, so that its record is not of this run: "+
			"run the command again", a.Name, a.Namespace)}
	}
	ours := a.used
	a.take(found, theirs)
	a.used = ours.with(a.used)
	return nil
}

// sameRecord reports whether two records say the same.
func sameRecord(a, b *unstructured.Unstructured) bool {
	return said(a) == said(b) && maps.Equal(a.GetLabels(), b.GetLabels())
}

// said is the text of a record.
func said(record *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(record.Object, "data", "spec")
	return text
}

// drop deletes a ConfigMap as it was read, if it is still there; nil is ignored.
func (s *Store) drop(ctx context.Context, obj *unstructured.Unstructured) error {
	if obj == nil {
		return nil
	}
	_, err := s.Cluster.Delete(ctx, cluster.Delete{Ref: object.RefOf(obj), UID: obj.GetUID()})
	return err
}

// dropUnused deletes the record, unless another run has begun with the app since this one has written it: its objects could not be
// found any more.
func (a *App) dropUnused(ctx context.Context) error {
	var refused error
	for range attempts {
		_, err := a.store.Cluster.Delete(ctx, cluster.Delete{
			Ref: object.RefOf(a.stored), UID: a.stored.GetUID(), Version: a.stored.GetResourceVersion(),
		})
		if !apierrors.IsConflict(err) {
			return err
		}
		refused = err
		found, err := a.store.read(ctx, a.stored.GetNamespace(), a.stored.GetName())
		switch {
		case err != nil || found == nil:
			return err
		case found.GetUID() != a.stored.GetUID() || said(found) != said(a.stored):
			return fmt.Errorf("another run has changed the app meanwhile, so that it is kept (hint: run the command again): %w", refused)
		}
		a.stored = found
	}
	return refused
}

// dropTwin ends a migration that was interrupted.
func (a *App) dropTwin(ctx context.Context) error {
	if err := a.replaces(ctx, a.twin); err != nil {
		return err
	}
	a.twin = nil
	return nil
}

// Delete deletes the records of the app's changes and then its own. Its objects must be gone by then: nothing finds them any
// more. An app that is given by labels has nothing to delete.
func (a *App) Delete(ctx context.Context) error {
	if a.stored == nil {
		return nil
	}
	records, err := a.changeRecords(ctx)
	if err != nil {
		return fmt.Errorf("Deleting app changes: %w", err)
	}
	if err := a.DeleteRecords(ctx, records); err != nil {
		return fmt.Errorf("Deleting app changes: %w", err)
	}
	if err := a.dropTwin(ctx); err != nil {
		return err
	}
	if err := a.dropUnused(ctx); err != nil {
		return fmt.Errorf("Deleting app: %w", err)
	}
	a.stored = nil
	return nil
}
