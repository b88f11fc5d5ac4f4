package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/apps/ui"
	"github.com/muster-deploy/muster/internal/cluster"
)

// deletion is a run of delete.
type deletion struct {
	app    appFlags
	diff   diffFlags
	filter filterFlags
	apply  applyFlags
	kinds  kindFlags
	prev   string
	blind  bool // the app goes even if objects of it may be left that cannot be seen

	*session
}

func (p *program) newDelete() *cobra.Command {
	d := &deletion{}
	cmd := &cobra.Command{
		Use:   "delete",
		Short: "Delete app",
		Long:  `Delete app: delete its resources in their order, wait until they are gone, and forget the app.` + exitCodes,
		Example: p.named(`  # Delete app 'web'
  NAME delete -a web

  # Show what would be deleted
  NAME delete -a web --diff-run`),
	}
	d.app.add(cmd)
	d.diff.add(cmd, "diff-")
	d.filter.add(cmd)
	d.apply.add(cmd, "", true)
	d.apply.addNative(p, cmd)
	d.kinds.add(cmd)
	cmd.Flags().StringVar(&d.prev, "prev-app", "", "Set previous app name")
	cmd.Flags().BoolVar(&d.blind, forgetFlag, false, "Delete app even if it may have resources that may not be listed, which are left behind")
	return p.speaks(cmd, true, d.run)
}

func (d *deletion) run(ctx context.Context, s *session) error {
	d.session = s
	if err := d.apply.check(); err != nil {
		return err
	}
	target, err := d.find(ctx)
	if err != nil || target == nil {
		return err
	}
	return d.remove(ctx, target)
}

// find gives the app, or the one that it was before. If neither exists it says so, and gives nil.
func (d *deletion) find(ctx context.Context) (*app.App, error) {
	name, err := d.open(ctx, d.app)
	if err != nil {
		return nil, err
	}
	target, err := d.apps.Find(ctx, name)
	if err != nil || target.Exists() {
		return target, err
	}
	if d.prev != "" {
		prev, err := d.apps.Find(ctx, apps.Name{Name: d.prev, Namespace: name.Namespace})
		if err != nil || prev.Exists() {
			return prev, err
		}
		d.ui.Line(prev.Absent(ctx))
	}
	d.ui.Line(target.Absent(ctx))
	return nil, nil
}

// remove deletes the objects of an app, and the app if nothing is left.
func (d *deletion) remove(ctx context.Context, target *app.App) error {
	narrow, err := d.filter.ResourceFilter(time.Now())
	if err != nil {
		return err
	}
	if target.Selector() == "" && narrow == nil && d.diff.filter == "" {
		return errors.New("Expected label selector to be non-empty: it selects whatever was deployed to the cluster " +
			"(hint: a filter, as --filter-ns, says what of it is meant)")
	}
	all, unseen, err := d.all(ctx, target)
	if err != nil {
		return err
	}
	some := all
	if narrow != nil {
		some = slices.DeleteFunc(slices.Clone(all), func(obj live) bool { return !narrow.Matches(obj) })
	}
	r := &rollout{session: d.session, diff: d.diff, apply: d.apply, kinds: d.kinds, config: config.Default(), target: target, deletes: true}
	if err := r.decide(some, nil); err != nil {
		return err
	}
	if err := r.present(); err != nil {
		return err
	}
	namespace, err := d.namespaceOf(d.app.namespace)
	if err != nil {
		return err
	}
	filtered := narrow != nil || d.diff.filter != ""
	whole := len(some) == len(all) && !r.excluded && !(filtered && unseen.any())
	if !whole {
		d.ui.Line(fmt.Sprintf("App '%s' (namespace: %s) will not be fully deleted because some resources are excluded by filters",
			target.Name, namespace))
	}
	if d.diff.page {
		return r.serve(ctx)
	}
	if d.diff.run {
		if d.diff.exitStatus {
			return ui.Diffed(len(r.changes) > 0)
		}
		return nil
	}
	if whole && unseen.any() {
		return unseen.keeps(target)
	}
	if err := d.ui.Confirm(ctx, d.env.In); err != nil {
		return err
	}
	if err := d.carry(ctx, r, target, all, whole); err != nil {
		return err
	}
	if d.apply.exitStatus {
		return ui.Applied(len(r.changes) > 0)
	}
	return nil
}

// all gives the objects of an app, and what of it cannot be seen and is not to be lost.
func (d *deletion) all(ctx context.Context, target *app.App) ([]live, hidden, error) {
	missed := map[schema.GroupKind]cluster.UnlistedKind{}
	found, err := d.objects(ctx, target, d.kinds, d.diff.changes, func(m cluster.UnlistedKind) { missed[m.GroupKind] = m })
	if err != nil || d.blind {
		return found, hidden{}, err
	}
	unseen, err := d.hides(ctx, target, missed)
	return found, unseen, err
}

// carry deletes between the two ends of the record of the change. The record names the namespaces of the app as before, so that what
// is left there is found again by those who may not look through all.
func (d *deletion) carry(ctx context.Context, r *rollout, target *app.App, all []live, whole bool) error {
	if err := r.lay(ctx); err != nil {
		return err
	}
	places := append(placesOf(nil, deployed(all)), target.Meta.LastChange.Namespaces...)
	if err := target.Begin(ctx, "delete", places, false); err != nil {
		return err
	}
	err := r.run(ctx)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closingTime)
	defer cancel()
	if err == nil && whole {
		if err = d.forget(closing, target, r.changes); err == nil {
			return nil
		}
	}
	if finished := target.Finish(closing, err == nil, places); finished != nil {
		d.ui.Info(finished.Error(), "App")
	}
	keep := changesToKeep
	if whole {
		keep = fewChanges
	}
	deleted, _, trimmed := target.Trim(closing, keep)
	if deleted > 0 {
		d.ui.Line(fmt.Sprintf(olderDeleted, deleted))
	}
	if err == nil {
		err = trimmed
	}
	return err
}

// fewChanges is how many records of changes are kept of an app that could not be deleted.
const fewChanges = 5

// forget deletes the record of an app of which nothing is left. It is looked for in the kinds that the app was known to have or
// was found to have; all have been looked through before. Where they are not known, they are all that there are by now.
func (d *deletion) forget(ctx context.Context, target *app.App, changes []*change.Change) error {
	s := d.selection(target, d.kinds, false)
	if used := target.Meta.UsedGKs; used != nil {
		s.Kinds = slices.Clone(*used)
		for _, c := range changes {
			s.Kinds = append(s.Kinds, c.Object().GroupVersionKind().GroupKind())
		}
		s.Kinds = distinctKinds(s.Kinds)
	} else if err := d.client.Rediscover(ctx); err != nil {
		return err
	}
	left, err := d.sought(ctx, s)
	if err != nil {
		return err
	}
	var names []string
	for _, obj := range left {
		names = append(names, resource.Describe(obj))
	}
	if len(names) > 0 {
		return errors.New("Expected all resources to be gone, but found: " + strings.Join(names, ", "))
	}
	return target.Delete(ctx)
}
