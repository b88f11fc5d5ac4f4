package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// readLive reads the objects of the app, and the objects of selected inputs that lack its label. It
// returns those that the changes are calculated from.
func (d *Deployment) readLive(ctx context.Context) ([]liveObject, error) {
	labelled, err := d.ReadLabelled(ctx)
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
			len(d.Desired()),
			len(labelled),
			len(adopted),
		),
		"Resources",
	)
	d.adopted = make(map[liveObject]bool, len(adopted))
	for _, obj := range adopted {
		d.adopted[obj] = true
	}
	live := append(labelled, adopted...)
	d.pods = map[types.UID]bool{}
	for _, obj := range live {
		if obj.GroupVersionKind().GroupKind() == app.PodKind {
			d.pods[obj.GetUID()] = true
		}
	}
	if err := d.Hold(live); err != nil {
		return nil, err
	}
	if d.req.Patch {
		return d.onlyInputs(live), nil
	}
	return live, nil
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
	for _, r := range d.Selected() {
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
	for _, r := range d.Selected() {
		ref := object.RefOf(r.Unstructured)
		if ref.Name == "" || known.Has(ref) || inputs[ref] != nil {
			continue
		}
		inputs[ref] = r.Unstructured
		targets = append(targets, cluster.Target{
			Ref: ref, Version: r.GroupVersionKind().Version, ManagedFields: d.NeedsManagedFields(),
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
	if d.App().IsNew {
		return nil, nil
	}
	found, _, err := d.readOthers(ctx, labelled)
	return slices.DeleteFunc(found, func(live liveObject) bool { return !d.HasApplied(live) }), err
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
	for _, r := range d.Selected() {
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
