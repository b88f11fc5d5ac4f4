package kapp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/sets/app"
)

func (p *program) newAppGroup() *cobra.Command {
	cmd := parent("app-group",
		"app-group will deploy/delete an application for each subdirectory within a directory",
		[]string{"ag", "appgroup"}, p.newGroupDeploy(), p.newGroupDelete())
	cmd.Example = p.named(
		`  # Deploy the folders shop/web and shop/db as the apps 'live-web' and 'live-db'
  NAME app-group deploy -g live -d shop/

  # Delete both
  NAME app-group delete -g live`,
	)
	return cmd
}

// addGroup adds the flags that identify a group of apps.
func addGroup(cmd *cobra.Command, group *string, f *appFlags) {
	addNamespace(cmd, &f.namespace)
	cmd.Flags().StringVarP(group, "group", "g", "", "Set app group name")
	addAppNamespace(cmd, &f.appNamespace)
}

var errNoGroup = errors.New("Expected group name to be non-empty")

// groupDeployCommand is the command app-group deploy with its flags.
type groupDeployCommand struct {
	group  string
	each   deployCommand // for every app, without its name and files
	gone   applyFlags    // for the deletion of apps that have no folder any more
	folder string        // of the folders that are apps
}

func (p *program) newGroupDeploy() *cobra.Command {
	g := &groupDeployCommand{}
	cmd := &cobra.Command{
		Use: "deploy", Aliases: []string{"d", "dep"},
		Short: "Deploy app group",
		Long: `Deploy app group: deploy every folder of a directory as an app of its own, one after the other, and delete
those apps of the group whose folder is gone.` + exitCodes,
		Example: p.named(`  # Deploy the folders shop/web and shop/db as the apps 'live-web' and 'live-db'
  NAME app-group deploy -g live -d shop/`),
	}
	addGroup(cmd, &g.group, &g.each.app)
	cmd.Flags().
		StringVarP(&g.folder, "directory", "d", "", "Set directory (format: /tmp/foo); each "+
			"folder in it is an app")
	g.each.add(cmd)
	g.gone.add(cmd, "delete-", true)
	p.lock.Add(cmd.Flags())
	sectioned(cmd)
	return p.command(cmd, true, g.run)
}

// run runs the command.
func (g *groupDeployCommand) run(ctx context.Context, s *session) error {
	if g.group == "" {
		return errNoGroup
	}
	if err := g.gone.check(); err != nil {
		return err
	}
	if err := g.each.check(); err != nil {
		return err
	}
	namespace, err := s.recordNamespace(g.each.app)
	if err != nil {
		return err
	}
	members, err := g.members()
	if err != nil {
		return err
	}
	each, err := g.each.request(s)
	if err != nil {
		return err
	}
	result, err := s.apps.DeployGroup(ctx, deploy.DeployGroupRequest{
		Group: app.GroupName{Name: g.group, Namespace: namespace}, Directory: g.folder,
		Members:    members,
		AllowEmpty: g.each.deploy.allowEmpty, Deploy: each,
		Delete: deploy.DeleteRequest{
			Review: s.review(g.each.diff, g.gone), Run: s.runOptions(g.each.diff, g.gone, kindFlags{}),
		},
		Connect: func(ctx context.Context) error {
			_, err := s.open(ctx, g.each.app)
			return err
		},
	})
	switch {
	case err != nil:
		return err
	case g.each.diff.run && g.each.diff.exitStatus:
		return ui.DiffExit(result.Deployed || result.Deleted)
	case g.each.apply.exitStatus:
		return ui.ApplyExit(result.Deployed || result.Deleted)
	case g.gone.exitStatus:
		return ui.ApplyExit(result.Deleted)
	}
	return nil
}

// members returns the apps of the folders, sorted. Links are ignored.
func (g *groupDeployCommand) members() ([]deploy.GroupMember, error) {
	entries, err := os.ReadDir(g.folder)
	if err != nil {
		return nil, fmt.Errorf("Reading directory '%s': %w", g.folder, err)
	}
	var members []deploy.GroupMember
	for _, entry := range entries {
		if entry.IsDir() {
			members = append(members, deploy.GroupMember{
				Name: g.group + "-" + entry.Name(), Folder: filepath.Join(g.folder, entry.Name()),
			})
		}
	}
	return members, nil
}

// groupDeleteCommand is the command app-group delete with its flags.
type groupDeleteCommand struct {
	group string
	app   appFlags
	diff  diffFlags
	apply applyFlags
}

func (p *program) newGroupDelete() *cobra.Command {
	g := &groupDeleteCommand{}
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Delete app group",
		Long:  `Delete app group: delete every app of the group, one after the other.` + exitCodes,
		Example: p.named(`  # Delete all apps of the group 'live'
  NAME app-group delete -g live`),
	}
	addGroup(cmd, &g.group, &g.app)
	g.diff.add(cmd, "diff-")
	g.apply.add(cmd, "", true)
	p.lock.Add(cmd.Flags())
	sectioned(cmd)
	return p.command(cmd, true, g.run)
}

// run runs the command.
func (g *groupDeleteCommand) run(ctx context.Context, s *session) error {
	if g.group == "" {
		return errNoGroup
	}
	if err := g.apply.check(); err != nil {
		return err
	}
	name, err := s.open(ctx, g.app)
	if err != nil {
		return err
	}
	group := app.GroupName{Name: g.group, Namespace: name.Namespace}
	deleted, err := s.apps.DeleteGroup(ctx, group, deploy.DeleteRequest{
		Review: s.review(g.diff, g.apply), Run: s.runOptions(g.diff, g.apply, kindFlags{}),
	})
	switch {
	case err != nil:
		return err
	case g.apply.exitStatus && !g.diff.run:
		return ui.ApplyExit(deleted)
	}
	return nil
}
