package app

import (
	"context"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// ReadLive reads the objects of the app.
func (d *Deletion) ReadLive(ctx context.Context) error {
	add := func(m cluster.UnlistedKind) { d.missed[m.GroupKind] = m }
	var err error
	for range listsAtMost {
		d.missed = unlistedKinds{}
		d.objects, err = d.Client.Objects(ctx, d.app, d.req.Search, d.req.Owners, add)
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

// FewChanges is how many change records stay of an app that could not be deleted.
const FewChanges = 5

// ChangesToKeep is how many change records of an app stay by default.
const ChangesToKeep = 200

// DeleteRecord deletes the record of an app that has no objects left, and reports whether it did.
// It searches the kinds of the record and of all objects that were found before, whether or not the
// run waited for them. If the record names no kinds, it searches all that exist now. A kind that
// cannot be listed keeps the record. With KeepLeaving the record stays, too, for objects that are
// being deleted: those that the user does not wait for. It calls before, which may be nil, when
// nothing keeps the record.
func (d *Deletion) DeleteRecord(
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
		return false, &LeftError{left}
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
