// Package drift compares the desired objects of a set with the live ones, and finds out who changed
// what: for each field what it was and is, and the managers that own it, by class.
//
// It reads managedFields, which also show how the server merges each list, and knows the types and
// defaults of built-in kinds. It does no I/O and prints nothing. Revert undoes differences in an
// object, and Audit adds the persons that an audit log names.
package drift

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// Kind is the kind of a difference.
type Kind string

// The kinds of differences, of fields and of objects.
const (
	Changed Kind = "changed"
	Removed Kind = "removed" // of a field
	Deleted Kind = "deleted" // of an object
	Added   Kind = "added"
)

// Object is an object that differs from the desired one.
type Object struct {
	Ref      object.Ref `json:"-"`
	Source   string     `json:"source,omitempty"` // file and document
	Kind     Kind       `json:"kind"`
	Deleting bool       `json:"deleting,omitempty"` // it still exists, and its deletion is under way
	Fields   []Field    `json:"fields,omitempty"`   // of a changed object, by path
	Person   *Person    `json:"person,omitempty"`   // who deleted or added it, if known
}

// Field is a field that differs. Was is nil for an added value and Is for a removed one. Both are
// nil if Hidden: they may be values of a Secret.
type Field struct {
	Path     string    `json:"path"` // spec.containers[web].image
	Kind     Kind      `json:"kind"`
	Was      any       `json:"was,omitempty"`
	Is       any       `json:"is,omitempty"`
	Hidden   bool      `json:"hidden,omitempty"`
	Managers []Manager `json:"managers,omitempty"` // that own the live value, the latest first
	Class    Class     `json:"class"`              // of the first manager that counts
	// Left is why the difference does not count, as in: left to kube-controller-manager.
	Left   string  `json:"left,omitempty"`
	Person *Person `json:"person,omitempty"` // who changed it last, if known

	route  []step // to the value in the live object
	revert any    // the desired value of the route; nil removes it
	top    int    // the length of the route to the outermost value that is not desired; 0: none
	seen   any    // Is, also if that is hidden
	unit   *unit  // the value that it is a part of, if the server merges that as a whole

	sameName func(want, live string) bool // that of the options
}

// Manager is a field manager that owns a field.
type Manager struct {
	Name        string    `json:"manager"`
	Operation   string    `json:"operation,omitempty"`   // Apply or Update
	Subresource string    `json:"subresource,omitempty"` // empty: the object itself
	Time        time.Time `json:"time,omitzero"`         // of its last change to the object
	Class       Class     `json:"class"`
}

// Person is who sent a request, as an audit log has it.
type Person struct {
	Name  string    `json:"name"`
	Verb  string    `json:"verb"`
	Agent string    `json:"userAgent,omitempty"`
	Time  time.Time `json:"time,omitzero"`
}

// Options say how objects are compared. The zero value is useful.
type Options struct {
	Managers *Classes // nil: the built-in ones
	// Since is the end of the run that deployed the objects. What the set's own manager wrote before
	// is no drift: the server or a webhook changed it meanwhile. Zero counts everything.
	Since time.Time
	// Newer is set if the set was deployed again since, so that its own manager made changes.
	Newer bool
	// Mark is the label or annotation that the set's own manager sets, by its key.
	Mark string
	// Own are the names of the set's own managers, beside those that own the mark.
	Own []string
	// IgnoreAnnotations are keys of annotations that are not compared.
	IgnoreAnnotations []string
	// Private is set if the object may hold values of Secrets.
	Private bool
	// SameName reports whether a live text is a version of a name in a manifest, for Accept; nil is
	// never.
	SameName func(want, live string) bool
	// IncludeControllers counts what is left to controllers.
	IncludeControllers bool
	// Ignore are the fields that the set leaves to others; differences in them are none.
	Ignore diff.IgnoreRules
	// Unstored are the paths of desired values that the server does not store, as diff.Unstored
	// returns them. That they are missing does not count.
	Unstored []string
}

// Counts reports whether the difference counts as drift.
func (f *Field) Counts() bool { return f.Left == "" }

// Same reports whether a difference is the same as another one of the same object, also in values
// that are hidden.
func (f Field) Same(other Field) bool {
	return f.Path == other.Path && f.Kind == other.Kind && jsonvalue.Equal(f.seen, other.seen)
}

// Shares reports whether Accept writes the values of two fields of an object together: they are
// parts of a list that the server replaces as a whole.
func (f Field) Shares(other Field) bool { return f.unit != nil && f.unit == other.unit }

// Drifted returns the fields that count.
func (o *Object) Drifted() []Field {
	return slices.DeleteFunc(slices.Clone(o.Fields), func(f Field) bool { return !f.Counts() })
}

// Counts reports whether the object drifted.
func (o *Object) Counts() bool {
	return o.Kind != Changed || slices.ContainsFunc(o.Fields, func(f Field) bool { return f.Counts() })
}

// Compare returns how a live object differs from the desired one; nil if it does not. Live is nil
// if the object does not exist. Neither is modified. A desired null is no value.
func Compare(want, live *unstructured.Unstructured, o Options) (*Object, error) {
	found := &Object{Ref: object.RefOf(want), Kind: Deleted}
	if live == nil {
		return found, nil
	}
	if live.GetDeletionTimestamp() != nil {
		found.Deleting = true
		return found, nil
	}
	want, err := o.Ignore.Keep(diff.WithoutNulls(want), live)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", found.Ref, err)
	}
	c, err := newComparison(want, live, o)
	if err != nil {
		return nil, err
	}
	c.object()
	if len(c.fields) == 0 {
		return nil, nil
	}
	found.Kind, found.Fields = Changed, c.fields
	slices.SortStableFunc(found.Fields, func(a, b Field) int {
		if a.Path < b.Path {
			return -1
		}
		return 1
	})
	return found, nil
}
