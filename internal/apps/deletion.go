package apps

import (
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/record"
)

// Deletion is a prepared deletion of an app: what its plan is made from, and the plan.
type Deletion struct {
	*Client
	req        DeleteRequest
	app        *app.App // nil if it does not exist
	notFound   []string // a line for each name that was looked for in vain
	objects    []liveObject
	missed     unlistedKinds
	unlistable unlistable
	partial    bool // some objects stay, and with them the record
	run        *Run
	trimmed    int // how many change records the run deleted
}

// Found reports whether the app exists.
func (d *Deletion) Found() bool { return d.app != nil }

// App returns the app; nil if it does not exist.
func (d *Deletion) App() *app.App { return d.app }

// openDeletion returns a deletion of the app, or of the app of the previous name, without changes.
func (c *Client) openDeletion(ctx context.Context, r DeleteRequest) (*Deletion, error) {
	d := &Deletion{Client: c, req: r}
	names := []Name{r.App}
	if r.PrevName != "" {
		names = append(names, Name{Name: r.PrevName, Namespace: r.App.Namespace})
	}
	var missing []*app.App
	for _, name := range names {
		found, err := d.Find(ctx, name)
		if err != nil {
			return nil, err
		}
		if found.Exists() {
			d.app = found
			return d, nil
		}
		missing = append(missing, found)
	}
	for _, one := range slices.Backward(missing) { // as kapp does: the previous name first
		d.notFound = append(d.notFound, one.NotFoundText(ctx))
	}
	return d, nil
}

// calculate reads the live objects, and calculates the changes that delete them.
func (d *Deletion) calculate(ctx context.Context) error {
	matching, err := d.req.Filter.ResourceFilter(d.Now())
	if err != nil {
		return err
	}
	filtered := matching != nil || d.req.Run.ChangeFilter != ""
	if d.app.Selector() == "" && !filtered {
		return errors.New(
			"Expected label selector to be non-empty: it selects whatever was deployed to the " +
				"cluster " +
				"(hint: a filter, as --filter-ns, says what of it is meant)",
		)
	}
	if err := d.readLive(ctx); err != nil {
		return err
	}
	some := Filter(d.objects, matching)
	d.run = &Run{
		Client: d.Client, options: d.req.Run, review: d.req.Review, config: config.Default(), app: d.app,
		deletes: true, others: excluding(d.objects, matching),
	}
	if err := d.run.calculate(some, nil); err != nil {
		return err
	}
	d.partial = len(some) != len(d.objects) || d.run.excluded || filtered && d.unlistable.keepsRecord()
	return nil
}

// checkWrites makes the checks before the first write that a preview of the changes does not need.
func (d *Deletion) checkWrites(ctx context.Context) error {
	if !d.partial && d.unlistable.keepsRecord() {
		return d.unlistable.refuseDelete(d.app)
	}
	if err := d.run.checkLosses(); err != nil {
		return err
	}
	return d.run.checkOtherRecords(ctx)
}

// readLive reads the objects of the app.
func (d *Deletion) readLive(ctx context.Context) error {
	add := func(m cluster.UnlistedKind) { d.missed[m.GroupKind] = m }
	var err error
	for range listsAtMost {
		d.missed = unlistedKinds{}
		d.objects, err = d.Client.objects(ctx, d.app, d.req.Search, d.req.Review.Fields, add)
		if err != nil {
			return err
		}
		if !d.missesOwner() {
			break
		}
	}
	if !d.req.ForgetUnlistable {
		d.unlistable, err = d.unlistableOf(ctx, d.app, d.req.Search, nil, d.missed)
	}
	return err
}

// listsAtMost is how often the objects are listed until no owner is missing.
const listsAtMost = 3

// missesOwner reports whether the lists lack the controller of an object. Kinds are not listed at
// one moment: an object that was created meanwhile may be missing although its dependents, which
// the deletion would wait for without end, are in a later list.
func (d *Deletion) missesOwner() bool {
	listed := make(map[types.UID]bool, len(d.objects))
	for _, obj := range d.objects {
		listed[obj.GetUID()] = true
	}
	return slices.ContainsFunc(d.objects, func(obj liveObject) bool {
		owner := metav1.GetControllerOf(obj)
		return owner != nil && !listed[owner.UID]
	})
}

// fewChanges is how many change records stay of an app that could not be deleted.
const fewChanges = 5

