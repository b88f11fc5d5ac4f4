package app

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/cluster"
)

// RecordDeletedError says that the record of an app, which was there, could not be written because somebody has deleted it.
type RecordDeletedError struct {
	Recreated bool // another app of the name has been made since, whose objects carry another label
	cause     error
}

func (e *RecordDeletedError) Error() string { return e.cause.Error() }

// Unwrap gives what the server answered, if it was the server.
func (e *RecordDeletedError) Unwrap() error { return e.cause }

// lost is the error of a record that is gone.
func (a *App) lost(cause error) error {
	return &RecordDeletedError{cause: fmt.Errorf("App '%s' (namespace: %s) was deleted by another run meanwhile: run the command again: %w", a.Name, a.Namespace, cause)}
}

// Restore makes the record of an app anew that was lost during a change, and says that the change failed. The objects of the app are
// found by it as before. It is a *LostError if there is an app of the name by now.
func (a *App) Restore(ctx context.Context, namespaces []string) error {
	m := a.Meta
	m.setUsed(a.used)
	m.LastDeploymentName, m.LastDeployment = "", finished(m.LastDeployment, a.store.Now(), false) // the records of changes went with it
	m.LastDeployment.Namespaces = sorted(namespaces)
	record := newRecord("", a.Namespace, false)
	record.SetName(a.stored.GetName())
	record.SetLabels(a.stored.GetLabels())
	record.SetAnnotations(a.stored.GetAnnotations())
	record.Object["data"] = map[string]any{"spec": m.JSON()}
	stored, err := a.store.Cluster.Write(ctx, cluster.Write{Object: record, Method: cluster.Create, Manager: a.store.Manager})
	switch {
	case err == nil && said(stored) == m.JSON():
		a.running = nil
		a.take(stored, m)
		return nil
	case err == nil || apierrors.IsAlreadyExists(err):
		return &RecordDeletedError{Recreated: true, cause: a.metAnother()}
	}
	return fmt.Errorf("Creating app: %w", err)
}
