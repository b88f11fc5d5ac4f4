package apps

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/changegraph"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// With a policy in RunOptions the annotations of packages count in apps as well: order, values of
// other objects, waiting, and what is left unchanged or in the cluster.

// annotate changes the step of a change as annotations of packages want.
func (r *Run) annotate(step *plan.Step, c *change.Change) error {
	if r.options.Policy == nil {
		return nil
	}
	if err := r.options.Policy.Annotate(step, c.New); err != nil {
		return err
	}
	if step.Op == plan.Orphan && step.ReasonCode == plan.ReasonRetained {
		return r.setRelease(step)
	}
	return nil
}

// setRelease sets the patch of a step that leaves its object in the cluster.
func (r *Run) setRelease(step *plan.Step) (err error) {
	step.Want = nil
	step.Patch, err = r.release(step.Have)
	return err
}

// nodes returns the changes with their groups and rules. With a policy, the dependencies that
// objects declare are rules as well.
func (r *Run) nodes() ([]changegraph.Node, error) {
	nodes := make([]changegraph.Node, len(r.changes))
	errs := make([]error, len(nodes)) // by change
	declared := declaredGroups{all: r.config}
	if len(r.foreign) > 0 {
		declared.builtIn = config.Default()
	}
	for i, c := range r.changes {
		name := c.Description()
		if r.options.Policy != nil {
			name = r.place(c)
		}
		rules := changegraph.Rules(r.config)
		if c.Foreign != "" {
			rules = declared
		}
		node, err := changegraph.NodeOf(name, changegraph.Op(c.GraphOp()), c.Object(), rules)
		if err != nil && r.options.Policy == nil {
			return nil, err
		}
		if err != nil {
			errs[i] = r.objectError(c, changegraph.Explain(err, c.Object(), r.config))
		}
		node.Waits = c.WaitOp() == change.AwaitReconcile
		nodes[i] = node
	}
	if r.options.Policy != nil {
		r.addDependencies(nodes, errs)
		r.findUnknownGroups(nodes)
	}
	return nodes, errors.Join(errs...)
}

// declaredGroups are the groups of a configuration without the built-in ones, and no rules. They
// are for objects that belong to others: members of built-in groups, as namespaces and definitions,
// have only to exist.
type declaredGroups struct{ all, builtIn *config.Config }

// ChangeGroups returns the groups of an object.
func (d declaredGroups) ChangeGroups(obj *unstructured.Unstructured) []string {
	builtIn := d.builtIn.ChangeGroups(obj)
	return slices.DeleteFunc(d.all.ChangeGroups(obj), func(group string) bool {
		return slices.Contains(builtIn, group)
	})
}

// ChangeRules returns nothing.
func (declaredGroups) ChangeRules(*unstructured.Unstructured) []config.RuleBinding { return nil }

// place returns the object of a change, and the file and document that describe it.
func (r *Run) place(c *change.Change) string {
	text := object.RefOf(c.Object()).String()
	if source := r.sources[c.New]; source != "" {
		text += " (" + source + ")"
	}
	return text
}

// objectError returns an error of the object of a change.
func (r *Run) objectError(c *change.Change, err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var errs []error
		for _, err := range joined.Unwrap() {
			errs = append(errs, r.objectError(c, err))
		}
		return errors.Join(errs...)
	}
	return &plan.ObjectError{Ref: object.RefOf(c.Object()), Source: r.sources[c.New], Err: err}
}

// findUnknownGroups finds the rules in annotations of described objects that name a group which no
// object has.
func (r *Run) findUnknownGroups(nodes []changegraph.Node) {
	r.unknownGroups = changegraph.UnknownGroups(nodes, func(i int) int {
		c, own := r.changes[i], 0 // rules of annotations, which come first
		if c.New == nil {
			return 0
		}
		for key := range resource.Annotations(c.New) {
			if key == resource.AnnChangeRule || strings.HasPrefix(key, resource.AnnChangeRule+".") {
				own++
			}
		}
		return own
	})
}

// UnknownGroups returns the groups that change rules of described objects name and no object has.
func (d *Deployment) UnknownGroups() map[object.Ref][]string {
	found := map[object.Ref][]string{}
	for _, unknown := range d.run.unknownGroups {
		ref := object.RefOf(d.run.changes[unknown.Node].Object())
		found[ref] = append(found[ref], unknown.Group)
	}
	return found
}

// CycleError reports described objects that wait for each other, in the words of packages.
type CycleError struct {
	Names []string // each waits for the next, the last one for the first
	text  string
}

func (e *CycleError) Error() string { return e.text }

// orderError returns the error of an order that cannot be, in the words of packages.
func (r *Run) orderError(err error) error {
	cycle := (*changegraph.CycleError)(nil)
	if r.options.Policy == nil || !errors.As(err, &cycle) {
		return err
	}
	first := slices.Index(cycle.Chain, cycle.Chain[len(cycle.Chain)-1])
	found := &CycleError{text: "cyclic dependency:"}
	for k := first; k+1 < len(cycle.Chain); k++ {
		to, _, _ := strings.Cut(cycle.Chain[k+1], " (")
		found.text += fmt.Sprintf("\n- %s -> %s", cycle.Chain[k], to)
		name, _, _ := strings.Cut(cycle.Chain[k], " (")
		found.Names = append(found.Names, name)
	}
	return found
}
