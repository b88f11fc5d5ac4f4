package run

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/show/view"
)

// heldFlags are the flags about objects that hold other objects or data. Only the native commands
// hold them back.
type heldFlags struct {
	allow plan.AllowDelete
	yes   bool // all may be deleted
	// destroys makes the question about the whole plan include all of them, unless allow names some.
	destroys bool
}

// add adds the flags to a command. A destroy may be confirmed beforehand.
func (h *heldFlags) add(cmd *cobra.Command, destroys bool) {
	h.destroys = destroys
	flags := cmd.Flags()
	flags.Var(&h.allow, "allow-delete",
		"Delete objects of this KIND[.GROUP], or of all kinds (*), although they hold other objects or "+
			"data: "+strings.Join(plan.HeldKindNames(), ", ")+", or none (can repeat)")
	// The only error is a flag that does not exist or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc("allow-delete", cobra.FixedCompletions(
		append(plan.HeldKindNames(), "*", "none"), cobra.ShellCompDirectiveNoFileComp))
	if destroys {
		flags.BoolVarP(&h.yes, "yes", "y", false,
			"Do not ask, and delete objects that hold other objects or data too, unless --allow-delete "+
				"is given")
	}
}

// allowed returns the names of the kinds that may be deleted.
func (h *heldFlags) allowed() plan.AllowDelete {
	if h.yes && len(h.allow) == 0 {
		return plan.AllowDelete{"*"}
	}
	return h.allow
}

// include makes a plan that destroys a set again, so that it deletes the objects that it holds
// back, and returns them.
func (h *heldFlags) include(ctx context.Context, op *sets.Operation) ([]object.Ref, error) {
	held := op.Plan.HeldBack()
	if !h.destroys || len(h.allow) > 0 || len(held) == 0 {
		return nil, nil
	}
	return held, op.AllowDelete(ctx)
}

// heldTitle precedes objects that hold other objects or data.
const heldTitle = "These objects hold other objects or data, which would be lost:"

// printHeld prints objects that hold other objects or data.
func printHeld(env *cli.Env, held []object.Ref) {
	if len(held) == 0 {
		return
	}
	env.Notice(heldTitle)
	for _, ref := range held {
		env.Notice("- " + ref.String())
	}
}

// asks reports whether confirm asks.
func (h *heldFlags) asks(env *cli.Env, op *sets.Operation) bool {
	return !h.destroys && len(op.Plan.HeldBack()) > 0 && env.IsInteractive()
}

// confirm asks on a terminal whether objects that the plan holds back may be deleted, and makes the
// plan again if so. A destroy has asked about the whole plan.
func (h *heldFlags) confirm(
	ctx context.Context, env *cli.Env, op *sets.Operation, header view.RunHeader,
) error {
	if !h.asks(env, op) {
		return nil
	}
	printHeld(env, op.Plan.HeldBack())
	question := cli.Question{
		What:  fmt.Sprintf("Delete them from %s in %s", header.Set, places(header.Namespace, op.Plan)),
		Place: header.Cluster,
	}
	if ok, err := env.Confirm(ctx, question); err != nil || !ok {
		return err
	}
	return op.AllowDelete(ctx)
}

// heldResult returns the error for the exit code of a run that succeeded but held objects back.
func heldResult(p *plan.Plan) error {
	if len(p.HeldBack()) > 0 {
		return &cli.ResultError{}
	}
	return nil
}
