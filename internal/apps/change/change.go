// Package change decides what a deployment or a deletion of an app does to every object.
//
// In go the prepared objects of the input, the objects of the app as they were read, and the rules of the configuration; out
// comes a list of changes in the order in which kapp shows them, and from each change its row in the table, the two texts of
// its difference, what is sent, and the change as it is after somebody else has changed the object. All of that is pure: no
// cluster, and the clock is handed in. The package does not order changes by groups and rules, and does not compare texts by
// lines.
package change

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/judge"
	"github.com/muster-deploy/muster/internal/apps/resource"
)

// Op is what a change is, in the words that filters of changes use.
type Op string

const (
	Add    Op = "add"    // the object is created
	Update Op = "update" // it is there and differs
	Keep   Op = "keep"   // it is there and does not differ, or belongs to somebody else
	Delete Op = "delete" // it is not described any more
	Exists Op = "exists" // somebody else creates it
	Noop   Op = "noop"   // nothing is done with it, nor waited for
)

// Word is what lines and tables call the operation.
func (o Op) Word() string {
	switch o {
	case Add:
		return "create"
	case Keep:
		return "noop"
	}
	return string(o)
}

// WaitOp is what is waited for once a change is applied, in the word of the table.
type WaitOp string

const (
	AwaitReconcile WaitOp = "reconcile"
	AwaitDelete    WaitOp = "delete"
	AwaitNothing   WaitOp = "" // nothing is waited for
)

// Change is what happens to one object.
type Change struct {
	Op Op
	// New is the object as it was described, without history and without fields that are never compared; a version has its
	// name, and references to versions theirs. It is what is recorded as applied, and what a replacement creates. Nil for a
	// deletion, and for a version that stays.
	New *unstructured.Unstructured
	// Existing is the live object as it was read, or nil.
	Existing *unstructured.Unstructured
	// Applied is what is sent: New rebased onto the live object, without history. Nil where nothing is sent.
	Applied *unstructured.Unstructured
	// Ignored is set for the deletion of an object that a controller made: whoever made it deletes it, too.
	Ignored bool

	set     *set
	against *unstructured.Unstructured // what New is compared with: Existing, or the newest version
	before  *unstructured.Unstructured // of a deletion: the object as it was applied last, if that is known
	waits   bool                       // of an object that is kept: it is not ready
	moved   []edit                     // of one that was carried over: what somebody else has changed
	unmoved *unstructured.Unstructured // and the live object before that
}

// Object is the object that the change is named after: as it is sent, as it was described, or as it was read.
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

// Description names the object in lines: "configmap/web (v1) namespace: demo".
func (c *Change) Description() string { return resource.Describe(c.Object()) }

// ApplyOp is what is done: Add, Update, Delete, Exists or Noop.
func (c *Change) ApplyOp() Op {
	if c.Op == Keep || c.Ignored && !c.set.ApplyIgnored {
		return Noop
	}
	return c.Op
}

// WaitOp is what is waited for.
func (c *Change) WaitOp() WaitOp {
	if !c.set.Wait || c.Ignored && !c.set.WaitIgnored || has(c.Object(), resource.AnnDisableWait) {
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

// GraphOp is the change as rules of order see it: "upsert", "delete" or "noop".
func (c *Change) GraphOp() string {
	switch c.ApplyOp() {
	case Add, Update, Exists:
		return "upsert"
	case Delete:
		return "delete"
	}
	return "noop"
}

// unready reports whether an object that is kept is waited for: what is there does not do what it is meant to, children aside.
func (s *set) unready(live *unstructured.Unstructured) bool {
	j := judge.Of(s.judged(live), nil, s.rules...)
	return !j.Done || !j.Successful
}

// judged is the form of a live object that is judged before anything is done. Where objects are compared as they are, kapp
// takes away what is never compared first, which takes the status with it: its words about such objects are reproduced.
func (s *set) judged(live *unstructured.Unstructured) *unstructured.Unstructured {
	if s.LastApplied != nil {
		return live
	}
	stripped, err := s.stripped(live)
	if err != nil {
		return live // the comparison has failed with the same error
	}
	return stripped
}

// has reports whether an object carries an annotation, whatever its value.
func has(obj *unstructured.Unstructured, annotation string) bool {
	_, found := annotations(obj)[annotation]
	return found
}

// annotations gives the annotations of an object without copying them; nil where they are not a map.
func annotations(obj *unstructured.Unstructured) map[string]any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	all, _ := metadata["annotations"].(map[string]any)
	return all
}

// annotation gives the value of one annotation; a value that is no text counts as absent.
func annotation(obj *unstructured.Unstructured, key string) (value string, found bool) {
	value, found = annotations(obj)[key].(string)
	return value, found
}
