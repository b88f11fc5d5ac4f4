package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/output"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// member is a set of a group: an app, or the package in a folder.
type member struct{ folder, app string }

// title returns what messages call the set.
func (m member) title() string {
	if m.app != "" {
		return fmt.Sprintf("app %q", m.app)
	}
	return fmt.Sprintf("package %q", m.folder)
}

// groupExitCodes is the help text on the exit codes of groups.
const groupExitCodes = `Exit codes:
  0    everything was done
  1    nothing was begun, or the first set ended with an error: it says why
  3    a set failed: the last line names it, and the sets that were not begun
  130  interrupted; the same command continues`

func newGroups(env *cli.Env, kube *cli.Kube) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "groups",
		Short: "Apply or destroy all packages or apps in the folders of a folder",
	}
	cmd.AddCommand(newGroupsApply(env, kube), newGroupsDestroy(env, kube))
	return cmd
}

func newGroupsApply(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := newApplyFlags(output.RunKinds)
	cmd := &cobra.Command{
		Use:     "apply [FOLDER]",
		Aliases: []string{"deploy"},
		Short:   "Apply each folder of a folder",
		Long: `Apply each folder of a folder (default: the working folder), in the order of their names, until
one fails. Each is a package. With --group GROUP each folder NAME is the app GROUP-NAME, and at the
end the apps of the group whose folder is gone are destroyed, unless --no-prune or a filter is
given, and within --max-prune; a package whose folder is gone stays, and is destroyed with destroy
--record. With --on-failure=rollback the set that failed is rolled back, and the exit code is 4.

` + groupExitCodes,
		Example: "  " + env.Name() + " groups apply clusters/live\n" +
			"  " + env.Name() + " groups apply shop --group live",
		Args:              cli.Arguments(0, 1),
		ValidArgsFunction: cli.CompleteAllFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.InstallGiven = cmd.Flags().Changed("install-resource-group")
			return f.runGroup(cmd, env, kube, cli.Folder(args))
		},
	}
	f.addRun(cmd)
	f.addOnFailure(cmd)
	addGroup(cmd, &f.Flags)
	return cmd
}

func newGroupsDestroy(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := newDestroyFlags()
	cmd := &cobra.Command{
		Use:     "destroy [FOLDER] | --group GROUP",
		Aliases: []string{"delete"},
		Short:   "Destroy the packages in the folders of a folder, or all apps of a group",
		Long: `Destroy the package in each folder of a folder (default: the working folder), or all apps of a
group (--group), in the order of their names, until one fails.

` + groupExitCodes,
		Example: "  " + env.Name() + " groups destroy clusters/live\n" +
			"  " + env.Name() + " groups destroy --group live --yes",
		Args:              cli.Arguments(0, 1),
		ValidArgsFunction: cli.CompleteAllFolders,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.runGroup(cmd, env, kube, args)
		},
	}
	f.addRun(cmd)
	addGroup(cmd, &f.Flags)
	return cmd
}

// addGroup adds the flags that name a group.
func addGroup(cmd *cobra.Command, f *setflags.Flags) {
	cmd.Flags().StringVarP(&f.Group, "group", "g", "",
		"Name of a group of apps; their records are in the namespace of -n")
	f.Cluster.Add(cmd.Flags())
}

// membersOf returns the sets in the folders of a folder, in the order of their names. Links and
// hidden folders are ignored. It is an error if a package has no inventory.
func membersOf(
	ctx context.Context, env *cli.Env, f *setflags.Flags, folder string,
) ([]member, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read the folder of the group: %w", err)
	}
	var members []member
	var errs []error
	for _, entry := range entries {
		if !entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		m := member{folder: filepath.Join(folder, entry.Name())}
		if f.Group != "" {
			m.app = f.Group + "-" + entry.Name()
		} else {
			_, err := packages.OpenInventory(ctx, packages.Input{Folder: m.folder, Notice: env.Notice})
			errs = append(errs, err)
		}
		members = append(members, m)
	}
	if len(members) == 0 && f.Group == "" {
		return nil, fmt.Errorf("%s has no folders, each of which would be a package", folder)
	}
	return members, errors.Join(errs...)
}

// groupApps returns the apps of the group in the cluster.
func groupApps(
	ctx context.Context, env *cli.Env, kube *cli.Kube, f *setflags.Flags,
) ([]member, error) {
	namespace, _, err := kube.Namespace()
	if err != nil {
		return nil, err
	}
	c, err := f.Connect(ctx, env, kube, nil)
	if err != nil {
		return nil, err
	}
	names, err := sets.GroupApps(ctx, c, namespace, f.Group)
	members := make([]member, len(names))
	for i, name := range names {
		members[i] = member{app: name}
	}
	return members, err
}

// noGroupFiles is why the output of a group has no files.
const noGroupFiles = "each set of a group is a run of its own; redirect the standard output, " +
	"as in -o json >FILE, which muster report reads"

