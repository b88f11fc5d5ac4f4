package engine

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/plan"
)

// keptFields are fields of an object that the server keeps although the manifest no longer has
// them, as the clusterIP of a Service.
type keptFields struct {
	all       []string
	immutable []string // those that only a new object is without
}

// keptBy returns the fields that the server keeps in the update of a step, by its answer. Apps take
// such fields from the live object.
func keptBy(p *plan.Plan, step *plan.Step, answer *unstructured.Unstructured) (k keptFields) {
	if step.Op != plan.Update || step.Have == nil || answer == nil || step.Reverts != nil ||
		p.Decider != nil || p.OnlyClientSide {
		return k
	}
	sent, err := step.Want, error(nil)
	if step.ServerSide {
		sent, err = diff.AfterApply(step.Want, step.Have, applier(p, step))
	}
	if err != nil {
		return k // it is not known
	}
	k.all = diff.Kept(step.Have, sent, answer)
	if len(k.all) == 0 {
		return k
	}
	immutable := diff.ImmutableChanges(step.Have, sent)
	for _, path := range k.all {
		if slices.ContainsFunc(immutable, func(field string) bool {
			return path == field || strings.HasPrefix(path, field+".")
		}) {
			k.immutable = append(k.immutable, path)
		}
	}
	return k
}

// reason returns which fields are kept, and what users may do; empty if there are none.
func (k keptFields) reason(p *plan.Plan, step *plan.Step) string {
	if len(k.all) == 0 {
		return ""
	}
	text := "the server keeps " + strings.Join(k.all, ", ") + ", which the manifest no longer has"
	if advice := p.Advice(step, k.immutable); len(k.immutable) > 0 && advice != "" {
		text += "; " + advice
	}
	return text
}

// recreateKept returns the result of the recreation of an object that has to lose immutable fields
// which the server keeps, if the step wants that and the server would create the object; else nil.
func recreateKept(
	ctx context.Context, c cluster.Writer, p *plan.Plan, step *plan.Step,
	answer *unstructured.Unstructured,
	k keptFields, o *Options,
) *result {
	if len(k.immutable) == 0 || !replaces(step, plan.ReplaceImmutable) {
		return nil
	}
	next, _, err := plannedRecreation(p, step)
	if err != nil || refusesCreation(tryCreation(ctx, c, p, next, o), o) {
		return nil
	}
	if o.DryRun == DryRunNone {
		next.Have = answer
	}
	because := &ImmutableError{Fields: k.immutable, Hint: p.Advice(step, k.immutable)}
	return recreate(ctx, c, p, next, because, o)
}
