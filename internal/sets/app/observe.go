package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
)

// HiddenError reports an app that may have objects which cannot be listed.
type HiddenError struct{ Causes []string }

func (e *HiddenError) Error() string {
	return "it may have objects that cannot be listed: " + strings.Join(e.Causes, "; ")
}

// UnseenError reports objects that an app no longer describes and that the user may not list, so
// that they cannot be deleted.
type UnseenError struct{ Objects []object.Ref }

func (e *UnseenError) Error() string {
	const most = 5
	names := make([]string, 0, most)
	for _, ref := range e.Objects[:min(len(e.Objects), most)] {
		names = append(names, ref.String())
	}
	if more := len(e.Objects) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("the record has objects that are not in the files, and that you may not list "+
		"to delete them: %s; nothing was changed\nlet somebody apply who may list them (muster "+
		"check-access shows the rights), or use --no-prune to keep them, or a filter, as "+
		"--filter-kind, that leaves them out", strings.Join(names, ", "))
}

// seen returns an app and its objects. hidden is a *HiddenError if it may have more; else nil.
func (c *Client) seen(
	ctx context.Context, name Name, o SearchOptions,
) (target *App, found []liveObject, missed unlistedKinds, hidden, err error) {
	if target, err = c.Existing(ctx, name); err != nil {
		return nil, nil, nil, nil, err
	}
	missed = unlistedKinds{}
	found, err = c.Objects(ctx, target, o, false, func(m cluster.UnlistedKind) {
		missed[m.GroupKind] = m
	})
	if err != nil {
		return nil, nil, nil, nil, err
	}
	u, err := c.unlistableOf(ctx, target, o, nil, missed)
	if err != nil {
		return nil, nil, nil, nil, err
	}
	return target, found, missed, u.hidden(), nil
}

// unlistedKinds are the kinds of which a search may have missed objects.
type unlistedKinds map[schema.GroupKind]cluster.UnlistedKind

// hide reports whether the search could not have found an object, so that it is not known to be
// gone.
func (u unlistedKinds) hide(ref object.Ref) bool {
	m, missed := u[ref.GroupKind()]
	return missed && (m.Forbidden || m.Cause != nil || slices.Contains(m.Namespaces, ref.Namespace))
}

// forbid reports whether the search could not have found an object because the user may not list
// it.
func (u unlistedKinds) forbid(ref object.Ref) bool {
	return u.hide(ref) && u[ref.GroupKind()].Cause == nil
}

// ObserveRequest asks for the objects whose status is shown.
type ObserveRequest struct {
	App    Name
	Search SearchOptions
}

// Observation is an app and the objects whose status is shown.
type Observation struct {
	App  *App
	Refs []object.Ref // those that were deployed, in the order in which they are listed
	Gone []object.Ref // those that the record lists and that do not exist
	// Unmarked are those that the record lists and that have lost the label of the app.
	Unmarked []object.Ref
	// Hidden is a *HiddenError if the app may have more objects; else nil.
	Hidden error
}

// PrepareObserve returns an app and its live objects without those that controllers created. An app
// that does not exist is an error.
func (c *Client) PrepareObserve(ctx context.Context, r ObserveRequest) (*Observation, error) {
	target, found, missed, hidden, err := c.seen(ctx, r.App, r.Search)
	if err != nil {
		return nil, err
	}
	o := &Observation{App: target, Hidden: hidden}
	for _, obj := range WithoutTransient(found) {
		o.Refs = append(o.Refs, object.RefOf(obj))
	}
	unmarked, gone, err := c.unlabelled(ctx, target, found, missed)
	for _, obj := range unmarked {
		o.Unmarked = append(o.Unmarked, object.RefOf(obj))
	}
	o.Gone = gone
	return o, err
}

// unlabelled returns the objects that the record of an app lists and that have lost its label, and
// those that do not exist, without known ones and those that could not be listed. It sends requests
// only if the record lists others.
func (c *Client) unlabelled(
	ctx context.Context, target *App, known []liveObject, missed unlistedKinds,
) (unmarked []liveObject, gone []object.Ref, err error) {
	labelled := object.NewSet()
	for _, obj := range known {
		labelled.Insert(object.RefOf(obj))
	}
	var targets []cluster.Target
	members, _ := target.Members()
	for _, m := range members {
		if !labelled.Has(m.Ref) && !missed.hide(m.Ref) {
			targets = append(targets, cluster.Target{Ref: m.Ref})
		}
	}
	if len(targets) == 0 {
		return nil, nil, nil
	}
	live, err := c.Cluster.Read(ctx, targets)
	if denied := (*cluster.DeniedError)(nil); errors.As(err, &denied) {
		return nil, nil, nil // the label says what the app has
	}
	if err != nil {
		return nil, nil, err
	}
	for _, t := range targets {
		switch obj := live.Objects[t.Ref]; {
		case obj != nil && !IsMember(target, obj): // a member may have another kind, too
			unmarked = append(unmarked, obj)
		case obj == nil && (!live.Unserved.Has(t.Ref) || live.NoKind.Has(t.Ref)):
			gone = append(gone, t.Ref)
		}
	}
	return unmarked, gone, nil
}

// ListRequest asks for apps.
type ListRequest struct {
	Namespace string                 // of the records; empty for all
	Labels    labels.Selector        // of the records; nil for all
	Age       *filter.ResourceFilter // of the records; nil for all
}

// List returns apps. An app whose record cannot be read has Err set and passes every filter.
func (c *Client) List(ctx context.Context, r ListRequest) ([]*App, error) {
	apps, err := c.Records.List(ctx, r.Namespace, r.Labels)
	return slices.DeleteFunc(apps, func(a *App) bool {
		return a.Err == nil && r.Age != nil && !r.Age.Matches(recordOf(a))
	}), err
}

// recordOf returns an object with the creation time of an app's record, for filters.
func recordOf(a *App) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetCreationTimestamp(metav1.NewTime(a.Created()))
	return obj
}
