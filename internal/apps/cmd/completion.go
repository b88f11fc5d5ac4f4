package cmd

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

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
		Use:   "completion [" + strings.Join(shells, "|") + "]",
		Short: "Output shell completion code for the specified shell (bash, zsh or fish)",
		Long: "Output shell completion code for the specified shell: bash, zsh, fish or " +
			"powershell.",
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
