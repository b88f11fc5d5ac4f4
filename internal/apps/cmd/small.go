package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/config"
)

func (p *program) newDeployConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use: "deploy-config", Short: "Show default deploy config",
		Long: `Show default deploy config: the rules for resources of the usual kinds, in the language of Config documents.`,
	}
	return p.command(cmd, false, func(_ context.Context, s *session) error {
		s.ui.Block(config.DefaultText())
		return nil
	})
}

func (p *program) newLabel() *cobra.Command {
	var flags appFlags
	cmd := &cobra.Command{
		Use: "label", Short: "Print specified app label",
		Long: `Print specified app label: the selector by which the resources of the app are found.`,
		Example: p.named(`  # List the pods of app 'web'
  kubectl get pods -l "$(NAME label -a web)"`),
	}
	flags.add(cmd)
	return p.command(cmd, false, func(ctx context.Context, s *session) error {
		name, err := s.open(ctx, flags)
		if err != nil {
			return err
		}
		target, err := s.apps.Existing(ctx, name)
		if err != nil {
			return err
		}
		s.ui.Block(target.Selector())
		return nil
	})
}

func (p *program) newRename() *cobra.Command {
	var flags appFlags
	var name, namespace string
	cmd := &cobra.Command{
		Use: "rename", Short: "Rename app",
		Long: `Rename app: give its record another name, or another place. Its resources are not touched.`,
		Example: p.named(`  # Call app 'web' 'shop'
  NAME rename -a web --new-name shop`),
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&name, "new-name", "", "Set new name (format: new-name)")
	cmd.Flags().StringVar(&namespace, "new-namespace", "", "Set new namespace (format: new-ns)")
	return p.command(cmd, false, func(ctx context.Context, s *session) error {
		if name == "" && namespace == "" {
			return errors.New("Expected either --new-name or/and --new-namespace to be supplied")
		}
		app, err := s.open(ctx, flags)
		if err != nil {
			return err
		}
		return s.apps.Rename(ctx, apps.RenameRequest{App: app, To: apps.Name{Name: name, Namespace: namespace}})
	})
}

func (p *program) newVersion() *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "Print client version"}
	return p.command(cmd, false, func(_ context.Context, s *session) error {
		s.ui.Block(fmt.Sprintf("%s version %s\n", p.env.Name(), version))
		return nil
	})
}

// shells are those that completion code can be had for.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func (p *program) newCompletion(root *cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:       "completion [" + strings.Join(shells, "|") + "]",
		Short:     "Output shell completion code for the specified shell (bash, zsh or fish)",
		Long:      "Output shell completion code for the specified shell: bash, zsh, fish or powershell.",
		ValidArgs: shells,
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		Example: p.named(`  # For this session of a shell
  source <(NAME completion bash)
  source <(NAME completion zsh)
  NAME completion fish | source
  NAME completion powershell | Out-String | Invoke-Expression

  # For all sessions of a shell
  NAME completion bash > /etc/bash_completion.d/NAME
  NAME completion zsh > "${fpath[1]}/_NAME"
  NAME completion fish > ~/.config/fish/completions/NAME.fish`),
	}
	return p.command(cmd, false, func(_ context.Context, s *session) error {
		var code strings.Builder
		if err := complete(root, cmd.Flags().Arg(0), &code); err != nil {
			return err
		}
		s.ui.Block(code.String())
		return nil
	})
}

// complete writes the code that has a shell complete the command lines of a program.
func complete(root *cobra.Command, shell string, w io.Writer) error {
	switch shell {
	case "bash":
		return root.GenBashCompletionV2(w, true)
	case "zsh":
		return root.GenZshCompletion(w)
	case "fish":
		return root.GenFishCompletion(w, true)
	default:
		return root.GenPowerShellCompletionWithDesc(w)
	}
}
