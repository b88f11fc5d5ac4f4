package change

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/judge"
)

// Row is a change in the table of changes. Empty fields are printed as such.
type Row struct {
	Namespace, Name, Kind, Version string
	Created                        time.Time // of the live object; zero if there is none
	Op                             string    // create, update, delete, exists, or empty
	Strategy                       string    // in words; "???" for an unknown one
	WaitTo                         string    // reconcile, delete, or empty
	State                          string    // of the live object: ok, ongoing, fail, or empty
	Info                           string    // the reason for the state
}

// Row returns the row of the change. The live object is judged without the user's rules and without
// its children.
func (c *Change) Row() Row {
	obj := c.Object()
	row := Row{
		Namespace: obj.GetNamespace(),
		Name:      nameOf(obj),
		Kind:      obj.GetKind(),
		Version:   obj.GetAPIVersion(),
		Strategy:  c.strategyWords(),
		WaitTo:    string(c.WaitOp()),
	}
	if op := c.ApplyOp(); op != Noop {
		row.Op = op.Word()
	}
	if c.Existing == nil {
		return row
	}
	row.Created = c.Existing.GetCreationTimestamp().Time
	j := judge.Of(c.calc.judgedForm(c.Existing), nil)
	row.Info = j.Message
	switch {
	case !j.Done:
		row.State = "ongoing"
	case !j.Successful:
		row.State = "fail"
	default:
		row.State = "ok"
	}
	return row
}

func (c *Change) strategyWords() string {
	strategy, err := c.Strategy()
	if err != nil || c.calc.FromFiles {
		return "???"
	}
	return strategies[c.ApplyOp()].words[strategy]
}

// nameOf returns the name of an object, or its generateName with an asterisk.
func nameOf(obj *unstructured.Unstructured) string {
	if obj.GetName() == "" && obj.GetGenerateName() != "" {
		return obj.GetGenerateName() + "*"
	}
	return obj.GetName()
}

// Summary returns counts of changes by operation, "1 create, 0 delete, 0 update, 0 noop, 0 exists",
// and by wait, "1 reconcile, 0 delete, 0 noop".
func Summary(changes []*Change) (op, wait string) { return Count(changes).Text() }

// Count counts changes by operation and by wait.
func Count(changes []*Change) app.Counts {
	n := app.Counts{}
	ops := map[Op]*int{
		Add: &n.Create, Delete: &n.Delete, Update: &n.Update, Noop: &n.Noop, Exists: &n.Exists,
	}
	waits := map[WaitOp]*int{
		AwaitReconcile: &n.AwaitReconcile, AwaitDelete: &n.AwaitDelete, AwaitNothing: &n.AwaitNothing,
	}
	for _, c := range changes {
		if op := ops[c.ApplyOp()]; op != nil { // what is kept has no place among them
			*op++
		}
		*waits[c.WaitOp()]++
	}
	return n
}
