package kapp

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/sets/app"
)

func (p *program) newRename() *cobra.Command {
	var flags appFlags
	var name, namespace string
	cmd := &cobra.Command{
		Use: "rename", Short: "Rename app",
		Long: `Rename app: give its record another name, or another place. Its resources are not ` +
			`touched.`,
		Example: p.named(`  # Call app 'web' 'shop'
  NAME rename -a web --new-name shop`),
	}
	flags.add(cmd)
	p.lock.Add(cmd.Flags())
	cmd.Flags().StringVar(&name, "new-name", "", "Set new name (format: new-name)")
	cmd.Flags().StringVar(&namespace, "new-namespace", "", "Set new namespace (format: new-ns)")
	return p.command(cmd, false, func(ctx context.Context, s *session) error {
		if name == "" && namespace == "" {
			return errors.New("Expected either --new-name or/and --new-namespace to be supplied")
		}
		from, err := s.open(ctx, flags)
		if err != nil {
			return err
		}
		return s.apps.Rename(ctx,
			deploy.RenameRequest{App: from, To: app.Name{Name: name, Namespace: namespace}})
	})
}
