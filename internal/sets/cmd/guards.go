package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/plaintext"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets"
)

// heldFlags are the flags about objects that hold other objects or data. Only the native commands
// hold them back.
type heldFlags struct {
	allow plan.AllowDelete
	yes   bool // all may be deleted
}

// add adds the flags to a command. A destroy may be confirmed beforehand.
func (h *heldFlags) add(cmd *cobra.Command, destroys bool) {
	flags := cmd.Flags()
	flags.Var(&h.allow, "allow-delete",
		"Delete objects of this KIND[.GROUP], or of all kinds (*), although they hold other objects or "+
			"data: "+strings.Join(plan.HeldKindNames(), ", ")+" (can repeat)")
	// The only error is a flag that does not exist or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc("allow-delete", cobra.FixedCompletions(
		append(plan.HeldKindNames(), "*"), cobra.ShellCompDirectiveNoFileComp))
	if destroys {
		flags.BoolVarP(&h.yes, "yes", "y", false,
			"Do not ask before objects that hold other objects or data are deleted")
	}
}

// allowed returns the names of the kinds that may be deleted.
func (h *heldFlags) allowed() plan.AllowDelete {
	if h.yes {
		return plan.AllowDelete{"*"}
	}
	return h.allow
}

// confirm asks on a terminal whether objects that the plan holds back may be deleted, and makes the
// plan again if so.
func (h *heldFlags) confirm(ctx context.Context, env *cli.Env, op sets.Operation) error {
	held := op.Plan().HeldBack()
	if len(held) == 0 || !env.IsInteractive() {
		return nil
	}
	fmt.Fprintln(env.Err, "These objects hold other objects or data, which would be lost:")
	for _, ref := range held {
		fmt.Fprintln(env.Err, "- "+plaintext.Printable(ref.String()))
	}
	if ok, err := env.Confirm(ctx, "Delete them?"); err != nil || !ok {
		return err
	}
	return op.AllowDelete(ctx)
}

// heldResult returns the error for the exit code of a run that succeeded but held objects back.
func heldResult(op sets.Operation) error {
	if len(op.Plan().HeldBack()) > 0 {
		return &cli.ResultError{}
	}
	return nil
}
