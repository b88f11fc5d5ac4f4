package apps

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/input"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// podKind is part of every search whose caller prints logs.
var podKind = schema.GroupKind{Kind: "Pod"}

// readLive reads the objects of the app, and the objects of selected inputs that lack its label. It
// returns those that the changes are calculated from.
func (d *Deployment) readLive(ctx context.Context) ([]liveObject, error) {
	labelled, err := d.readLabelled(ctx)
	if err != nil {
		return nil, err
	}
	adopted, err := d.readAdoptable(ctx, labelled)
	if err != nil {
		return nil, err
	}
	d.Printer.Debug(
		fmt.Sprintf(
			"%d resources in files, %d of the app in the cluster, %d in the cluster without its "+
				"label",
			len(d.inputs),
			len(labelled),
			len(adopted),
		),
		"Resources",
	)
	d.live.adopted = make(map[liveObject]bool, len(adopted))
	for _, obj := range adopted {
		d.live.adopted[obj] = true
	}
	d.live.objects = append(labelled, adopted...)
	d.live.pods = map[types.UID]bool{}
	for _, obj := range d.live.objects {
		if obj.GroupVersionKind().GroupKind() == podKind {
			d.live.pods[obj.GetUID()] = true
		}
	}
	if err := d.checkRecordName(input.CheckLabels(d.live.objects)); err != nil {
		return nil, err
	}
	if d.req.Patch {
		return d.onlyInputs(d.live.objects), nil
	}
	return d.live.objects, nil
}

// readLabelled returns the live objects with the label of the app. It prints which of them the user
// may not list.
func (d *Deployment) readLabelled(ctx context.Context) ([]liveObject, error) {
	if d.app.IsNew {
		return nil, nil
	}
	if err := d.refreshKinds(ctx, d.app.Kinds()); err != nil {
		return nil, err
	}
	found, err := d.selectObjects(ctx, d.deploySelection())
	if err != nil {
		return nil, err
	}
	d.live.unlistable, err = d.unlistableOf(ctx, d.app, SearchOptions{}, nil, d.live.missed)
	if err != nil {
		return nil, err
	}
	for _, failing := range d.live.unlistable.failing {
		d.live.missed[failing.GroupKind] = cluster.UnlistedKind{GroupKind: failing.GroupKind,
			Cause: failing.cause}
	}
	if lines := d.live.unlistable.failures(); len(lines) > 0 {
		d.Printer.Info("Leaving resources of the app that cannot be listed now, if there are any that " +
			"are not in the files: " + strings.Join(lines, "; "))
	}
	if lines := d.live.unlistable.permissions(); len(lines) > 0 {
		d.Printer.Info(
			"Leaving resources of the app that cannot be seen, if there are any that are not in " +
				"the files. " +
				"Missing permissions: " + strings.Join(lines, "; "),
		)
	}
	return found, nil
}

// checkRecordName refuses a selected input that has the name of the app's record. Labels is the
// error about the labels of live objects, which returns in kapp's words if the record exists.
func (d *Deployment) checkRecordName(labels error) error {
	for _, r := range d.selected {
		ref := object.RefOf(r.Unstructured)
		if ref != d.app.RecordRef() {
			continue
		}
		return &RecordNameError{Ref: ref, Origin: r.Origin, Err: cmp.Or(labels, fmt.Errorf(
			"Resource '%s' would overwrite the record of the app, which is kept under this name (hint: "+
				"give the app or the resource another name) (%s)", resource.Describe(r.Unstructured),
			r.Origin))}
	}
	return labels
}

// deploySelection returns the selection of the app's objects, limited to the kinds of its record
// and of its inputs.
func (d *Deployment) deploySelection() cluster.Selection {
	s := d.selection(d.app, d.req.Search, d.needsManagedFields())
	s.Fallback, s.Ignore = d.fallback, d.ignorable
	d.live.missed = unlistedKinds{}
	s.Unlisted = func(m cluster.UnlistedKind) { d.live.missed[m.GroupKind] = m }
	s.Versions = map[schema.GroupKind]string{}
	var kinds []schema.GroupKind
	for _, r := range d.inputs {
		gvk := r.GroupVersionKind()
		if s.Versions[gvk.GroupKind()] == "" {
			s.Versions[gvk.GroupKind()] = gvk.Version
			kinds = append(kinds, gvk.GroupKind())
		}
	}
	if used := d.app.Meta.UsedGKs; used != nil && !d.req.AllKinds && !d.app.IsLabelled() {
		kinds = append(kinds, *used...)
		if d.req.Logs != nil {
			kinds = append(kinds, podKind)
		}
		if len(kinds) > 0 { // else no kind is known, and nil selects all
			s.Kinds = uniqueKinds(kinds)
		}
	}
	return s
}

