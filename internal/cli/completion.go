package cli

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/muster-deploy/muster/internal/cluster"
)

// askTimeout limits how long the server is asked what a command does without.
const askTimeout = 2 * time.Second

// addCompletion adds completion to the flags for the cluster: of contexts, clusters and users from
// the kubeconfig, and of namespaces from the server.
func (k *Kube) addCompletion(root *cobra.Command) {
	ofConfig := func(flag string, names func(api.Config) []string) {
		CompleteFlag(root, flag, func(*cobra.Command) []string {
			raw, err := k.config().RawConfig()
			if err != nil {
				return nil
			}
			return names(raw)
		})
	}
	ofConfig("context", func(c api.Config) []string { return sortedKeys(c.Contexts) })
	ofConfig("cluster", func(c api.Config) []string { return sortedKeys(c.Clusters) })
	ofConfig("user", func(c api.Config) []string { return sortedKeys(c.AuthInfos) })
	k.CompleteNamespaces(root, "namespace")
}

// CompleteNamespaces completes the value of a flag with the namespaces of the server.
func (k *Kube) CompleteNamespaces(cmd *cobra.Command, flag string) {
	CompleteFlag(cmd, flag, func(cmd *cobra.Command) []string {
		return k.Ask(cmd, func(ctx context.Context, c *cluster.Client) []string {
			found, _ := c.List(ctx, schema.GroupKind{Kind: "Namespace"}, "", nil)
			names := make([]string, len(found))
			for i, namespace := range found {
				names[i] = namespace.GetName()
			}
			return names
		})
	})
}

// CompleteKinds completes the value of a flag with the kinds of the server; with groups as
// KIND.GROUP.
func (k *Kube) CompleteKinds(cmd *cobra.Command, flag string, groups bool) {
	CompleteFlag(cmd, flag, func(cmd *cobra.Command) []string {
		return k.Ask(cmd, func(ctx context.Context, c *cluster.Client) []string {
			found, _, _ := c.ListableKinds(ctx) // without an answer nothing is completed
			names := make([]string, len(found))
			for i, kind := range found {
				if names[i] = kind.Kind; groups {
					names[i] = kind.GroupKind.String()
				}
			}
			slices.Sort(names)
			return slices.Compact(names)
		})
	})
}

// sortedKeys returns the keys of a map in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Ask returns what a function reads from the cluster for a completion, within a short time. Without
// a cluster it returns nil. Errors and warnings are not printed: a completion has nowhere to.
func (k *Kube) Ask(
	cmd *cobra.Command, read func(context.Context, *cluster.Client) []string,
) []string {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	return Ask(ctx, k, read)
}

// Ask returns what a function reads from the cluster, within a short time. Without a cluster, or an
// answer in time, it returns the zero value: it is for what a command does without. A plugin that
// asks for credentials does not end with the context, so that the function may outlive Ask.
func Ask[T any](
	ctx context.Context, k *Kube, read func(context.Context, *cluster.Client) T,
) (answer T) {
	client, err := k.Connect(cluster.Options{})
	if err != nil {
		return answer
	}
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	answers := make(chan T, 1)
	go func() { answers <- read(ctx, client) }()
	select {
	case answer = <-answers:
	case <-ctx.Done():
	}
	return answer
}

// CompleteFlag completes the value of a flag with the names that a function returns.
func CompleteFlag(cmd *cobra.Command, flag string, names func(*cobra.Command) []string) {
	// The only error is a flag that does not exist or has a completion already.
	_ = cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return names(cmd), cobra.ShellCompDirectiveNoFileComp
		})
}

// CompleteChoices completes the value of a flag with fixed ones.
func CompleteChoices(cmd *cobra.Command, flag string, values ...string) {
	CompleteFlag(cmd, flag, func(*cobra.Command) []string { return values })
}

// complete completes the arguments of the program as it would itself: it is run for that.
func (p Program) complete(env *Env, kube *Kube, name string) cobra.CompletionFunc {
	return func(
		cmd *cobra.Command, args []string, typed string,
	) ([]string, cobra.ShellCompDirective) {
		var out strings.Builder
		as := *env
		as.Args = append(append([]string{name, cobra.ShellCompRequestCmd}, args...), typed)
		as.Out, as.Err = &out, io.Discard
		if p(cmd.Context(), &as, kube) != exitDone {
			return nil, cobra.ShellCompDirectiveError
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		last, ok := strings.CutPrefix(lines[len(lines)-1], ":")
		directive, err := strconv.Atoi(last)
		if !ok || err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return lines[:len(lines)-1], cobra.ShellCompDirective(directive)
	}
}

// shells are those that can complete command lines.
var shells = []string{"bash", "zsh", "fish", "powershell"}

// newCompletion returns the command that prints the code with which a shell completes command
// lines of the root.
func newCompletion(env *Env, root *cobra.Command) *cobra.Command {
	plain := false
	cmd := &cobra.Command{
		Use:   "completion " + strings.Join(shells, "|"),
		Short: "Print the code with which a shell completes command lines",
		Long: strings.ReplaceAll(`Print the code with which bash, zsh, fish or PowerShell completes command lines: commands,
options and their values, the folders of packages, and names of contexts, namespaces, kinds, apps
and records, for which the cluster is asked for 2 seconds at most.

bash needs its package bash-completion, and zsh that compinit is loaded. For this session:

  source <(NAME completion bash)
  source <(NAME completion zsh)
  NAME completion fish | source
  NAME completion powershell | Out-String | Invoke-Expression

For all sessions, with the rights for the folder:

  NAME completion bash >/etc/bash_completion.d/NAME
  NAME completion bash >~/.local/share/bash-completion/completions/NAME
  NAME completion zsh >"${fpath[1]}/_NAME"
  NAME completion fish >~/.config/fish/completions/NAME.fish
  NAME completion powershell >>$PROFILE`, "NAME", env.Name()),
		Example:   "  source <(" + env.Name() + " completion bash)",
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return fmt.Errorf("name one shell: %s", strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(env.Out, !plain)
			case "zsh":
				if plain {
					return root.GenZshCompletionNoDesc(env.Out)
				}
				return root.GenZshCompletion(env.Out)
			case "fish":
				return root.GenFishCompletion(env.Out, !plain)
			case "powershell":
				if plain {
					return root.GenPowerShellCompletion(env.Out)
				}
				return root.GenPowerShellCompletionWithDesc(env.Out)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&plain, "no-descriptions", false, "Complete without descriptions")
	return cmd
}
