package app

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
)

// RecordDeletedError reports that the record of an app could not be written because others have
// deleted it.
type RecordDeletedError struct {
	Recreated bool // there is a new app of the name, whose objects have another label
	cause     error
}

// Error returns the text of the cause.
func (e *RecordDeletedError) Error() string { return e.cause.Error() }

// Unwrap returns the cause, which may be an answer of the server.
func (e *RecordDeletedError) Unwrap() error { return e.cause }

// deletedError returns the error for a record that is gone.
func (a *App) deletedError(cause error) error {
	return &RecordDeletedError{
		cause: fmt.Errorf(
			"App '%s' (namespace: %s) was deleted by another run meanwhile: run the command again: %w",
			a.Name,
			a.Namespace,
			cause,
		),
	}
}

// Restore creates the record again that was deleted during a deployment, and marks the deployment
// as failed. The objects of the app are found by it as before. It returns a *RecordDeletedError if
// there is a new app of the name.
func (a *App) Restore(ctx context.Context, namespaces []string) error {
	m := a.Meta
	m.setUsed(a.used)
	m.LastDeploymentName, m.LastDeployment = "", ended(m.LastDeployment, a.store.Now(),
		false) // the records of changes went with it
	m.LastDeployment.Namespaces = sortedNames(namespaces)
	record := newRecord("", a.Namespace, false)
	record.SetName(a.stored.GetName())
	record.SetLabels(a.stored.GetLabels())
	record.SetAnnotations(a.stored.GetAnnotations())
	record.Object["data"] = map[string]any{"spec": m.JSON()}
	if err := setMembersText(record, a.members); err != nil {
		return err
	}
	stored, err := a.store.Cluster.Write(ctx,
		cluster.Write{Object: record, Method: cluster.Create, Manager: a.store.Manager})
	switch {
	case err == nil && recordText(stored) == m.JSON():
		a.running = nil
		a.setRecord(stored, m)
		return nil
	case err == nil || apierrors.IsAlreadyExists(err):
		return &RecordDeletedError{Recreated: true, cause: a.createdByOther()}
	}
	return fmt.Errorf("Creating app: %w", err)
}
