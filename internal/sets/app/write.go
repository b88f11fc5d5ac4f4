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

// save writes the record with the edited Meta and more labels; it sends nothing if the record is
// unchanged. After a conflict it edits the stored record, and keeps the kinds of both: too many
// kinds cost a request, but with too few the objects of others could not be found.
func (a *App) save(ctx context.Context, edit func(*Meta), more map[string]string) error {
	if a.stored == nil {
		return fmt.Errorf("Updating app: %w", apierrors.NewNotFound(configMaps, a.Name))
	}
	var m Meta
	var record *unstructured.Unstructured
	return cluster.RetryOnConflict(func() (err error) {
		if m, record, err = a.edited(edit, more); err != nil || sameRecord(record, a.stored) {
			return err
		}
		stored, err := a.store.replace(ctx, record)
		switch {
		case apierrors.IsNotFound(err):
			return a.deletedError(fmt.Errorf("Updating app: %w", err))
		case err != nil:
			return fmt.Errorf("Updating app: %w", err)
		}
		a.setRecord(stored, m)
		return nil
	}, func(error) error { return a.reread(ctx, record, m) }, nil)
}

// edited returns the edited Meta with the kinds of AddKinds, and the record with that and more
// labels.
func (a *App) edited(
	edit func(*Meta), more map[string]string,
) (Meta, *unstructured.Unstructured, error) {
	m := a.Meta
	m.setUsed(a.used)
	record := a.stored.DeepCopy()
	if edit != nil {
		edit(&m)
		if err := setMembersText(record, a.members); err != nil {
			return m, nil, fmt.Errorf("Updating app: %w", err)
		}
	}
	if err := mergeLabels(record, more); err != nil {
		return m, nil, err
	}
	if text := m.JSON(); text != a.Meta.JSON() { // other versions of kapp differ in form
		if err := setRecordText(record, text); err != nil {
			return m, nil, fmt.Errorf("Updating app: %w", err)
		}
	}
	return m, record, nil
}

// replace writes a record that was read.
func (s *Store) replace(
	ctx context.Context, record *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	return s.Cluster.Write(
		ctx, cluster.Write{Object: record, Method: cluster.Replace, Manager: s.Manager},
	)
}

// reread reads the record for the next attempt to write.
func (a *App) reread(ctx context.Context, sent *unstructured.Unstructured, m Meta) error {
	found, err := a.store.read(ctx, sent.GetNamespace(), sent.GetName())
	if err != nil {
		return fmt.Errorf("Getting app: %w", err)
	}
	if found == nil {
		return a.deletedError(
			fmt.Errorf("Getting app: %w", apierrors.NewNotFound(configMaps, sent.GetName())),
		)
	}
	if sameRecord(found, sent) { // written, but the answer was lost
		a.setRecord(found, m)
		return nil
	}
	theirs, err := a.parse(found)
	if err != nil {
		return err
	}
	if theirs.LabelValue != m.LabelValue {
		return &RecordDeletedError{
			Recreated: true,
			cause: fmt.Errorf(
				"App '%s' (namespace: %s) was deleted and created again meanwhile, "+
					"so that its record is not of this run: run the command again",
				a.Name,
				a.Namespace,
			),
		}
	}
	ours, before := a.used, a.stored
	known, _ := a.Members()
	a.setRecord(found, theirs)
	a.used = ours.union(a.used)
	if !sameRecord(before, found) {
		a.mergeMembers(known)
	}
	return nil
}

// sameRecord reports whether two records have the same content and labels.
func sameRecord(a, b *unstructured.Unstructured) bool {
	return recordText(a) == recordText(b) && membersText(a) == membersText(b) &&
		maps.Equal(a.GetLabels(), b.GetLabels())
}

// recordText returns the text of a record.
func recordText(record *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(record.Object, "data", "spec")
	return text
}

func setRecordText(record *unstructured.Unstructured, text string) error {
	return unstructured.SetNestedField(record.Object, text, "data", "spec")
}

