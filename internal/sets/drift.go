package sets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/sets/policy/versions"
)

// Drift is what differs from a baseline.
type Drift struct {
	Objects []drift.Object // in the order of object.Compare
	// Compared are the objects that were compared, in the order of object.Compare.
	Compared []object.Ref
	// Unserved are objects that could not be compared because their kinds are not served, although
	// they may exist.
	Unserved []object.Ref
	// Uncompared are the errors of objects that lack a value of another object.
	Uncompared []error
	Incomplete error // why objects were not compared; nil if all were

	wanted  map[object.Ref]wantedObject // by the names of the live objects
	live    map[object.Ref]*unstructured.Unstructured
	options drift.Options // of the comparison
}

// ownAnnotations are annotations in which tools keep what they applied.
var ownAnnotations = []string{
	resource.AnnKubectlApplied, resource.AnnIdentity, resource.AnnOriginal, resource.AnnOriginalDiff,
	resource.AnnOriginalDiffFull, resource.AnnOriginal + "-diff-md5", resource.AnnNonce,
	resource.AnnLastRenewed,
}

// Find compares the live objects with the baseline. It sends a list for each kind and namespace;
// for an app one more for each kind that the cluster has, to find objects that nobody desires.
func (b *Baseline) Find(ctx context.Context, o drift.Options) (*Drift, error) {
	wanted, live, err := b.read(ctx)
	if err != nil {
		return nil, err
	}
	if o, err = b.options(ctx, o); err != nil {
		return nil, err
	}
	found := &Drift{
		wanted: map[object.Ref]wantedObject{}, live: live.Objects, options: o, Incomplete: live.Check(),
	}
	known := object.NewSet()
	for _, d := range wanted {
		known.Insert(d.live)
		found.wanted[d.live] = d
		if live.Unserved.Has(d.live) && !live.NoKind.Has(d.live) {
			found.Unserved = append(found.Unserved, d.live)
			continue
		}
		result, err := b.compare(d, live.Objects[d.live], live.Objects, o)
		if err == nil && b.mayBeUnstored(ctx, result) {
			result, err = b.compare(d, live.Objects[d.live], live.Objects, o)
		}
		if left := (*uncomparedError)(nil); errors.As(err, &left) {
			found.Uncompared = append(found.Uncompared, left)
			found.Incomplete = errors.Join(found.Incomplete, left)
			continue
		}
		if err != nil {
			return nil, err
		}
		found.Compared = append(found.Compared, d.live)
		if result != nil && !b.hasCompleted(ctx, d, result) {
			found.Objects = append(found.Objects, *result)
		}
	}
	if !b.DesiredOnly {
		if err := b.addUnwanted(ctx, found, known, live); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found.Compared, object.Compare)
	slices.SortFunc(found.Objects, func(x, y drift.Object) int { return object.Compare(x.Ref, y.Ref) })
	return found, nil
}

// wantedObject is a desired object, and the live one that it corresponds to.
type wantedObject struct {
	plan.Desired
	live object.Ref // has another name if versions of the object are kept
}

// compare compares a desired object with a live one, nil if that does not exist. Sources are the
// objects that it may take values from. The result is nil if nothing differs that runs would write.
func (b *Baseline) compare(
	d wantedObject, live *unstructured.Unstructured,
	sources map[object.Ref]*unstructured.Unstructured, o drift.Options,
) (*drift.Object, error) {
	want := d.Object
	o.Unstored = b.unstored[object.RefOf(want)]
	if d.live.Name != want.GetName() {
		want = want.DeepCopy()
		want.SetName(d.live.Name)
		o.Ignore = nil // another content would be a new version
	}
	list, err := packages.AnnotationPolicy().Substitutions(want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.live, err)
	}
	for i := range list {
		if list[i].Source.Namespace == "" && sources[list[i].Source] == nil {
			list[i].Source.Namespace = want.GetNamespace()
		}
		o.Private = o.Private || object.IsSecret(sources[list[i].Source])
	}
	if len(list) > 0 && live != nil { // else it is missing, whatever its sources have
		if want, err = mutation.Apply(want, list, sources); err != nil {
			return nil, &uncomparedError{d.live, err}
		}
	}
	if b.rules != nil && live != nil {
		if want, err = b.rules.Own().Fit(want, live, lastapplied.Original(live)); err != nil {
			return nil, fmt.Errorf("%s: %w", d.live, err)
		}
	}
	result, err := drift.Compare(want, live, o)
	switch {
	case err != nil || result == nil:
		return nil, err
	case result.Kind == drift.Deleted && b.newest != nil && !b.newest.Has(object.RefOf(d.Object)):
		return nil, nil // the newer revision does not have it
	case result.Kind == drift.Changed && isFrozen(want):
		return nil, nil
	}
	result.Source = d.Source
	return result, nil
}

// uncomparedError reports an object that cannot be compared, because a value is missing that it
// takes from another object.
type uncomparedError struct {
	ref   object.Ref
	cause error
}

func (e *uncomparedError) Error() string {
	return fmt.Sprintf("%s was not compared: %v", e.ref, e.cause)
}

// isFrozen reports whether runs create the object and never update it.
func isFrozen(obj *unstructured.Unstructured) bool {
	annotations := object.AnnotationsOf(obj)
	return slices.ContainsFunc(packages.AnnotationPolicy().CreateOnly, func(a plan.Annotation) bool {
		return annotations.Get(a.Key) == a.Value
	})
}

