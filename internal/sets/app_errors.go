package sets

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/sets/app"
)

// ElsewhereError reports a set without a record in its namespace, although others have its name.
type ElsewhereError struct {
	Title, Namespace string
	Others           []string // the namespaces of the others
}

func (e *ElsewhereError) Error() string {
	return fmt.Sprintf("there is no record of %s in namespace %s; %s", e.Title, e.Namespace, e.Hint())
}

// Hint returns where the others are.
func (e *ElsewhereError) Hint() string {
	return fmt.Sprintf("apps of this name are in the namespaces %s: name one with -n",
		strings.Join(e.Others, ", "))
}

// NoRecordError reports that there is no record of an app.
type NoRecordError struct{ Title, Namespace string }

func (e *NoRecordError) Error() string {
	return fmt.Sprintf("there is no record of %s in namespace %s; muster list -A shows all", e.Title,
		e.Namespace)
}

// nativeError returns the errors about an app and its record in the words of those about packages.
func (s *appSet) nativeError(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		worded := slices.Clone(all.Unwrap())
		for i, one := range worded {
			worded[i] = s.nativeError(one)
		}
		if slices.Equal(worded, all.Unwrap()) {
			return err
		}
		return errors.Join(worded...)
	}
	var (
		unread     *app.UnreadError
		wrong      *app.RecordError
		missing    *app.NotFoundError
		sameName   *app.RecordNameError
		unlistable *app.UnlistableError
		lost       *app.LostRecordError
		deleted    *app.RecordDeletedError
		created    *app.RecordCreatedError
		changed    *app.RecordChangedError
	)
	title := s.Title()
	switch {
	case errors.As(err, &unread) && apierrors.IsForbidden(unread.Err):
		return fmt.Errorf("read the record of %s: %w; it needs the right to get configmaps in namespace "+
			"%s", title, unread.Err, unread.Namespace)
	case errors.As(err, &unread):
		return fmt.Errorf("read the record of %s: %w", title, unread.Err)
	case errors.As(err, &wrong):
		return fmt.Errorf("%s/configmap/%s has the name of the record of %s, but %s; give the app "+
			"another name, or restore the record", wrong.Namespace, wrong.ConfigMap, title, wrong.Reason)
	case errors.As(err, &missing):
		if len(missing.Others) > 0 {
			return &ElsewhereError{title, missing.Namespace, missing.Others}
		}
		return &NoRecordError{title, missing.Namespace}
	case errors.As(err, &sameName):
		return fmt.Errorf("%s (%s) would overwrite the record of the app, which has this name; give the "+
			"app or the object another name", sameName.Ref, sameName.Origin)
	case errors.As(err, &unlistable):
		return unlistableError(title, unlistable)
	case errors.As(err, &lost):
		return lostRecord(title, lost)
	case errors.As(err, &deleted) && deleted.Recreated:
		return fmt.Errorf("the record of %s was replaced meanwhile: it names objects with another "+
			"label; run the command again", title)
	case errors.As(err, &deleted):
		return fmt.Errorf("another run has deleted the record of %s meanwhile; run the command again",
			title)
	case errors.As(err, &created):
		return fmt.Errorf("another run has created the record of %s meanwhile; run the command again",
			title)
	case errors.As(err, &changed):
		return fmt.Errorf("the record of %s is kept, because another run has changed it meanwhile; run "+
			"the command again", title)
	}
	return err
}

// unlistableError returns the error for an app that is not destroyed, or whose record stays, since
// not all of its objects can be listed.
func unlistableError(title string, u *app.UnlistableError) error {
	text := title + " is not destroyed: it may have objects that "
	if len(u.Failures) == 0 {
		return fmt.Errorf("%syou may not list, and without its record nothing would find them; have "+
			"somebody destroy it who may%s", text, itemized(u.Permissions))
	}
	return fmt.Errorf("%scannot be listed, and without its record nothing would find them; repair "+
		"what serves these kinds (kubectl get apiservices and kubectl get crd show it), or delete their "+
		"definitions with all objects, and destroy it again%s", text,
		itemized(append(slices.Clone(u.Failures), u.Permissions...)))
}

// lostRecord returns the error for an app whose record another run has deleted.
func lostRecord(title string, lost *app.LostRecordError) error {
	text := "another run has destroyed " + title + " meanwhile"
	switch {
	case len(lost.Left) == 0:
		return fmt.Errorf("%s; nothing is left of it, apply it again", text)
	case lost.Restored:
		return fmt.Errorf("%s; what is left of it is recorded again: apply it again, or destroy it%s",
			text, itemized(lost.Left))
	default:
		return fmt.Errorf("%s, and the record could not be created again: %w; the objects that this run "+
			"has left have the label %s: apply with --adopt=all takes them over%s", text, lost.Unwrap(),
			lost.Selector, itemized(lost.Left))
	}
}

// itemized returns a colon and a line for each text.
func itemized(lines []string) string { return ":\n  - " + strings.Join(lines, "\n  - ") }
