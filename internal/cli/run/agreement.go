package run

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/show/view"
)

// errAsks is the error of a run that has to ask the user, and holds the lock.
var errAsks = errors.New("the user has to be asked")

// agreement is a plan that the user has agreed to; empty for none.
type agreement struct {
	t      setflags.Target
	op     *sets.Operation // nil for none
	digest string          // of the plan
}

// asksFirst reports whether the user may be asked about the plan.
func (r run) asksFirst() bool { return r.saved == nil && !r.yes && r.env.IsInteractive() }

// agree makes the plan, and returns an error unless the user agrees to it.
func (r *run) agree(
	limited, unlimited context.Context, prepare preparation, agreed *agreement,
) (err error) {
	r.mayAsk = true
	if agreed.t, agreed.op, err = prepare(limited); err != nil {
		return err
	}
	if err = r.refuseManaged(limited, agreed.t, agreed.op); err != nil {
		return err
	}
	if err = r.plan(limited, unlimited, agreed.t, agreed.op, false); err != nil {
		return err
	}
	agreed.digest, err = agreed.op.Digest()
	return err
}

// planAgain makes the plan under the lock, and returns an error unless it is the one that the user
// has agreed to.
func (r run) planAgain(ctx context.Context, op *sets.Operation, agreed *agreement) error {
	if err := op.MakePlan(ctx); err != nil {
		return err
	}
	if r.current != nil {
		if err := r.current(ctx); err != nil {
			return err
		}
	}
	if len(r.locks) > 0 { // the operation was prepared again
		if err := r.checkAgain(ctx, op); err != nil {
			return err
		}
	}
	digest, err := op.Digest()
	if err == nil && digest != agreed.digest {
		err = errors.New("the plan would be another one now: the set or the cluster has changed since " +
			"it was shown; nothing was changed: give the command again")
	}
	return err
}

// confirm returns an error unless the plan is the saved one, or the user agrees to it.
func (r run) confirm(ctx, unlimited context.Context, op *sets.Operation) error {
	switch {
	case r.saved != nil:
		return op.Check(ctx, r.saved)
	case r.options.DryRun != engine.DryRunNone:
		return nil
	case r.review != nil, !r.yes && r.env.IsInteractive():
		if err := r.ask(ctx, unlimited, op); err != nil {
			return err
		}
	}
	if !r.yes && r.outputs.Text() && writesObjects(op.Plan) {
		noteUnasked(r.env)
	}
	if !r.mayAsk && r.held.asks(r.env, op) {
		return errAsks
	}
	return r.held.confirm(unlimited, r.env, op, r.show.Header)
}

// ask prints the plan and returns an error unless the user agrees to it. Nothing is asked if
// nothing would change, without a terminal, and if the user has agreed beforehand.
func (r run) ask(ctx, unlimited context.Context, op *sets.Operation) error {
	held, err := r.held.include(ctx, op)
	if err != nil {
		return err
	}
	outlooks, err := r.outlooks(ctx, op, dryRunOf(op.Plan))
	if err != nil {
		return err
	}
	q := question{
		shown: planChanges(outlooks), held: held, defines: op.Defines(),
		asked: cli.Question{What: r.act(op.Plan), Place: r.show.Header.Cluster},
	}
	changes := slices.ContainsFunc(outlooks, func(o view.Outlook) bool {
		return o.Verb().Changes() || o.Verb() == view.ToFail
	})
	asks := !r.yes && r.env.IsInteractive() && (changes || q.defines != "")
	var refused error
	if r.review != nil {
		q.reviewed, refused = r.review(ctx, outlooks)
	}
	if asks && refused == nil {
		return answered(r.agrees(unlimited, q))
	}
	if err := r.printPlan(ctx, q); err != nil {
		return err
	}
	for _, note := range q.reviewed {
		r.env.Notice(note)
	}
	return refused
}

// act returns what the run does to which set, for a question.
func (r run) act(p *plan.Plan) string {
	verb, revision := strings.ToUpper(r.command[:1])+r.command[1:], ""
	if r.restores != nil {
		verb, revision = "Roll back", fmt.Sprintf(" to revision %d", *r.restores)
	}
	header := r.show.Header
	return fmt.Sprintf("%s %s in %s%s", verb, header.Set, places(header.Namespace, p), revision)
}

// maxPlaces is the largest number of namespaces that a question names.
const maxPlaces = 4

// places returns the namespace of a record and those of the objects, if these are elsewhere.
func places(home string, p *plan.Plan) string {
	others := map[string]bool{}
	for _, ref := range p.Refs() {
		if ref.Namespace != "" && ref.Namespace != home {
			others[ref.Namespace] = true
		}
	}
	if len(others) == 0 {
		return "namespace " + home
	}
	names := slices.Sorted(maps.Keys(others))
	if len(names) > maxPlaces {
		names = append(names[:maxPlaces], fmt.Sprintf("%d more", len(others)-maxPlaces))
	}
	return fmt.Sprintf("namespace %s, and in %s", home, strings.Join(names, ", "))
}

// noteUnasked prints that a command that asks on a terminal goes ahead without one.
func noteUnasked(env *cli.Env) {
	if !env.IsInteractive() {
		env.Notice("note: nothing was asked, since there is no terminal to ask on; --yes omits this note")
	}
}

// answered returns the error of a question whose answer is not yes.
func answered(ok bool, err error) error {
	if err == nil && !ok {
		err = errors.New("cancelled: nothing was changed")
	}
	return err
}