// deleteRecord deletes a ConfigMap as it was read, if it exists; nil is ignored.
func (s *Store) deleteRecord(ctx context.Context, obj *unstructured.Unstructured) error {
	if obj == nil {
		return nil
	}
	_, err := s.Cluster.Delete(ctx, cluster.Delete{Ref: object.RefOf(obj), UID: obj.GetUID()})
	return err
}

// deleteUnchanged deletes a ConfigMap if nobody has written it since it was read; nil is ignored.
func (s *Store) deleteUnchanged(ctx context.Context, obj *unstructured.Unstructured) error {
	if obj == nil {
		return nil
	}
	_, err := s.Cluster.Delete(ctx, deletion(obj))
	return err
}

// deletion returns the request that deletes an object if nobody has written it since it was read.
func deletion(obj *unstructured.Unstructured) cluster.Delete {
	return cluster.Delete{
		Ref: object.RefOf(obj), UID: obj.GetUID(), Version: obj.GetResourceVersion(),
	}
}

// TryDelete returns the error that Delete would have if the cluster refuses to delete the record,
// by a dry run. A record that others have written is no error yet.
func (a *App) TryDelete(ctx context.Context) error {
	if a.stored == nil {
		return nil
	}
	tried := deletion(a.stored)
	tried.DryRun = true
	if _, err := a.store.Cluster.Delete(ctx, tried); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("Deleting app: %w", err)
	}
	return nil
}

// RecordChangedError reports that another run has changed the record of an app that was to be
// deleted.
type RecordChangedError struct {
	record   *unstructured.Unstructured
	conflict error
}

// Error returns the text under kapp's grammar.
func (e *RecordChangedError) Error() string {
	return "another run has changed the app meanwhile, so that it is kept (hint: run the command " +
		"again): " + e.conflict.Error()
}

// Unwrap returns the answer of the server.
func (e *RecordChangedError) Unwrap() error { return e.conflict }

// deleteUnused deletes the record unless another run has begun since it was written: the objects of
// that run could not be found any more.
func (a *App) deleteUnused(ctx context.Context) error {
	record := a.stored
	return cluster.RetryOnConflict(func() error {
		return a.store.deleteUnchanged(ctx, record)
	}, func(conflict error) (err error) {
		record, err = a.readUnchanged(ctx, conflict)
		return err
	}, nil)
}

// readUnchanged reads the record, and returns nil if there is none. One with which another run has
// begun since it was written is a *RecordChangedError with the given conflict.
func (a *App) readUnchanged(
	ctx context.Context, conflict error,
) (*unstructured.Unstructured, error) {
	if a.stored == nil {
		return nil, nil
	}
	found, err := a.store.read(ctx, a.stored.GetNamespace(), a.stored.GetName())
	if err != nil || found == nil {
		return nil, err
	}
	if found.GetUID() != a.stored.GetUID() || recordText(found) != recordText(a.stored) {
		return nil, &RecordChangedError{found, conflict}
	}
	return found, nil
}

// deleteDuplicate finishes a migration that was interrupted.
func (a *App) deleteDuplicate(ctx context.Context) error {
	if err := a.deleteReplaced(ctx, a.duplicate); err != nil {
		return err
	}
	a.duplicate = nil
	return nil
}

// Delete deletes the records of deployments, then that of the app. Its objects must be gone,
// because nothing finds them afterwards. An app with only a selector has nothing to delete.
func (a *App) Delete(ctx context.Context) error {
	if a.stored == nil {
		return nil
	}
	records, err := a.deploymentRecords(ctx)
	if err != nil {
		return fmt.Errorf("Deleting app changes: %w", err)
	}
	if err := a.DeleteRecords(ctx, records); err != nil {
		return fmt.Errorf("Deleting app changes: %w", err)
	}
	if err := a.deleteDuplicate(ctx); err != nil {
		return err
	}
	if err := a.deleteUnused(ctx); err != nil {
		return fmt.Errorf("Deleting app: %w", err)
	}
	a.stored = nil
	return nil
}