// needsManagedFields reports whether diffs, overlays or server-side apply need the managed fields
// of live objects.
func (d *Deployment) needsManagedFields() bool {
	return d.req.Review.Fields || d.config.HasOverlays() || d.req.Run.ServerSide || d.req.Owners
}

// readAdoptable reads the live objects of selected inputs that lack the label of the app. The live
// objects of selected inputs that belong to others are an error.
func (d *Deployment) readAdoptable(
	ctx context.Context, labelled []liveObject,
) ([]liveObject, error) {
	if !d.req.Adopt {
		return d.readUnlabelled(ctx, labelled)
	}
	known := make(map[object.Ref]liveObject, len(labelled))
	for _, obj := range labelled {
		known[object.RefOf(obj)] = obj
	}
	var refused []string
	refuse := func(input, live liveObject) bool {
		line := d.ownershipConflict(ctx, input, live)
		if line != "" {
			refused = append(refused, line)
		}
		return line != ""
	}
	for _, r := range d.selected {
		if live := known[object.RefOf(r.Unstructured)]; live != nil {
			refuse(r.Unstructured, live)
		}
	}
	found, inputs, err := d.readOthers(ctx, labelled)
	if err != nil {
		return nil, err
	}
	adopted := slices.DeleteFunc(found, func(live liveObject) bool {
		return refuse(inputs[object.RefOf(live)], live)
	})
	return adopted, ownershipError(refused)
}

// readOthers returns the live objects of selected inputs that are not among some objects, in the
// order of the inputs, and the inputs.
func (d *Deployment) readOthers(
	ctx context.Context, objects []liveObject,
) (found []liveObject, inputs map[object.Ref]liveObject, err error) {
	known := object.NewSet()
	for _, obj := range objects {
		known.Insert(object.RefOf(obj))
	}
	var targets []cluster.Target
	inputs = map[object.Ref]liveObject{}
	for _, r := range d.selected {
		ref := object.RefOf(r.Unstructured)
		if ref.Name == "" || known.Has(ref) || inputs[ref] != nil {
			continue
		}
		inputs[ref] = r.Unstructured
		targets = append(targets, cluster.Target{
			Ref: ref, Version: r.GroupVersionKind().Version, ManagedFields: d.needsManagedFields(),
		})
	}
	snapshot, err := d.Cluster.Read(ctx, targets)
	if err != nil {
		return nil, nil, readError(err, inputs)
	}
	for _, target := range targets {
		if obj := snapshot.Objects[target.Ref]; obj != nil {
			found = append(found, obj)
		}
	}
	return found, inputs, nil
}

// readUnlabelled returns the live objects of selected inputs that this app has applied, and whose
// label somebody has removed since.
func (d *Deployment) readUnlabelled(
	ctx context.Context, labelled []liveObject,
) (unlabelled []liveObject, err error) {
	if d.app.IsNew {
		return nil, nil
	}
	found, _, err := d.readOthers(ctx, labelled)
	return slices.DeleteFunc(found, func(live liveObject) bool { return !d.hasApplied(live) }), err
}

// hasApplied reports whether a live object without the label of any app was applied by this one.
func (d *Deployment) hasApplied(live liveObject) bool {
	key, value, _ := d.app.Label() // loadInputs has returned its error
	if _, ok := object.LabelsOf(live).Lookup(key); ok {
		return false
	}
	applied := lastapplied.Original(live)
	return applied != nil && object.LabelsOf(applied).Get(key) == value &&
		resource.Key(applied) == resource.Key(live) // not that of an object which it is a copy of
}

// readError returns the error for inputs whose existence could not be checked.
func readError(err error, inputs map[object.Ref]liveObject) error {
	denied := (*cluster.DeniedError)(nil)
	if !errors.As(err, &denied) {
		return fmt.Errorf("Checking existence of resources: %w", err)
	}
	return fmt.Errorf("Checking existence of resource %s: API server says: %w (reason: %s)",
		resource.Describe(inputs[denied.Ref]), denied.Cause, apierrors.ReasonForError(denied.Cause))
}

// onlyInputs returns the live objects that have an input, or that are a version of one.
func (d *Deployment) onlyInputs(found []liveObject) []liveObject {
	keys := map[string]bool{}
	for _, r := range d.selected {
		keys[resource.Key(r.Unstructured)] = true
	}
	return slices.DeleteFunc(slices.Clone(found), func(obj liveObject) bool {
		key := resource.Key(obj)
		if _, versioned := object.AnnotationsOf(obj).Lookup(resource.AnnVersioned); versioned {
			if at := strings.LastIndex(key, "-ver-"); at >= 0 && keys[key[:at]] {
				return false
			}
		}
		return !keys[key]
	})
}
