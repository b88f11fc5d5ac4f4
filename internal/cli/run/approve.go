package run

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/feature/managed"
)

func newApprove(env *cli.Env, kube *cli.Kube) *cobra.Command {
	digest := ""
	cmd := &cobra.Command{
		Use:   "approve SET",
		Short: "Approve the plan of a Set that waits for it",
		Long: `Print the plan of a Set of mode Plan that waits for its approval, with the values of Secrets
masked, ask on a terminal, and set spec.approve to its digest. The controller runs exactly this
plan; if the source or the cluster has changed, it makes another one, which waits again.

Without a terminal --plan has to give the digest of the plan that was read; with it, nothing is
asked. A digest that is not that of the waiting plan is an error.

Exit codes:
  0    the plan is approved
  1    no plan was approved: the error says why
  130  interrupted`,
		Example: "  " + env.Name() + " approve shop\n" +
			"  " + env.Name() + " approve set/shop -n shop --plan sha256:DIGEST",
		Args:              cli.Arguments(1, 1),
		ValidArgsFunction: completeSets(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return approve(cmd.Context(), env, kube, args[0], digest)
		},
	}
	cmd.Flags().StringVar(&digest, "plan", "", "Digest of the plan that may run: sha256:DIGEST")
	return cmd
}

func approve(
	ctx context.Context, env *cli.Env, kube *cli.Kube, argument, digest string,
) error {
	a, err := openSet(ctx, kube, argument)
	if err != nil {
		return err
	}
	plan := a.set.Status.Plan
	done, err := checkApproval(a.set, digest)
	if err != nil {
		return err
	}
	if done {
		return env.Print(fmt.Sprintf("%s: plan %s is approved already", a.set.Title(), plan.Digest))
	}
	if err := a.printPlan(ctx, env); err != nil {
		return err
	}
	if digest == "" {
		if !env.IsInteractive() {
			return fmt.Errorf("there is no terminal to ask on: approve the plan that is printed above "+
				"with --plan %s", plan.Digest)
		}
		place, err := kube.Place(a.client.Host())
		if err != nil {
			return err
		}
		what := fmt.Sprintf("Approve plan %s of %s in namespace %s", plan.Digest, a.set.Title(),
			a.set.Namespace)
		if err := answered(env.Confirm(ctx, cli.Question{What: what, Place: place})); err != nil {
			return err
		}
	}
	if err := managed.Approve(ctx, a.client, a.set, plan.Digest); err != nil {
		return err
	}
	if a.set.Spec.Suspend {
		env.Notice("note: " + a.set.Title() + " is suspended: the plan runs after " +
			env.Command("resume", a.set.Title()))
	}
	return env.Print(fmt.Sprintf("%s: plan %s approved", a.set.Title(), plan.Digest))
}

// checkApproval returns an error unless a plan of the Set waits, and is the one with the digest if
// that is not empty. Done reports that it is approved already.
func checkApproval(s *managed.Set, digest string) (done bool, err error) {
	plan := s.Status.Plan
	switch {
	case s.Spec.Mode != managed.ModePlan:
		return false, fmt.Errorf("%s has mode %s: only plans of mode Plan wait for an approval",
			s.Title(), s.Spec.Mode)
	case plan.State != managed.PlanWaiting || plan.Digest == "":
		err := fmt.Errorf("no plan of %s waits for an approval", s.Title())
		if plan.Summary != "" {
			err = fmt.Errorf("%w: the last one (%s) has the state %s", err, plan.Summary, plan.State)
		}
		return false, err
	case digest != "" && digest != plan.Digest:
		return false, fmt.Errorf("the plan of %s that waits is %s (%s), and --plan is %s: read the plan "+
			"that waits first", s.Title(), plan.Digest, plan.Summary, digest)
	}
	return s.Spec.Approve == plan.Digest, nil
}

// printPlan prints the plan that waits.
func (a setArgument) printPlan(ctx context.Context, env *cli.Env) error {
	plan := a.set.Status.Plan
	text, err := managed.PlanText(ctx, a.client, a.set)
	switch {
	case apierrors.IsForbidden(err):
		env.Notice("note: the plan cannot be shown in full: " + err.Error())
	case err != nil:
		return err
	case a.set.Elsewhere():
		env.Notice(fmt.Sprintf("note: the plan is in Secret %s of the cluster of the objects; only its "+
			"summary can be shown", plan.Secret))
	case text == "":
		env.Notice("note: the plan is not stored in full; only its summary can be shown")
	default:
		text = strings.TrimRight(plaintext.Printable(text), "\n")
		if _, err := fmt.Fprintln(env.Out, text); err != nil {
			return fmt.Errorf("write the output: %w", err)
		}
	}
	if !a.set.Observed() {
		env.Notice("note: " + a.set.Title() + " has changed since this plan was made; the controller " +
			"may make another one")
	}
	if plan.Summary == "" {
		return errors.New("the plan has no summary")
	}
	return env.Print(fmt.Sprintf("%s: %s (plan %s)", a.set.Title(),
		plaintext.Line(plan.Summary), plan.Digest))
}
