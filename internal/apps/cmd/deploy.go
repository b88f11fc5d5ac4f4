package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/preflight"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/apps/ui"
	"github.com/muster-deploy/muster/internal/cluster"
)

// deployment is a run of deploy: what was asked for, and what is found out on the way.
type deployment struct {
	app    appFlags
	files  fileFlags
	diff   diffFlags
	filter filterFlags
	apply  applyFlags
	deploy deployFlags
	kinds  kindFlags
	labels []string
	prev   string
	checks checkList
	group  string // the group of apps that this one belongs to

	*session
	request app.Request
	target  *app.App
	config  *config.Config
	prepare preparation
	within  []string                                  // those that are looked through where not all may be
	found   []live                                    // what there is, whatever the flags leave out
	missed  map[schema.GroupKind]cluster.UnlistedKind // kinds of which there may be more than was found
	hidden  hidden                                    // where there may be more
	adopted map[live]bool                             // objects that were found by their names
	owner   map[string]string                         // how the owners of objects are called, by the values of their labels
	pods    map[types.UID]bool                        // those that there are before

	ignorable func(schema.GroupVersion) bool // versions of the API that need not work
}

func (p *program) newDeploy() *cobra.Command {
	d := &deployment{}
	cmd := &cobra.Command{
		Use:     "deploy",
		Aliases: []string{"d", "dep"},
		Short:   "Deploy app",
		Long: `Deploy app: make the resources in the cluster what the files say, wait until they are ready, and delete
those of the app that the files do not have any more.` + exitCodes,
		Example: p.named(`  # Deploy app 'web' with the files of a folder
  NAME deploy -a web -f config/

  # Show what would change, and how
  NAME deploy -a web -f config/ --diff-run --diff-changes`),
	}
	d.app.add(cmd)
	d.files.add(cmd)
	d.kinds.add(cmd)
	d.add(cmd)
	d.apply.addNative(p, cmd)
	cmd.Flags().StringVar(&d.prev, "prev-app", "", "Set previous app name")
	sectioned(cmd)
	return p.speaks(cmd, true, d.run)
}

// add gives a command the flags by which apps are deployed, one or several.
func (d *deployment) add(cmd *cobra.Command) {
	d.diff.add(cmd, "diff-")
	d.filter.add(cmd)
	d.apply.add(cmd, "", false)
	d.deploy.add(cmd)
	cmd.Flags().StringSliceVar(&d.labels, "labels", nil, "Set app label (format: key=val, key=) (can repeat)")
	cmd.Flags().Var(&d.checks, "preflight", "Preflight checks to run: "+strings.Join(preflight.CheckNames(), ", ")+" (can repeat)")
}

func (d *deployment) run(ctx context.Context, s *session) error {
	d.session = s
	if err := d.apply.check(); err != nil {
		return err
	}
	if err := d.open(ctx); err != nil {
		return err
	}
	wanted, err := d.wanted(ctx)
	if err != nil {
		return err
	}
	existing, err := d.existing(ctx, wanted)
	if err != nil {
		return err
	}
	r, err := d.calculate(wanted, existing)
	if err != nil {
		return err
	}
	if err := r.present(); err != nil {
		return err
	}
	if err := d.prepare.CheckNamespaces(wanted); err != nil {
		return err
	}
	if d.diff.page {
		return r.serve(ctx)
	}
	if d.diff.run || len(r.changes) == 0 {
		return d.leave(ctx, len(r.changes) > 0)
	}
	if err := d.check(ctx, r.changes); err != nil {
		return err
	}
	if err := s.ui.Confirm(ctx, s.env.In); err != nil {
		return err
	}
	if err := d.carry(ctx, r, wanted); err != nil {
		return err
	}
	if d.apply.exitStatus {
		return ui.Applied(true)
	}
	return nil
}

// open finds the app. One that is new gets its record just before the first object is written.
func (d *deployment) open(ctx context.Context) error {
	home, err := d.home(ctx, d.app)
	if err != nil {
		return err
	}
	labels, err := parseLabels(d.labels)
	if err != nil {
		return err
	}
	d.request = app.Request{Name: d.app.name, Namespace: home, Prev: d.prev, Labels: labels, Group: d.group, DryRun: true}
	d.target, err = d.apps.Records.Ensure(ctx, d.request)
	return err
}

// parseLabels reads the labels of an app's record.
func parseLabels(texts []string) (map[string]string, error) {
	labels := map[string]string{}
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		switch {
		case !ok:
			return nil, fmt.Errorf("Expected label '%s' to be in format 'key=val' or 'key='", text)
		case key == "":
			return nil, fmt.Errorf("Expected label '%s' to have non-empty key", text)
		}
		labels[key] = value
	}
	return labels, nil
}

// leave ends a deployment that writes no object.
func (d *deployment) leave(ctx context.Context, changes bool) error {
	if !d.diff.run {
		if err := d.target.Settle(ctx, d.request); err != nil {
			return err
		}
	}
	if err := d.writeMetadata(); err != nil {
		return err
	}
	switch {
	case d.diff.run && d.diff.exitStatus:
		return ui.Diffed(changes)
	case d.apply.exitStatus:
		return ui.Applied(changes)
	}
	return nil
}

// writeMetadata writes the record of the app to the file of the flag.
func (d *deployment) writeMetadata() error {
	if d.deploy.metadataFile == "" {
		return nil
	}
	return os.WriteFile(d.deploy.metadataFile, []byte(d.target.Meta.JSON()), 0o777)
}

// carry carries the changes out between the two ends of the record of the change.
func (d *deployment) carry(ctx context.Context, r *rollout, wanted []resource.Resource) (err error) {
	if err := r.lay(ctx); err != nil {
		return err
	}
	if err := d.target.Settle(ctx, d.request); err != nil {
		return err
	}
	d.target.Covers(usedBy(wanted, deployed(d.found)))
	op, wait := change.Summary(r.changes)
	if !d.diff.summary {
		op, wait = change.Summary(nil)
	}
	description := "update: Op: " + op + " / Wait to: " + wait
	unseen := d.hidden.namespaces(d.target.Meta.LastChange.Namespaces)
	places := append(placesOf(wanted, deployed(d.found)), unseen...)
	if err := d.target.Begin(ctx, description, places, d.deploy.changesToKeep > 0); err != nil {
		return err
	}
	stop := d.follow(ctx)
	defer d.trim(ctx)
	err = r.run(ctx)
	stop()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	if err == nil {
		left := d.left(r)
		versions, kinds := usedBy(wanted, left)
		d.target.Used(versions, kinds, slices.Collect(maps.Keys(d.missed)))
		places = append(placesOf(wanted, left), unseen...)
	}
	finished := d.target.Finish(closing, err == nil, places)
	if lost := (*app.LostError)(nil); errors.As(finished, &lost) {
		return d.lost(closing, err, lost, wanted, places)
	}
	if err != nil {
		_ = d.writeMetadata() // the failure of the run matters more
		return err
	}
	if finished != nil {
		d.ui.Info(finished.Error(), "App")
	}
	return d.writeMetadata()
}

// closingTime bounds the last writes of a run that was interrupted.
const closingTime = 30 * time.Second

// trim deletes the oldest records of changes.
func (d *deployment) trim(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if deleted, _, err := d.target.Trim(ctx, d.deploy.changesToKeep); err == nil && deleted > 0 {
		d.ui.Line(fmt.Sprintf(olderDeleted, deleted))
	}
}

const olderDeleted = "Deleted %d older app changes"
