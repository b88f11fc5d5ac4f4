package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// LabelError reports an app whose record names a label that others may have given to their objects.
// Whoever may write the record could let a run delete these.
type LabelError struct {
	App    *App
	Reason string // why the label may be that of others
	Advice string // what to do about it
}

func (e *LabelError) Error() string {
	return fmt.Sprintf("the record %s of app %q names the label %s, but %s; nothing was changed, "+
		"since objects with this label may belong to others\n%s", e.App.RecordRef(), e.App.Name,
		e.App.Selector(), e.Reason, e.Advice)
}

// CheckLabel returns a *LabelError if the record of an app names a label that is not known to be
// that of the app alone: one that no app has, or that another record names as well. It lists the
// records that the user may list, at once if possible.
func (c *Client) CheckLabel(ctx context.Context, of *App) error {
	if of.IsLabelled() || !of.Exists() {
		return nil
	}
	if of.Meta.LabelKey != resource.LabelApp {
		return &LabelError{of, "records of apps name the label " + resource.LabelApp,
			"correct labelKey and labelValue in the record, or delete it: its objects stay"}
	}
	apps, err := c.Records.List(ctx, "", nil)
	if apierrors.IsForbidden(err) {
		apps, err = c.recordsIn(ctx, c.FallbackOf(of, of.Namespace))
	}
	if err != nil {
		return fmt.Errorf("look for other records with the label of app %q: %w", of.Name, err)
	}
	var others []string
	for _, a := range apps {
		same := a.Namespace == of.Namespace && a.Name == of.Name
		if a.Err == nil && !same && a.Selector() == of.Selector() {
			others = append(others, a.RecordRef().String())
		}
	}
	if len(others) == 0 {
		return nil
	}
	return &LabelError{of, "so does the record " + strings.Join(others, " and the record "),
		"if muster rename was interrupted, run it again; else correct labelValue in the record that " +
			"has a wrong one, or delete this record (kubectl delete configmap): its objects stay"}
}

// recordsIn returns the apps whose records are in some namespaces and that the user may list.
func (c *Client) recordsIn(ctx context.Context, namespaces []string) ([]*App, error) {
	var all []*App
	for _, namespace := range namespaces {
		apps, err := c.Records.List(ctx, namespace, nil)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, err
		}
		all = append(all, apps...)
	}
	return all, nil
}

// checkFound returns a *LabelError if a run of an app would change objects of others, given the
// objects that have its label. Only a run that deletes objects, or that has some that the record
// does not list, sends a request.
func (c *Client) checkFound(ctx context.Context, of *App, found []liveObject, deletes bool) error {
	members, listed := of.Members()
	known := object.NewSet()
	for _, m := range members {
		known.Insert(m.Ref)
	}
	exists := len(found) > 0
	found = WithoutTransient(found)
	unlisted := slices.DeleteFunc(slices.Clone(found), func(obj liveObject) bool {
		return known.Has(object.RefOf(obj))
	})
	switch {
	case !exists || len(unlisted) == 0 && !deletes:
		return nil
	case listed && len(members)*len(found) > 0 && len(unlisted) == len(found):
		return &LabelError{of, fmt.Sprintf("lists none of the %d objects that have it, as %s",
			len(found), object.RefOf(found[0])),
			"correct labelValue in the record; if these objects are those of the app, remove the key " +
				membersKey + " from the data of the record"}
	}
	return c.CheckLabel(ctx, of)
}