func (f *applyFlags) runGroup(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, folder string,
) error {
	f.output.RefuseFiles(noGroupFiles)
	if _, err := f.output.Readers(env, hasLive); err != nil {
		return err
	}
	members, err := membersOf(cmd.Context(), env, &f.Flags, folder)
	if err != nil {
		return err
	}
	var gone []member
	if f.Group != "" {
		known, err := groupApps(cmd.Context(), env, kube, &f.Flags)
		if err != nil {
			return err
		}
		gone = slices.DeleteFunc(known, func(k member) bool {
			return slices.ContainsFunc(members, func(m member) bool { return m.app == k.app })
		})
	}
	if len(members) == 0 && len(gone) > 0 && !f.allowEmpty {
		return fmt.Errorf("%s has no folders, so that all %d apps of the group %q would be destroyed; "+
			"groups destroy does that, and so does --allow-empty", folder, len(gone), f.Group)
	}
	if len(gone) > 0 && (f.noPrune || slices.ContainsFunc(changedPlanFlags(cmd), isFilter)) {
		for _, m := range gone {
			env.Notice(m.title() + " stays although its folder is gone: with --no-prune or a filter " +
				"nothing is pruned that is not selected")
		}
		gone = nil
	}
	isJSON := f.output.PrintsJSON()
	return runMembers(env, append(members, gone...), isJSON, func(m member) error {
		if m.folder == "" {
			return f.destroyGone(cmd, env, kube, m)
		}
		one := *f
		if one.App = m.app; m.app == "" {
			return one.run(cmd, env, kube, []string{m.folder})
		}
		one.Files = []string{m.folder}
		return one.run(cmd, env, kube, nil)
	})
}

// isFilter reports whether a flag selects objects.
func isFilter(flag string) bool {
	return strings.HasPrefix(flag, "filter") || flag == "selector"
}

// destroyGone destroys an app whose folder is gone.
func (f *applyFlags) destroyGone(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, m member,
) error {
	one := newDestroyFlags()
	one.App, one.Cluster, one.Lock, one.output = m.app, f.Cluster, f.Lock, f.output
	one.dryRun, one.timeout, one.Statuses = f.dryRun, f.timeout, f.Statuses
	one.wait = f.wait
	one.history = f.history
	one.stall = stallLimit{limit: f.stall.limit}
	one.confirmed = f.yes || !env.IsInteractive()
	one.held = heldFlags{allow: f.held.allow, destroys: true}
	one.pruned = &f.maxPrune
	return one.run(cmd, env, kube, nil)
}

func (f *destroyFlags) runGroup(
	cmd *cobra.Command, env *cli.Env, kube *cli.Kube, args []string,
) error {
	f.output.RefuseFiles(noGroupFiles)
	if _, err := f.output.Readers(env, hasLive); err != nil {
		return err
	}
	var members []member
	var err error
	switch {
	case f.Group == "":
		members, err = membersOf(cmd.Context(), env, &f.Flags, cli.Folder(args))
	case len(args) > 0:
		err = errors.New("--group names the apps of a group without their folder: give one of them")
	default:
		members, err = groupApps(cmd.Context(), env, kube, &f.Flags)
	}
	if err != nil {
		return err
	}
	if len(members) == 0 {
		env.Notice(fmt.Sprintf("the group %q has no apps: nothing to delete", f.Group))
	}
	isJSON := f.output.PrintsJSON()
	return runMembers(env, members, isJSON, func(m member) error {
		one := *f
		one.absent = true // another destroy may have begun with the group
		if one.App = m.app; m.app == "" {
			return one.run(cmd, env, kube, []string{m.folder})
		}
		return one.run(cmd, env, kube, nil)
	})
}

// runMembers runs a command on one set after the other until one fails, and then prints which
// failed and which were not begun. Its exit code is that of the set, but an error after others have
// succeeded ends with the code of a group that is not complete.
func runMembers(
	env *cli.Env, members []member, isJSON bool, run func(member) error,
) error {
	for i, m := range members {
		env.Notice("--- " + m.title())
		err := run(m)
		if err == nil {
			continue
		}
		code := env.PrintError(err, isJSON)
		env.Notice(outcome(members, i, code == cli.ExitInterrupted))
		if code == cli.ExitError && i > 0 {
			return &cli.ResultError{}
		}
		return &cli.ExitCodeError{Code: code}
	}
	if len(members) > 0 {
		env.Notice("all sets of the group succeeded")
	}
	return nil
}

// outcome returns the line about a group whose set at an index failed.
func outcome(members []member, failed int, interrupted bool) string {
	word := "failed"
	if interrupted {
		word = "was interrupted"
	}
	text := fmt.Sprintf("%d of %d sets of the group succeeded; %s %s", failed, len(members),
		members[failed].title(), word)
	var left []string
	for _, m := range members[failed+1:] {
		left = append(left, m.title())
	}
	if len(left) > 0 {
		text += "; not begun: " + strings.Join(left, ", ")
	}
	return text
}
