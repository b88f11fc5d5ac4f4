package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/input"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// live is an object as it was read.
type live = *unstructured.Unstructured

// podKind is looked for on every deployment that shows logs.
var podKind = schema.GroupKind{Kind: "Pod"}

// existing finds the objects of the app, and those that are wanted and exist without belonging to it.
func (d *deployment) existing(ctx context.Context, wanted []resource.Resource) ([]live, error) {
	var found []live
	if !d.target.New {
		var err error
		if found, err = d.sought(ctx, d.selection(wanted)); err != nil {
			return nil, err
		}
		if d.hidden, err = d.hides(ctx, d.target, d.missed); err != nil {
			return nil, err
		}
		if lines := d.hidden.lines(); len(lines) > 0 {
			d.ui.Info("Leaving resources of the app that cannot be seen, if there are any that are not in the files. Missing permissions: " + strings.Join(lines, "; "))
		}
	}
	adopted, err := d.adoptable(ctx, wanted, found)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("%d resources in files, %d of the app in the cluster, %d in the cluster without its label", len(wanted), len(found), len(adopted))
	d.ui.Debug(text, "Resources")
	d.adopted = make(map[live]bool, len(adopted))
	for _, obj := range adopted {
		d.adopted[obj] = true
	}
	found = append(found, adopted...)
	d.pods = map[types.UID]bool{}
	for _, obj := range found {
		if obj.GroupVersionKind().GroupKind() == podKind {
			d.pods[obj.GetUID()] = true
		}
	}
	if err := input.CheckLabels(found); err != nil {
		return nil, err
	}
	if err := d.collides(wanted); err != nil {
		return nil, err
	}
	d.found = found
	if d.deploy.patch {
		found = d.matching(slices.Clone(found), wanted)
	}
	return found, nil
}

// collides refuses a wanted object that has the name of the app's record, which would be overwritten.
func (d *deployment) collides(wanted []resource.Resource) error {
	for _, r := range wanted {
		if object.RefOf(r.Unstructured) == d.target.Record() {
			return fmt.Errorf("Resource '%s' would overwrite the record of the app, which is kept under this name (hint: give the app or the resource another name) (%s)",
				resource.Describe(r.Unstructured), r.Origin)
		}
	}
	return nil
}

// selection is where the objects of the app are looked for: of the kinds that it is known to have and of those that are wanted.
func (d *deployment) selection(wanted []resource.Resource) cluster.Selection {
	s := d.session.selection(d.target, d.kinds, d.owners())
	s.Fallback, s.Ignore = d.within, d.ignorable
	d.missed = map[schema.GroupKind]cluster.UnlistedKind{}
	s.Unlisted = func(m cluster.UnlistedKind) { d.missed[m.GroupKind] = m }
	s.Versions = map[schema.GroupKind]string{}
	var kinds []schema.GroupKind
	for _, r := range wanted {
		gvk := r.GroupVersionKind()
		if s.Versions[gvk.GroupKind()] == "" {
			s.Versions[gvk.GroupKind()] = gvk.Version
			kinds = append(kinds, gvk.GroupKind())
		}
	}
	if used := d.target.Meta.UsedGKs; used != nil && !d.deploy.allKinds && !d.target.Labelled() {
		kinds = append(kinds, *used...)
		if d.deploy.logs {
			kinds = append(kinds, podKind)
		}
		if len(kinds) > 0 { // where nothing is known of, all may be
			s.Kinds = distinctKinds(kinds)
		}
	}
	return s
}

// owners reports whether it matters who owns which field of the live objects: where they are shown, where overlays see them, and
// where they are taken over.
func (d *deployment) owners() bool {
	return d.diff.changes || d.config.HasOverlays() || d.apply.merges()
}

func distinctKinds(kinds []schema.GroupKind) []schema.GroupKind {
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(kinds)
}

