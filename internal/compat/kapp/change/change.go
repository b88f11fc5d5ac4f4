// Package change decides what a deployment or a deletion by kapp's commands does to every object.
//
// Its input is the prepared objects, the live objects of the app, and the rules of the
// configuration. Its output is a list of changes in kapp's order. Each change returns its row in
// the table, the two texts of its difference, the object that is sent, and the change recalculated
// for an object that others have changed. The package is pure: it has no cluster, and the clock is
// an argument. It does not order changes by groups and rules, and does not compare texts by lines.
package change

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/sets/policy/judge"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Op is the kind of a change, in the words of change filters.
type Op string

const (
	Add    Op = "add"    // the object is created
	Update Op = "update" // it exists and differs
	Keep   Op = "keep"   // it exists and does not differ, or belongs to others
	Delete Op = "delete" // it is no longer described
	Exists Op = "exists" // others create it
	Noop   Op = "noop"   // nothing is done or waited for
)

// Word returns the name of the operation in lines and tables.
func (o Op) Word() string {
	switch o {
	case Add:
		return "create"
	case Keep:
		return "noop"
	}
	return string(o)
}

// WaitOp is what is waited for after a change, in the words of the table.
type WaitOp string

const (
	AwaitReconcile WaitOp = "reconcile"
	AwaitDelete    WaitOp = "delete"
	AwaitNothing   WaitOp = ""
)

// Change is the change of one object.
type Change struct {
	Op Op
	// New is the object as it was described, without the record and without excluded fields. A
	// version has its own name, and references to versions are rewritten. It is recorded as
	// applied, and created by a replacement. Nil for a deletion, and for a version that stays.
	New *unstructured.Unstructured
	// Existing is the live object, or nil.
	Existing *unstructured.Unstructured
	// Applied is the object that is sent: New rebased onto the live object, without the record. Nil
	// if nothing is sent.
	Applied *unstructured.Unstructured
	// Ignored is set for the deletion of an object that a controller created and deletes itself.
	Ignored bool

	calc         *calculator
	comparedWith *unstructured.Unstructured // Existing, or the newest version
	before       *unstructured.Unstructured // of a deletion: the last applied object, if known
	waits        bool                       // of a kept object: it is not ready
	fallback     bool                       // an update that replaces a creation
	foreign      []jsonvalue.Difference     // of a rebased change: the edits by others
	approved     *unstructured.Unstructured // and the live object before them
}

// Object returns the object that the change is named after: the one that is sent, described, or
// live. For a deletion it is the object that was applied last, if known.
func (c *Change) Object() *unstructured.Unstructured {
	switch {
	case c.Applied != nil:
		return c.Applied
	case c.New != nil:
		return c.New
	case c.before != nil:
		return c.before
	}
	return c.Existing
}

// Description returns the name of the object in lines: "configmap/web (v1) namespace: demo".
func (c *Change) Description() string { return resource.Describe(c.Object()) }

// ApplyOp returns what is done: Add, Update, Delete, Exists or Noop.
func (c *Change) ApplyOp() Op {
	if c.Op == Keep || c.Ignored && !c.calc.ApplyIgnored {
		return Noop
	}
	return c.Op
}

// WaitOp returns what is waited for.
func (c *Change) WaitOp() WaitOp {
	if !c.calc.Wait || c.Ignored && !c.calc.WaitIgnored ||
		resource.HasAnnotation(c.Object(), resource.AnnDisableWait) {
		return AwaitNothing
	}
	switch c.Op {
	case Add, Update, Exists:
		return AwaitReconcile
	case Delete:
		return AwaitDelete
	case Keep:
		if c.waits {
			return AwaitReconcile
		}
	}
	return AwaitNothing
}

// GraphOp returns the operation in the words of change rules: "upsert", "delete" or "noop".
func (c *Change) GraphOp() string {
	switch c.ApplyOp() {
	case Add, Update, Exists:
		return "upsert"
	case Delete:
		return "delete"
	}
	return "noop"
}

// isUnready reports whether a kept object is waited for: it is not ready, children aside.
func (s *calculator) isUnready(live *unstructured.Unstructured) bool {
	j := judge.Of(s.judgedForm(live), nil, s.rules...)
	return !j.Done || !j.Successful
}

// judgedForm returns the form of a live object that is judged before the run. Without LastApplied
// kapp first removes the excluded fields, and the status with them; its messages are reproduced.
func (s *calculator) judgedForm(live *unstructured.Unstructured) *unstructured.Unstructured {
	if s.LastApplied != nil {
		return live
	}
	stripped, err := s.stripped(live)
	if err != nil {
		return live // the comparison has failed with the same error
	}
	return stripped
}
