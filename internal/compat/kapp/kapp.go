// Package kapp holds the commands of apps, in the grammar of kapp: they parse flags, call the use
// cases of package deploy, and print the results.
package kapp

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
)

const version = deploy.Version

// program is the state that all commands share.
type program struct {
	env    *cli.Env
	kube   *cli.Kube
	global globalFlags
	help   *ui.UI // for help, versions and errors of the command line; nil until it is needed
	lock   cli.LockFlags
	closed bool // a command has printed its end
}

// commands returns all commands, by their section of the help.
func (p *program) commands() map[string][]*cobra.Command {
	return map[string][]*cobra.Command{
		"app": {p.newDelete(), p.newDeploy(), p.newInspect(), p.newList(), p.newLogs()},
		"app-support": {
			p.newAppChange(),
			p.newAppGroup(),
			p.newConfigMap(),
			p.newLabel(),
			p.newRename(),
			p.newServiceAccount(),
		},
		"misc": {p.newDeployConfig(), p.newTools()},
	}
}

// Program runs the program called kapp and returns kapp's exit code.
func Program(ctx context.Context, env *cli.Env, kube *cli.Kube) int {
	p := newProgram(env, kube)
	location, profile := clusterFlags{}, profileFlags{}
	root := p.rootWith(&location, &profile)
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if err := location.apply(p); err != nil {
			return err
		}
		return profile.start()
	}
	code := p.exit(ctx, root.ExecuteContext(ctx))
	if err := profile.end(); err != nil {
		fmt.Fprintf(env.Err, "%s: Error: %v\n", env.Name(), err)
		code = max(code, 1)
	}
	return code
}

// NewRoot returns the command kapp with all its commands, to describe them.
func NewRoot(env *cli.Env) *cobra.Command {
	return newProgram(env, nil).rootWith(&clusterFlags{}, &profileFlags{})
}

func newProgram(env *cli.Env, kube *cli.Kube) *program {
	p := &program{env: env, kube: kube, lock: cli.NewLockFlags()}
	p.lock.Quiet = true
	return p
}

// rootWith returns the command with all its commands and the flags that all of them have.
func (p *program) rootWith(location *clusterFlags, profile *profileFlags) *cobra.Command {
	root := p.root()
	location.add(root.PersistentFlags())
	profile.add(root.PersistentFlags())
	addIgnored(root.PersistentFlags())
	p.completeFlags(root, location)
	return root
}

func (p *program) root() *cobra.Command {
	var all []*cobra.Command
	root := &cobra.Command{
		Use:           p.env.Name(),
		Version:       version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}
	root.AddGroup(sections...)
	for section, group := range p.commands() {
		for _, cmd := range group {
			cmd.GroupID = section
			all = append(all, cmd)
			if cmd.HasSubCommands() {
				cmd.AddGroup(sections[len(sections)-1])
			}
			for _, child := range cmd.Commands() {
				child.GroupID = otherSection
			}
		}
	}
	for _, cmd := range []*cobra.Command{p.newCompletion(root), p.newVersion()} {
		cmd.GroupID = otherSection
		all = append(all, cmd)
	}
	root.AddCommand(all...)
	root.SetHelpCommandGroupID(otherSection)
	root.CompletionOptions.DisableDefaultCmd = true
	root.Short = root.Use + " helps to manage applications on your Kubernetes cluster (" + names(
		all,
	) + ")"
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmd.Help(); err != nil {
			return err
		}
		return errors.New("Invalid command - see available commands/subcommands above")
	}
	root.SetArgs(p.env.Args[1:])
	root.SetIn(p.env.In)
	root.SetOut(helpWriter{p})
	root.SetErr(p.env.Err)
	p.global.add(root.PersistentFlags())
	return root
}
