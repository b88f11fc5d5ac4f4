package change

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/judge"
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
func Summary(changes []*Change) (op, wait string) {
	counts := Counts{}
	for _, c := range changes {
		counts.Add(c.ApplyOp(), c.WaitOp())
	}
	return counts.Text()
}

// Counts are how many changes have each operation, and each wait. The zero value has none.
type Counts struct {
	ops   map[Op]int
	waits map[WaitOp]int
}

// Add counts a change. An operation that is empty does not count.
func (c *Counts) Add(op Op, wait WaitOp) {
	if op == "" {
		return
	}
	if c.ops == nil {
		c.ops, c.waits = map[Op]int{}, map[WaitOp]int{}
	}
	c.ops[op]++
	c.waits[wait]++
}

// Text returns the counts in kapp's words.
func (c *Counts) Text() (op, wait string) {
	var words []string
	for _, op := range []Op{Add, Delete, Update, Noop, Exists} {
		words = append(words, fmt.Sprintf("%d %s", c.ops[op], op.Word()))
	}
	return strings.Join(words, ", "), fmt.Sprintf("%d reconcile, %d delete, %d noop",
		c.waits[AwaitReconcile], c.waits[AwaitDelete], c.waits[AwaitNothing])
}