// adoptable reads what is wanted and was not found by the label of the app, and refuses what belongs to another one.
func (d *deployment) adoptable(ctx context.Context, wanted []resource.Resource, found []live) ([]live, error) {
	if !d.deploy.adopts {
		return nil, nil
	}
	known := make(map[object.Ref]bool, len(found))
	for _, obj := range found {
		known[object.RefOf(obj)] = true
	}
	var targets []cluster.Target
	origin := map[object.Ref]resource.Resource{}
	for _, r := range wanted {
		ref := object.RefOf(r.Unstructured)
		if _, twice := origin[ref]; known[ref] || ref.Name == "" || twice {
			continue
		}
		origin[ref] = r
		targets = append(targets, cluster.Target{Ref: ref, Version: r.GroupVersionKind().Version, ManagedFields: d.owners()})
	}
	snapshot, err := d.client.Read(ctx, targets)
	if err != nil {
		return nil, unchecked(err, origin)
	}
	var adopted []live
	var refused []string
	for _, target := range targets {
		obj := snapshot.Objects[target.Ref]
		if obj == nil {
			continue
		}
		if line := d.ownedByOther(ctx, origin[target.Ref].Unstructured, obj); line != "" {
			refused = append(refused, line)
			continue
		}
		adopted = append(adopted, obj)
	}
	return adopted, ownership(refused)
}

// ownership is the error for resources that belong to other apps; nil for none.
func ownership(refused []string) error {
	if len(refused) == 0 {
		return nil
	}
	return errors.New("Ownership errors:\n" + strings.Join(refused, "\n"))
}

// ownedByOther says of an object that it belongs to another app and may not be taken over; nothing if it may.
func (d *deployment) ownedByOther(ctx context.Context, wanted, obj *unstructured.Unstructured) string {
	owner := d.otherOwner(wanted, obj)
	if owner == "" {
		return ""
	}
	if d.owner == nil {
		d.owner = map[string]string{}
	}
	if d.owner[owner] == "" {
		d.owner[owner] = d.nameOwner(ctx, owner)
	}
	return fmt.Sprintf("- Resource '%s' is already associated with a %s", resource.Describe(obj), d.owner[owner])
}

// unchecked says of which resource it could not be found out whether it exists.
func unchecked(err error, origin map[object.Ref]resource.Resource) error {
	denied := (*cluster.DeniedError)(nil)
	if !errors.As(err, &denied) {
		return fmt.Errorf("Checking existence of resources: %w", err)
	}
	return fmt.Errorf("Checking existence of resource %s: API server says: %w (reason: %s)",
		resource.Describe(origin[denied.Ref].Unstructured), denied.Cause, apierrors.ReasonForError(denied.Cause))
}

// otherOwner is the value of the app's label on an object that belongs to another app and may not be taken over.
func (d *deployment) otherOwner(wanted, obj *unstructured.Unstructured) string {
	key, value, _ := d.target.Label() // it was asked for without an error when resources were marked
	owner, labelled := obj.GetLabels()[key]
	_, exists := wanted.GetAnnotations()[resource.AnnExists]
	_, noop := wanted.GetAnnotations()[resource.AnnNoop]
	if !labelled || owner == value || exists || noop || d.deploy.overrides {
		return ""
	}
	return owner
}

// nameOwner says whose label a value is.
func (d *deployment) nameOwner(ctx context.Context, owner string) string {
	key, _, _ := d.target.Label()
	label := fmt.Sprintf("label '%s=%s'", key, owner)
	apps, err := d.apps.Records.List(ctx, d.request.Namespace, nil)
	if err == nil {
		for _, other := range apps {
			if other.Meta.LabelKey == key && other.Meta.LabelValue == owner {
				return fmt.Sprintf("different %s (%s)", other, label)
			}
		}
	}
	return "different " + label
}

// left are the objects of the app that are still there when all changes have been carried out and waited for.
func (d *deployment) left(r *rollout) []live {
	gone := map[types.UID]bool{}
	for _, c := range r.changes {
		if c.ApplyOp() == change.Delete && c.WaitOp() == change.Gone {
			gone[c.Existing.GetUID()] = true
		}
	}
	return slices.DeleteFunc(deployed(d.found), func(obj live) bool { return gone[obj.GetUID()] })
}

// deployed are those of some objects that controllers did not make.
func deployed(objects []live) []live {
	return slices.DeleteFunc(slices.Clone(objects), resource.Transient)
}

// matching leaves out the objects that are not wanted: with --patch nothing is deleted. Versions of what is wanted stay.
func (d *deployment) matching(found []live, wanted []resource.Resource) []live {
	keys := map[string]bool{}
	for _, r := range wanted {
		keys[resource.Key(r.Unstructured)] = true
	}
	return slices.DeleteFunc(found, func(obj live) bool {
		key := resource.Key(obj)
		if _, versioned := obj.GetAnnotations()[resource.AnnVersioned]; versioned {
			if at := strings.LastIndex(key, "-ver-"); at >= 0 && keys[key[:at]] {
				return false
			}
		}
		return !keys[key]
	})
}