// ChangesToKeep is how many change records of an app stay by default.
const ChangesToKeep = 200

// execute deletes the objects and the record. The record of a failed or partial deletion keeps the
// namespaces of the app, so that a user who may not list all namespaces finds its objects.
// Unrecorded is the error of the record in the run, after the reason why the record is kept, or the
// error of what follows.
func (d *Deletion) execute(
	ctx context.Context, o engine.Options, start output,
) (summary event.Summary, unrecorded, after error) {
	namespaces := append(
		namespacesOf(nil, withoutTransient(d.objects)),
		d.app.Meta.LastDeployment.Namespaces...)
	records := &runRecord{}
	records.begin = func(ctx context.Context) error {
		return d.app.Begin(ctx, "delete", namespaces, false)
	}
	records.finish = func(closing context.Context, state *record.State) error {
		if err := cluster.PermitAtEnd(ctx, closing); err != nil {
			return err // a run that has the lock now has taken the record over, too
		}
		succeeded := state.Result == record.RunSucceeded
		if succeeded && !d.partial {
			deleted := false
			if deleted, after = d.deleteRecord(closing, nil); deleted {
				return nil
			}
		}
		if !records.begun {
			return nil
		}
		return d.app.Finish(closing, succeeded && after == nil, namespaces)
	}
	summary, unrecorded = d.run.apply(ctx, records, o, start)
	if !d.app.Exists() || !records.begun {
		return summary, unrecorded, after
	}
	keep := fewChanges
	if d.partial {
		keep = ChangesToKeep
	}
	closing, cancel := context.WithTimeout(closingContext(ctx), closingTime)
	defer cancel()
	deleted, _, err := d.app.TrimRecords(closing, keep)
	d.trimmed = deleted
	if after == nil {
		after = err
	}
	return summary, unrecorded, after
}

// deleteRecord deletes the record of an app that has no objects left, and reports whether it did.
// It searches the kinds of the record and of all objects that were found before, whether or not the
// run waited for them. If the record names no kinds, it searches all that exist now. A kind that
// cannot be listed keeps the record. With KeepLeaving the record stays, too, for objects that are
// being deleted: those that the user does not wait for. It calls before, which may be nil, when
// nothing keeps the record.
func (d *Deletion) deleteRecord(
	ctx context.Context, before record.Before,
) (deleted bool, err error) {
	s, missed := d.selection(d.app, d.req.Search, false), unlistedKinds{}
	s.Unlisted = func(m cluster.UnlistedKind) { missed[m.GroupKind] = m }
	_, found := usedKinds(nil, d.objects)
	if used := d.app.Meta.UsedGKs; used != nil {
		s.Kinds = uniqueKinds(append(found, *used...))
		if err := d.refreshKinds(ctx, s.Kinds); err != nil {
			return false, err
		}
	} else if err := d.Cluster.Rediscover(ctx); err != nil {
		return false, err
	}
	left, err := d.selectObjects(ctx, s)
	if err != nil {
		return false, err
	}
	if !d.req.ForgetUnlistable {
		unseen, err := d.unlistableOf(ctx, d.app, d.req.Search, found, missed)
		if err != nil {
			return false, err
		}
		if unseen.keepsRecord() {
			return false, unseen.refuseDelete(d.app)
		}
	}
	var leaving []liveObject
	if d.req.KeepLeaving {
		left = slices.DeleteFunc(slices.Clone(left), func(o liveObject) bool { // others go with owners
			return resource.IsTransient(o) && !resource.IsGenerated(o)
		})
		isLeaving := func(o liveObject) bool { return o.GetDeletionTimestamp() != nil }
		leaving = slices.DeleteFunc(slices.Clone(left), func(o liveObject) bool { return !isLeaving(o) })
		left = slices.DeleteFunc(left, isLeaving)
	}
	switch {
	case len(left) > 0:
		return false, &LeftError{describeAll(left)}
	case len(leaving) > 0:
		d.Printer.Info("the record of the app stays until these objects are gone, which nothing waits " +
			"for; destroy it again then: " + strings.Join(describeAll(leaving), ", "))
		return false, nil
	}
	if before != nil {
		if err := before(ctx, d.app.TryDelete); err != nil {
			return false, err
		}
	}
	err = d.app.Delete(ctx)
	return err == nil, err
}
