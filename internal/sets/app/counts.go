package app

import (
	"fmt"

	"github.com/muster-deploy/muster/internal/plan"
)

// Counts are how many objects a run creates, updates and so on, and how many it waits for.
type Counts struct {
	Create, Delete, Update, Noop, Exists      int
	AwaitReconcile, AwaitDelete, AwaitNothing int
}

// Text returns the counts in kapp's words, "1 create, 0 delete, 0 update, 0 noop, 0 exists" and "1
// reconcile, 0 delete, 0 noop".
func (c Counts) Text() (op, wait string) {
	op = fmt.Sprintf("%d create, %d delete, %d update, %d noop, %d exists", c.Create, c.Delete,
		c.Update, c.Noop, c.Exists)
	return op, fmt.Sprintf("%d reconcile, %d delete, %d noop", c.AwaitReconcile, c.AwaitDelete,
		c.AwaitNothing)
}

// Description returns the description of a deployment for its record.
func (c Counts) Description() string {
	op, wait := c.Text()
	return "update: Op: " + op + " / Wait to: " + wait
}

// add counts a step; one that concerns no object or is left out does not count.
func (c *Counts) add(step *plan.Step) {
	switch step.Op {
	case plan.Create:
		c.Create++
	case plan.Update:
		c.Update++
	case plan.Delete:
		c.Delete++
	case plan.AwaitCreated:
		c.Exists++
	default:
		return
	}
	switch {
	case !step.Wait || !step.Op.Writes() && !step.Op.External():
		c.AwaitNothing++
	case step.Op.AwaitsDeletion():
		c.AwaitDelete++
	default:
		c.AwaitReconcile++
	}
}
