package kapp

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/sets/app"
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

// completeFlags completes the flags of a command and of those below it that name apps, namespaces,
// contexts and kinds.
func (p *program) completeFlags(cmd *cobra.Command, location *clusterFlags) {
	if p.kube == nil { // the commands are described only
		return
	}
	for _, child := range cmd.Commands() {
		p.completeFlags(child, location)
	}
	ask := func(flag string, read func(context.Context, *cobra.Command, *cluster.Client) []string) {
		if cmd.LocalFlags().Lookup(flag) == nil {
			return
		}
		cli.CompleteFlag(cmd, flag, func(cmd *cobra.Command) []string {
			if location.apply(p) != nil {
				return nil
			}
			return p.kube.Ask(cmd, func(ctx context.Context, c *cluster.Client) []string {
				return read(ctx, cmd, c)
			})
		})
	}
	ask("app", p.appNames)
	for _, flag := range []string{"namespace", "app-namespace", "into-ns", "filter-ns"} {
		ask(flag, namespaceNames)
	}
}

// appNames returns the names of the apps in the namespace that the flags of a command name.
func (p *program) appNames(
	ctx context.Context, cmd *cobra.Command, c *cluster.Client,
) []string {
	namespace := ""
	for _, name := range []string{"namespace", "app-namespace"} {
		if f := cmd.Flags().Lookup(name); f != nil && f.Value.String() != "" {
			namespace = f.Value.String()
		}
	}
	namespace = p.flagOrEnv(namespace, "KAPP_NAMESPACE")
	if namespace == "" {
		var err error
		if namespace, _, err = p.kube.Namespace(); err != nil {
			return nil
		}
	}
	records := &app.Store{Cluster: c}
	found, _ := records.List(ctx, namespace, nil) // what cannot be listed is left out
	var names []string
	for _, a := range found {
		names = append(names, a.Name)
	}
	return names
}

// namespaceNames returns the names of the namespaces.
func namespaceNames(ctx context.Context, _ *cobra.Command, c *cluster.Client) []string {
	found, _ := c.List(ctx, schema.GroupKind{Kind: "Namespace"}, "", nil)
	names := make([]string, len(found))
	for i, namespace := range found {
		names[i] = namespace.GetName()
	}
	return names
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
