package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/ui"
)

func (p *program) newAppGroup() *cobra.Command {
	cmd := parent("app-group", "app-group will deploy/delete an application for each subdirectory within a directory",
		[]string{"ag", "appgroup"}, p.newGroupDeploy(), p.newGroupDelete())
	cmd.Example = p.named(`  # Deploy the folders shop/web and shop/db as the apps 'live-web' and 'live-db'
  NAME app-group deploy -g live -d shop/

  # Delete both
  NAME app-group delete -g live`)
	return cmd
}

// addGroup gives a command the flags that name a group of apps, and where their records are.
func addGroup(cmd *cobra.Command, group *string, f *appFlags) {
	addNamespace(cmd, &f.namespace)
	cmd.Flags().StringVarP(group, "group", "g", "", "Set app group name")
	addAppNamespace(cmd, &f.appNamespace)
}

var errNoGroup = errors.New("Expected group name to be non-empty")

// groupDeployment is a run of app-group deploy.
type groupDeployment struct {
	each   deployment // of every app, but for its name and files
	gone   applyFlags // how apps are deleted whose folder is gone
	folder string     // whose folders are the apps
}

func (p *program) newGroupDeploy() *cobra.Command {
	g := &groupDeployment{}
	cmd := &cobra.Command{
		Use: "deploy", Aliases: []string{"d", "dep"},
		Short: "Deploy app group",
		Long: `Deploy app group: deploy every folder of a directory as an app of its own, one after the other, and delete
those apps of the group whose folder is gone.` + exitCodes,
		Example: p.named(`  # Deploy the folders shop/web and shop/db as the apps 'live-web' and 'live-db'
  NAME app-group deploy -g live -d shop/`),
	}
	addGroup(cmd, &g.each.group, &g.each.app)
	cmd.Flags().StringVarP(&g.folder, "directory", "d", "", "Set directory (format: /tmp/foo); each folder in it is an app")
	g.each.add(cmd)
	g.gone.add(cmd, "delete-", true)
	sectioned(cmd)
	return p.speaks(cmd, true, g.run)
}

func (g *groupDeployment) run(ctx context.Context, s *session) error {
	if g.each.group == "" {
		return errNoGroup
	}
	if err := g.gone.check(); err != nil {
		return err
	}
	home, err := s.homeOf(g.each.app)
	if err != nil {
		return err
	}
	folders, err := g.folders()
	if err != nil {
		return err
	}
	if len(folders) == 0 && !g.each.deploy.allowEmpty {
		if err := g.empty(ctx, s); err != nil {
			return err
		}
	}
	changes := false
	names := map[string]bool{}
	for _, folder := range folders {
		one := g.each
		one.app.name, one.files.files = g.each.group+"-"+folder, []string{filepath.Join(g.folder, folder)}
		names[one.app.name] = true
		s.ui.Line(fmt.Sprintf("--- deploying app '%s' (namespace: %s) from %s", one.app.name, home, one.files.files[0]))
		if err := collect(one.run(ctx, s), &changes); err != nil {
			return err
		}
	}
	left := func(a *app.App) bool { return !names[a.Name] }
	if err := s.deleteGroup(ctx, g.each.group, deletion{app: g.each.app, diff: g.each.diff, apply: g.gone}, left, &changes); err != nil {
		return err
	}
	switch {
	case g.each.diff.run && g.each.diff.exitStatus:
		return ui.Diffed(changes)
	case g.each.apply.exitStatus || g.gone.exitStatus:
		return ui.Applied(changes)
	}
	return nil
}

// folders are the names of the folders that are apps, sorted. Links are none.
func (g *groupDeployment) folders() ([]string, error) {
	entries, err := os.ReadDir(g.folder)
	if err != nil {
		return nil, fmt.Errorf("Reading directory '%s': %w", g.folder, err)
	}
	var names []string
	for _, entry := range entries {
		if entry.IsDir() {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// empty refuses to deploy a directory without folders if the group has apps, all of which would be deleted.
func (g *groupDeployment) empty(ctx context.Context, s *session) error {
	apps, _, err := s.group(ctx, g.each.group, g.each.app)
	if err != nil || len(apps) == 0 {
		return err
	}
	names := make([]string, len(apps))
	for i, one := range apps {
		names[i] = one.Name
	}
	return fmt.Errorf("Directory '%s' has no folders, so that all apps of group '%s' would be deleted: %s. "+
		"Refusing to continue unless --dangerous-allow-empty-list-of-resources is specified (hint: app-group delete deletes a group)",
		g.folder, g.each.group, strings.Join(names, ", "))
}

// group gives the apps of a group, sorted, and the namespace of their records.
func (s *session) group(ctx context.Context, group string, f appFlags) ([]*app.App, string, error) {
	home, err := s.home(ctx, f)
	if err != nil {
		return nil, "", err
	}
	apps, err := s.apps.Group(ctx, group, home)
	return apps, home, err
}

// collect gives the error of one app, unless it is only the exit status that tells whether there were changes.
func collect(err error, changes *bool) error {
	status := (*ui.ExitError)(nil)
	if !errors.As(err, &status) {
		return err
	}
	*changes = *changes || status.Changes()
	return nil
}

// deleteGroup deletes the apps of a group that are chosen, each as d says but for its name.
func (s *session) deleteGroup(ctx context.Context, group string, d deletion, chosen func(*app.App) bool, changes *bool) error {
	apps, home, err := s.group(ctx, group, d.app)
	if err != nil {
		return err
	}
	apps = slices.DeleteFunc(apps, func(a *app.App) bool { return !chosen(a) })
	for _, one := range apps {
		*changes = true
		run := d
		run.app.name = one.Name
		s.ui.Line(fmt.Sprintf("--- deleting app '%s' (namespace: %s)", one.Name, home))
		if err := collect(run.run(ctx, s), changes); err != nil {
			return err
		}
	}
	return nil
}

// groupDeletion is a run of app-group delete.
type groupDeletion struct {
	group string
	each  deletion // of every app, but for its name
}

func (p *program) newGroupDelete() *cobra.Command {
	g := &groupDeletion{}
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Delete app group",
		Long:  `Delete app group: delete every app of the group, one after the other.` + exitCodes,
		Example: p.named(`  # Delete all apps of the group 'live'
  NAME app-group delete -g live`),
	}
	addGroup(cmd, &g.group, &g.each.app)
	g.each.diff.add(cmd, "diff-")
	g.each.apply.add(cmd, "", true)
	sectioned(cmd)
	return p.speaks(cmd, true, g.run)
}

func (g *groupDeletion) run(ctx context.Context, s *session) error {
	if g.group == "" {
		return errNoGroup
	}
	changes := false
	all := func(*app.App) bool { return true }
	if err := s.deleteGroup(ctx, g.group, g.each, all, &changes); err != nil {
		return err
	}
	if g.each.apply.exitStatus && !g.each.diff.run {
		return ui.Applied(changes)
	}
	return nil
}