// read returns the desired objects with their live names, and the live objects.
func (b *Baseline) read(ctx context.Context) ([]wantedObject, *cluster.Snapshot, error) {
	var wanted []wantedObject
	var targets []cluster.Target
	var existing *object.Set // read if versions of an object are kept
	asked := object.NewSet()
	add := func(ref object.Ref, version string) {
		if !asked.Has(ref) {
			asked.Insert(ref)
			targets = append(targets, cluster.Target{Ref: ref, Version: version, ManagedFields: true})
		}
	}
	for _, d := range b.desired {
		if !b.isCompared(d.Object) {
			continue
		}
		w := wantedObject{Desired: d, live: object.RefOf(d.Object)}
		if resource.HasAnnotation(d.Object, resource.AnnVersioned) {
			if existing == nil {
				members, err := b.set.Targets(ctx, b.cluster)
				if err != nil {
					return nil, nil, err
				}
				existing = members.All
			}
			w.live = newestVersion(w.live, existing)
		}
		wanted = append(wanted, w)
		add(w.live, d.Object.GroupVersionKind().Version)
		list, err := packages.AnnotationPolicy().Substitutions(d.Object)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", w.live, err)
		}
		for _, s := range list {
			if s.Source.Namespace == "" && d.Object.GetNamespace() != "" {
				s.Source.Namespace = d.Object.GetNamespace()
			}
			add(s.Source, "")
		}
	}
	live, err := b.cluster.Read(ctx, targets)
	if err != nil {
		return nil, nil, fmt.Errorf("read the objects of %s: %w", b.Title, err)
	}
	return wanted, live, nil
}

// newestVersion returns the newest version of an object among the existing ones, or the object.
func newestVersion(ref object.Ref, existing *object.Set) object.Ref {
	newest, highest := ref, -1
	for _, other := range existing.Refs() {
		base, number, ok := versions.Split(other.Name)
		other.Name = base
		if ok && other == ref && number > highest {
			newest.Name, highest = base+"-ver-"+strconv.Itoa(number), number
		}
	}
	return newest
}

// options completes the options of a comparison with what is known of the set.
func (b *Baseline) options(ctx context.Context, o drift.Options) (drift.Options, error) {
	mark, err := b.set.Mark(ctx, b.cluster)
	if err != nil && b.Revision == nil {
		return o, err
	}
	o.Mark, _, _ = strings.Cut(mark.Text, "=")
	o.IgnoreAnnotations = append(slices.Clone(ownAnnotations), o.IgnoreAnnotations...)
	o.Newer = b.Newer > 0
	if b.Revision != nil {
		o.Since = b.last.Time
		if b.Newer > 0 {
			o.Since = b.Revision.Time
		}
		if manager := b.settings.Plan.FieldManager; manager != "" && manager != packages.DefaultManager {
			o.Own = append(o.Own, manager)
		}
	}
	versioned := map[string]bool{}
	for _, d := range b.desired {
		if resource.HasAnnotation(d.Object, resource.AnnVersioned) {
			versioned[d.Object.GetName()] = true
		}
	}
	o.SameName = func(want, live string) bool {
		base, _, ok := versions.Split(live)
		return ok && base == want && versioned[base]
	}
	return o, nil
}

// addUnwanted adds the objects that carry the mark of an app and that nobody desires: neither the
// baseline nor the newest revision. Objects that controllers created are theirs. The objects of a
// package are marked by an annotation, by which nobody can list them.
func (b *Baseline) addUnwanted(
	ctx context.Context, found *Drift, known *object.Set, live *cluster.Snapshot,
) error {
	if !b.app {
		return nil
	}
	members, err := b.set.Targets(ctx, b.cluster)
	if err != nil {
		return err
	}
	found.Incomplete = errors.Join(found.Incomplete, members.Hidden)
	var targets []cluster.Target
	for _, ref := range members.All.Refs() {
		base, _, versioned := versions.Split(ref.Name)
		plain := ref
		plain.Name = base
		switch {
		case known.Has(ref), versioned && live != nil && b.desires(plain):
		case b.newest != nil && (b.newest.Has(ref) || b.newest.Has(plain)):
		default:
			targets = append(targets, cluster.Target{Ref: ref})
		}
	}
	if len(targets) == 0 {
		return nil
	}
	snapshot, err := b.cluster.Read(ctx, targets)
	if err != nil {
		return fmt.Errorf("read objects with the mark of %s: %w", b.Title, err)
	}
	for _, t := range targets {
		obj := snapshot.Objects[t.Ref]
		if obj == nil || obj.GetDeletionTimestamp() != nil || metav1.GetControllerOf(obj) != nil ||
			len(obj.GetOwnerReferences()) > 0 {
			continue
		}
		found.Objects = append(found.Objects, drift.Object{Ref: t.Ref, Kind: drift.Added})
	}
	return nil
}

// desires reports whether the baseline has an object.
func (b *Baseline) desires(ref object.Ref) bool {
	return slices.ContainsFunc(b.desired, func(d plan.Desired) bool {
		return object.RefOf(d.Object) == ref
	})
}

// Join adds the persons that an audit log names.
func (b *Baseline) Join(ctx context.Context, found *Drift, log *drift.AuditLog) error {
	o, err := b.options(ctx, drift.Options{})
	if err != nil {
		return err
	}
	for i := range found.Objects {
		kind, err := b.cluster.Kind(ctx, found.Objects[i].Ref.GroupKind())
		if err != nil {
			return err
		}
		log.Join(&found.Objects[i], kind.Resource.GroupResource(), o.Since)
	}
	return nil
}
