// Package app keeps the records of apps, as kapp does: a ConfigMap for each app, which says by which label its objects are
// found and of which kinds they are, and one for each change that was made to it.
//
// The package reads and writes these ConfigMaps and nothing else; finding, deploying and deleting the objects of an app is done
// elsewhere. What it writes can be read by kapp, and the other way round. Errors have the words of kapp where it has any.
package app

import (
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

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/object"
)

// App is one app: with a record, or only given by the labels of its objects. It is used by one goroutine at a time.
type App struct {
	Name      string // without the suffix of full names; the selector for an app that is given by labels
	Namespace string // where the record is; empty for an app that is given by labels
	Meta      Meta   // zero for an app that is given by labels, or that does not exist
	IsNew     bool   // Ensure found no record of it, so that no object can carry its label
	Err       error  // of List: why the record cannot be read; such an app cannot be used

	store    *Store
	stored   *unstructured.Unstructured // the record as it was last read or written; nil if there is none
	twin     *unstructured.Unstructured // the record under its other name, which an interrupted migration left behind
	selector labels.Selector            // of an app that is given by labels
	used     used                       // what the next write says of kinds
	running  *unstructured.Unstructured // the record of the change that has begun; nil if it has none
}

// Exists reports whether the app has a record. An app that is given by labels always exists.
func (a *App) Exists() bool { return a.selector != nil || a.stored != nil }

// IsLabelled reports whether the app is only given by labels, and so has no record, no changes and no known kinds.
func (a *App) IsLabelled() bool { return a.selector != nil }

// String names the app as kapp does in errors about ownership: "app 'web' namespace: demo".
func (a *App) String() string {
	if a.IsLabelled() {
		return fmt.Sprintf("labeled app '%s'", a.Name)
	}
	return fmt.Sprintf("app '%s' namespace: %s", a.Name, a.Namespace)
}

// Created is when the record was made, or the zero time.
func (a *App) Created() time.Time {
	if a.stored == nil {
		return time.Time{}
	}
	return a.stored.GetCreationTimestamp().Time
}

// Labels are those of the record.
func (a *App) Labels() map[string]string {
	if a.stored == nil {
		return nil
	}
	return a.stored.GetLabels()
}

// RecordRef is the ConfigMap that is the app's record, or that is going to be; the zero Ref for an app that is given by labels.
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

// Selector selects the objects of the app.
func (a *App) Selector() string {
	if a.IsLabelled() {
		return a.selector.String()
	}
	return labels.Set{a.Meta.LabelKey: a.Meta.LabelValue}.String()
}

// Label is the one label that the objects of the app get. An app that is given by labels must be given by exactly one.
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

// AddKinds says of which more kinds and versions the objects of the app may be, besides those that its record names. It sends
// nothing: Begin writes it.
func (a *App) AddKinds(versions []schema.GroupVersion, kinds []schema.GroupKind) {
	a.used = a.used.with(usedOf(versions, kinds))
}

// SetKinds says of which kinds and versions the objects of the app are from now on. Those of which not all objects could be seen are
// unseen: they stay if the record names them, or if it does not say which it names. It sends nothing: Finish writes it.
func (a *App) SetKinds(versions []schema.GroupVersion, kinds, unseen []schema.GroupKind) {
	a.used = a.used.only(unseen).with(usedOf(versions, kinds))
}

// take makes a record the app's own.
func (a *App) take(stored *unstructured.Unstructured, m Meta) {
	stored.SetManagedFields(nil)
	a.stored, a.Meta, a.used = stored, m, m.used()
}

// migrated reports whether the record has its full name, with the suffix.
func (a *App) migrated() bool {
	return a.stored != nil && strings.HasSuffix(a.stored.GetName(), suffix)
}

// byLabel reports whether the records of the app's changes are found by its label, and not by its name.
func (a *App) byLabel() bool {
	_, ok := a.stored.GetAnnotations()[resource.AnnChangesUseLabel]
	return ok || len(a.Name) > maxLabelValue
}

// changeLabels are the labels by which the records of the app's changes are found.
func (a *App) changeLabels() map[string]string {
	if a.byLabel() {
		return map[string]string{resource.LabelIsAppChange: "", resource.LabelAppChangeByLabel: a.Meta.LabelValue}
	}
	return map[string]string{resource.LabelIsAppChange: "", resource.LabelAppChangeApp: a.Name}
}

// maxLabelValue is how long the value of a label may be.
const maxLabelValue = 63

// merge puts labels onto the record. One that is there already keeps its value.
func merge(obj *unstructured.Unstructured, more map[string]string) error {
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
