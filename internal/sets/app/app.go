// Package app holds the format of apps: their records, marks, objects and rules.
//
// An app is a name and the set of objects that carry its label. Its record is a ConfigMap with the
// label and the kinds of its objects (App, Store); one more describes each deployment. Set and
// Deletion are an app that is deployed or deleted, as plan.Build sees it, and the store of its
// record. Client finds apps and their objects.
//
// kapp can read what the package writes, and the other way round. Errors use kapp's words where it
// has any.
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// App is one app, with a record or known only by a label selector. It is used by one goroutine at a
// time.
type App struct {
	Name      string // without the suffix of full names; the selector of an app without a record
	Namespace string // of the record; empty for an app without one
	Meta      Meta   // zero for an app without a record
	IsNew     bool   // Ensure found no record, so that no object has its label
	Err       error  // of List: the record cannot be read, and the app cannot be used

	store     *Store
	stored    *unstructured.Unstructured // the record as last read or written; nil if there is none
	duplicate *unstructured.Unstructured // left by an interrupted migration under the other name
	selector  labels.Selector            // of an app without a record
	used      used                       // the kinds that the next write adds
	running   *unstructured.Unstructured // the record of the running deployment, if any
	members   string                     // see SetMembers; empty for none
	listed    memberList                 // the members of the record, once they were read
	wanted    record.State               // the arguments of SetMembers
	contended bool                       // others have written the record since it was read
	added     *object.Set                // members that they have added; nil for none
	history   string                     // see SetHistory

	objectLabels bool // of a new app: see LabelsOnlyObjects
}

// annLabels on the record of an app says where the label of the app is added. With labelsOfObjects
// it is added to the metadata of objects alone; without the annotation also to pod templates and
// selectors, as kapp does. kapp keeps the annotation and ignores it.
const (
	annLabels       = "muster.dev/labels"
	labelsOfObjects = "objects"
)

// LabelsOnlyObjects reports whether the label of the app belongs on objects alone, and not on their
// pod templates and selectors. So it is for an app whose objects were deployed by others: another
// label on a template would restart pods, and selectors cannot change.
func (a *App) LabelsOnlyObjects() bool {
	if a.stored == nil {
		return a.objectLabels
	}
	return a.stored.GetAnnotations()[annLabels] == labelsOfObjects
}

// Exists reports whether the app has a record. An app with only a selector always exists.
func (a *App) Exists() bool { return a.selector != nil || a.stored != nil }

// Holders returns the record and the UIDs of the objects that hold it.
func (a *App) Holders() (record object.Ref, uids []types.UID) {
	for _, obj := range []*unstructured.Unstructured{a.duplicate, a.stored} {
		if obj != nil {
			record, uids = object.RefOf(obj), append(uids, obj.GetUID())
		}
	}
	return record, uids
}

// IsLabelled reports whether the app has only a selector, and so no record, no deployments and no
// known kinds.
func (a *App) IsLabelled() bool { return a.selector != nil }

// String returns the app as kapp names it in errors about ownership: "app 'web' namespace: demo".
func (a *App) String() string {
	if a.IsLabelled() {
		return fmt.Sprintf("labeled app '%s'", a.Name)
	}
	return fmt.Sprintf("app '%s' namespace: %s", a.Name, a.Namespace)
}

// Created returns the time at which the record was created, or the zero time.
func (a *App) Created() time.Time {
	if a.stored == nil {
		return time.Time{}
	}
	return a.stored.GetCreationTimestamp().Time
}

// Labels returns the labels of the record.
func (a *App) Labels() map[string]string {
	if a.stored == nil {
		return nil
	}
	return a.stored.GetLabels()
}

// RecordRef returns the ConfigMap of the record, whether or not it exists; zero for an app with
// only a selector.
func (a *App) RecordRef() object.Ref {
	if a.IsLabelled() {
		return object.Ref{}
	}
	name := a.Name
	if a.migrated() || a.stored == nil && a.store.FullNames {
		name += suffix
	}
	return object.Ref{Kind: configMap.Kind, Namespace: a.Namespace, Name: name}
}

// Selector returns the label selector of the app's objects.
func (a *App) Selector() string {
	if a.IsLabelled() {
		return a.selector.String()
	}
	return labels.Set{a.Meta.LabelKey: a.Meta.LabelValue}.String()
}

