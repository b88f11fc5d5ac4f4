package kapp

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/sets/app"
)

// deleteCommand is the command delete with its flags.
type deleteCommand struct {
	app    appFlags
	diff   diffFlags
	filter filterFlags
	apply  applyFlags
	kinds  kindFlags
	prev   string
	forget bool
}

func (p *program) newDelete() *cobra.Command {
	d := &deleteCommand{}
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Delete app",
		Long: `Delete app: delete its resources in their order, wait until they are gone, and forget ` +
			`the app.` + exitCodes,
		Example: p.named(`  # Delete app 'web'
  NAME delete -a web

  # Show what would be deleted
  NAME delete -a web --diff-run`),
	}
	d.app.add(cmd)
	d.diff.add(cmd, "diff-")
	d.filter.add(cmd)
	d.apply.add(cmd, "", true)
	d.kinds.add(cmd)
	cmd.Flags().StringVar(&d.prev, "prev-app", "", "Set previous app name")
	p.lock.Add(cmd.Flags())
	cmd.Flags().
		BoolVar(&d.forget, app.ForgetFlag, false, "Delete app even if it may have resources "+
			"that may not be listed, which are left behind")
	return p.command(cmd, true, d.run)
}

// run runs the command.
func (d *deleteCommand) run(ctx context.Context, s *session) error {
	if err := d.apply.check(); err != nil {
		return err
	}
	name, err := s.open(ctx, d.app)
	if err != nil {
		return err
	}
	result, err := s.apps.Delete(ctx, deploy.DeleteRequest{
		App: name, PrevName: d.prev, Filter: d.filter.Flags, Search: d.kinds.options(),
		Review: s.review(d.diff, d.apply), Run: s.runOptions(d.diff, d.apply, d.kinds),
		ForgetUnlistable: d.forget,
	})
	switch {
	case err != nil || !result.Found:
		return err
	case d.diff.run && d.diff.exitStatus:
		return ui.DiffExit(result.Changes > 0)
	case d.apply.exitStatus && !d.diff.run:
		return ui.ApplyExit(result.Changes > 0)
	}
	return nil
}
