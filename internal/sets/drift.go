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

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/apps/versions"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/drift"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
)

// The names of what a set is compared with, beside the numbers of revisions.
const (
	AgainstFiles = "."    // the files of the set
	AgainstGood  = "good" // the last good revision
)

// Baseline is what the live objects of a set are compared with: the objects of a revision, or those
// that files describe.
type Baseline struct {
	DesiredOnly bool // Find looks for no other objects that carry the mark of an app

	Title    string            // of the set
	Text     string            // what messages call the baseline, as in: revision 8
	Revision *history.Revision // nil for files
	// Newer is the newest revision of the set if that is not Revision, and not one of a failed run
	// with the same objects; else 0.
	Newer int

	set      Set
	app      bool
	request  Request
	cluster  Cluster
	store    *history.Store // nil for files
	desired  []plan.Desired
	newest   *object.Set             // what the newest revision desires
	unstored map[object.Ref][]string // what the server did not store of the desired objects

	completed completions // of the newest revision; nil until they are read
	settings  settings
	last      history.Head   // the newest revision; zero for files
	rules     *config.Config // of an app, with its rebase rules; nil for a package
}

// NoRevisionError reports a set without a revision to compare with.
type NoRevisionError struct {
	Title string
	Empty bool // there is none at all
}

func (e *NoRevisionError) Error() string {
	what := "has no revision of a run that has succeeded"
	if e.Empty {
		what = "has no revision: it was deployed by another program, or without a history"
	}
	return fmt.Sprintf("%s %s; apply it, or compare it with its "+
		"files (--against .)", e.Title, what)
}

// OpenBaseline returns what a request's set is compared with: AgainstFiles, AgainstGood or the
// number of a revision.
func OpenBaseline(
	ctx context.Context, c Cluster, r Request, against string,
) (*Baseline, error) {
	if against == AgainstFiles {
		return openFiles(ctx, c, r)
	}
	set, store, err := OpenRevisions(ctx, c, r)
	if err != nil {
		return nil, err
	}
	heads, err := store.List(ctx)
	if err != nil {
		return nil, err
	}
	b := &Baseline{
		Title: set.Title(), set: set, cluster: c, store: store, app: r.App != "", request: r,
	}
	number := 0
	if against == AgainstGood {
		head, ok := history.LastApplied(heads)
		if !ok {
			return nil, &NoRevisionError{set.Title(), len(heads) == 0}
		}
		number = head.Number
	} else if number, err = strconv.Atoi(against); err != nil || number <= 0 {
		return nil, fmt.Errorf("--against %s is not a revision: use its number, %s for the last good "+
			"one, or %s for the files of the set", against, AgainstGood, AgainstFiles)
	}
	if b.Revision, err = store.Read(ctx, number); err != nil {
		return nil, err
	}
	b.Text = fmt.Sprintf("revision %d", number)
	if b.settings, err = readSettings(b.Revision.Settings); err != nil {
		return nil, fmt.Errorf("read revision %d: %w", number, err)
	}
	b.unstored = unstoredOf(b.Revision)
	for _, obj := range b.Revision.Objects {
		b.desired = append(b.desired, plan.Desired{Object: obj.Unstructured, Source: obj.Source})
	}
	b.last = heads[0]
	if newest := heads[0]; newest.Number > number && !history.Repeats(heads, number) {
		b.Newer = newest.Number
		revision, err := store.Read(ctx, newest.Number)
		if err != nil {
			return nil, err
		}
		b.newest = object.NewSet()
		for _, obj := range revision.Objects {
			b.newest.Insert(object.RefOf(obj.Unstructured))
		}
	}
	return b, b.readRules()
}

// openFiles returns the files of a set as a baseline.
func openFiles(ctx context.Context, c Cluster, r Request) (*Baseline, error) {
	if r.Record != "" && !r.NamesArtifact() {
		return nil, errors.New("--record names a package without its folder, so that there are no " +
			"files to compare with; name the folder instead, or leave out --against")
	}
	if r.App != "" && len(r.Files) == 0 {
		return nil, fmt.Errorf("no manifests are given for the app %q: name files or folders with -f",
			r.App)
	}
	set, err := OpenIn(ctx, c, r)
	if err != nil {
		return nil, err
	}
	op, err := set.PrepareApply(ctx, c, packages.ApplyOptions{
		PlanOptions: packages.PlanOptions{AppAnnotations: true, Now: r.Now()},
	})
	if err != nil {
		return nil, err
	}
	b := &Baseline{
		Title: set.Title(), Text: "the files", set: set, app: r.App != "", cluster: c,
		desired: op.Manifests(), request: r,
	}
	return b, b.readRules()
}

// readRules reads the rules of an app: its own, and those that every app has.
func (b *Baseline) readRules() error {
	if !b.app {
		return nil
	}
	all := make([]resource.Resource, len(b.desired))
	for i, d := range b.desired {
		all[i] = resource.Resource{Unstructured: d.Object.DeepCopy(), Origin: d.Source}
	}
	var err error
	if _, b.rules, err = config.Extract(all, apps.ConfigVersion); err != nil {
		return fmt.Errorf("read the rules of %s: %w", b.Title, err)
	}
	if err := b.request.checkRules(b.rules); err != nil {
		return fmt.Errorf("%s of %s: %w", b.Text, b.Title, err)
	}
	return nil
}

// Desired returns the objects that are compared with live ones, in the order of the baseline.
func (b *Baseline) Desired() []object.Ref {
	var refs []object.Ref
	for _, d := range b.desired {
		if b.isCompared(d.Object) {
			refs = append(refs, object.RefOf(d.Object))
		}
	}
	return refs
}

// isCompared reports whether an object is one that runs of the set write and update. One whose name
// the server makes is created by each run, and none is its own.
func (b *Baseline) isCompared(obj *unstructured.Unstructured) bool {
	if obj.GetAPIVersion() == config.DocVersion || obj.GetName() == "" {
		return false
	}
	annotations := object.AnnotationsOf(obj)
	for _, key := range []string{resource.AnnNoop, resource.AnnExists} {
		if _, ok := annotations.Lookup(key); ok {
			return false
		}
	}
	return true
}

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
		if want, err = b.rules.Rebase(live, want); err != nil {
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