// Label returns the label of the app's objects. The selector of an app without a record must
// consist of one label.
func (a *App) Label() (key, value string, err error) {
	if !a.IsLabelled() {
		return a.Meta.LabelKey, a.Meta.LabelValue, nil
	}
	requirements, selectable := a.selector.Requirements()
	switch {
	case !selectable:
		return "", "", errors.New("Expected label selector to be selectable")
	case len(requirements) != 1:
		return "", "", errors.New("Expected label selector to have one label KV")
	}
	switch requirements[0].Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
	default:
		return "", "", errors.New("Expected label selector to check for equality")
	}
	values := requirements[0].ValuesUnsorted()
	if len(values) != 1 {
		return "", "", errors.New("Expected label selector to check against single label value")
	}
	return requirements[0].Key(), values[0], nil
}

// AddKinds adds kinds and versions that the objects of the app may have. It sends nothing: Begin
// writes them.
func (a *App) AddKinds(versions []schema.GroupVersion, kinds []schema.GroupKind) {
	a.used = a.used.union(usedOf(versions, kinds))
}

// Kinds returns the kinds that the record names; none if it has no list, or if there is no record.
func (a *App) Kinds() []schema.GroupKind {
	if a.IsLabelled() || a.Meta.UsedGKs == nil {
		return nil
	}
	return slices.Clone(*a.Meta.UsedGKs)
}

// SetKinds sets the kinds and versions of the app's objects. Kinds in unseen, of which not all
// objects could be listed, stay if the record has them or has no list. It sends nothing: Finish
// writes them. If others have written the record since it was read, all of its kinds stay: they may
// have objects of these.
func (a *App) SetKinds(versions []schema.GroupVersion, kinds, unseen []schema.GroupKind) {
	if !a.contended {
		a.used = a.used.restrictTo(unseen)
	}
	a.used = a.used.union(usedOf(versions, kinds))
}

// setRecord stores the record and what it says. The kinds and namespaces of the members belong to
// those that it names: kapp, which reads these alone, or somebody else may have written others.
func (a *App) setRecord(stored *unstructured.Unstructured, m Meta) {
	stored.SetManagedFields(nil)
	a.stored = stored
	members, _ := a.Members()
	a.Meta = m.covering(members)
	a.used = a.Meta.used()
	a.history = stored.GetLabels()[LabelHistory]
}

// LabelHistory on the record of an app has the ID of its history. Without it that is the value of
// the label of the app, which a new record does not share with an earlier one of its name.
const LabelHistory = "muster.dev/history"

// HistoryID returns the ID of the history of the app, also once the record is deleted.
func (a *App) HistoryID() string { return cmp.Or(a.history, a.Meta.LabelValue) }

// SetHistory makes the history with an ID that of the app.
func (a *App) SetHistory(ctx context.Context, id string) error {
	return a.save(ctx, nil, map[string]string{LabelHistory: id})
}

// migrated reports whether the record has its full name, with the suffix.
func (a *App) migrated() bool {
	return a.stored != nil && strings.HasSuffix(a.stored.GetName(), suffix)
}

// hasLabelledRecords reports whether the records of deployments are found by the app's label
// instead of its name.
func (a *App) hasLabelledRecords() bool {
	_, ok := a.stored.GetAnnotations()[resource.AnnChangesUseLabel]
	return ok || len(a.Name) > maxLabelValue
}

// deploymentLabels returns the labels of the records of deployments.
func (a *App) deploymentLabels() map[string]string {
	if a.hasLabelledRecords() {
		return map[string]string{
			resource.LabelIsAppChange:      "",
			resource.LabelAppChangeByLabel: a.Meta.LabelValue,
		}
	}
	return map[string]string{resource.LabelIsAppChange: "", resource.LabelAppChangeApp: a.Name}
}

// maxLabelValue is the maximum length of a label value.
const maxLabelValue = 63

// mergeLabels adds labels to the record. Present labels keep their values.
func mergeLabels(obj *unstructured.Unstructured, more map[string]string) error {
	all := maps.Clone(obj.GetLabels())
	if all == nil {
		all = map[string]string{}
	}
	for _, key := range slices.Sorted(maps.Keys(more)) {
		if value, ok := all[key]; ok && value != more[key] {
			return fmt.Errorf("Expected label '%s' value to remain same", key)
		}
		all[key] = more[key]
	}
	obj.SetLabels(all)
	return nil
}

// LastSucceeded reports whether the last deployment succeeded, or there was none.
func (a *App) LastSucceeded() bool {
	last := a.Meta.LastDeployment
	return last.StartedAt.IsZero() || last.Successful != nil && *last.Successful
}
