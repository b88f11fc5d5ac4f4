// Package kapp is the dialect of apps: a name and any manifests, in the grammar of kapp.
//
// It holds the commands and flags, and joins what the packages below it know: the record of an app (app), its rules
// (config), what changes (change, history), in what order (graph), whether it is ready (judge) and how it is told (ui).
// The engine carries the plan out that is made of these.
package cmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/ui"
	"github.com/muster-deploy/muster/internal/cli"
)

const version = apps.Version

// program is what all commands share.
type program struct {
	env    *cli.Env
	kube   *cli.Kube
	global globalFlags
	help   *ui.UI // of what no command prints: help, versions and errors of the command line; nil until there is any
	native bool   // the commands are those of muster, and not of the program called kapp
	told   bool   // a command has told how it ended
}

// Commands are the commands of apps, beside those of packages.
func Commands(env *cli.Env, kube *cli.Kube) []*cobra.Command {
	p := &program{env: env, kube: kube, native: true}
	var all []*cobra.Command
	for _, group := range p.commands() {
		for _, cmd := range group {
			p.addGlobal(cmd)
			all = append(all, cmd)
		}
	}
	return all
}

// addGlobal gives a command and those below it the flags that all have, since the program's own belong to all grammars.
func (p *program) addGlobal(cmd *cobra.Command) { p.global.add(cmd.PersistentFlags()) }

// commands are all commands, by the section of the help in which they stand.
func (p *program) commands() map[string][]*cobra.Command {
	return map[string][]*cobra.Command{
		"app":         {p.newDelete(), p.newDeploy(), p.newInspect(), p.newList(), p.newLogs()},
		"app-support": {p.newAppChange(), p.newAppGroup(), p.newConfigMap(), p.newLabel(), p.newRename(), p.newServiceAccount()},
		"misc":        {p.newDeployConfig(), p.newTools()},
	}
}

// Program is the program that is called kapp. It gives kapp's exit codes.
func Program(ctx context.Context, env *cli.Env, kube *cli.Kube) int {
	p := &program{env: env, kube: kube}
	found, profile := clusterFlags{}, profileFlags{}
	root := p.root()
	found.add(root.PersistentFlags())
	profile.add(root.PersistentFlags())
	addPassedOver(root.PersistentFlags())
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if err := found.apply(kube); err != nil {
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
	root.Short = root.Use + " helps to manage applications on your Kubernetes cluster (" + names(all) + ")"
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cmd.Help(); err != nil {
			return err
		}
		return errors.New("Invalid command - see available commands/subcommands above")
	}
	root.SetArgs(p.env.Args[1:])
	root.SetIn(p.env.In)
	root.SetOut(helping{p})
	root.SetErr(p.env.Err)
	p.global.add(root.PersistentFlags())
	return root
}
