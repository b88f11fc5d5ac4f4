package sets

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// Restored is a set as a revision has it, with the readiness rules of that revision. Its
// PrepareApply needs no files. The namespaces of the objects are those of the revision.
type Restored struct {
	Set
	Revision *history.Revision
	// Desired are the objects that can be restored. Their sources name the revision.
	Desired []plan.Desired
	// Losses are what cannot be restored, in the order of the revision.
	Losses []Loss
	// Converted are objects that are written in another version than that of the revision.
	Converted []Conversion

	// Given are the options for which the caller's count, not those of the revision.
	Given []Setting

	settings settings
}

// Setting is an option of a run that a revision keeps for the run that restores it.
type Setting string

// The settings.
const (
	ServerSide   Setting = "server-side"
	FieldManager Setting = "field-manager"
	Conflicts    Setting = "conflicts"
	Ordering     Setting = "ordering"
	Propagation  Setting = "propagation"
)

// Loss is an object of a revision that cannot be restored.
type Loss struct {
	Object object.Ref
	Reason string
	// Stays reports whether the object exists and is not changed; else it is left out.
	Stays bool
}

// String returns the object and the reason.
func (l Loss) String() string { return l.Object.String() + ": " + l.Reason }

// Conversion is an object whose version is not served any more.
type Conversion struct {
	Object   object.Ref
	From, To string // apiVersion
}

// String returns the object and both versions.
func (c Conversion) String() string {
	return fmt.Sprintf("%s is written as %s: the cluster does not serve %s any more", c.Object, c.To,
		c.From)
}

// LossError reports a revision that cannot be restored as a whole.
type LossError struct {
	Number int
	Losses []Loss
}

func (e *LossError) Error() string {
	count := "1 object"
	if len(e.Losses) != 1 {
		count = fmt.Sprintf("%d objects", len(e.Losses))
	}
	lines := []string{fmt.Sprintf("%s of revision %d cannot be restored; nothing was changed", count,
		e.Number)}
	for _, l := range e.Losses[:min(len(e.Losses), maxLosses)] {
		lines = append(lines, "  "+l.String())
	}
	if more := len(e.Losses) - maxLosses; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// maxLosses limits the objects that an error lists.
const maxLosses = 20

// Check returns a *LossError if the revision cannot be restored as a whole.
func (r *Restored) Check() error {
	if len(r.Losses) == 0 {
		return nil
	}
	return &LossError{r.Revision.Number, r.Losses}
}

// OtherSetError reports a revision that belongs to an earlier set of the same name.
type OtherSetError struct {
	Title  string // of the set
	Number int
}

func (e *OtherSetError) Error() string {
	return fmt.Sprintf("revision %d does not belong to this %s, but to an earlier one with the same "+
		"name, which was deleted", e.Number, e.Title)
}

// OpenRevisions returns the set that a request names, without its manifests, and its history. The
// folder and the record may be gone if there are revisions.
func OpenRevisions(
	ctx context.Context, c cluster.Writer, r Request,
) (Set, *history.Store, error) {
	if r.Record != "" {
		s, err := FindHistory(ctx, c, r)
		if err != nil {
			return nil, nil, err
		}
		set, err := openRevisionSet(ctx, c, r, s)
		return set, s, err
	}
	set, err := OpenRecord(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	s, err := OpenHistory(ctx, c, set)
	return set, s, err
}

// openRevisionSet returns the set of a history, without its manifests.
func openRevisionSet(
	ctx context.Context, c cluster.Writer, r Request, s *history.Store,
) (Set, error) {
	if r.Record == "" {
		return OpenRecord(ctx, r)
	}
	set, err := Find(ctx, c, r)
	if !errors.As(err, new(*packages.NoRecordError)) {
		return set, err
	}
	for _, kind := range []schema.GroupVersionKind{
		inventory.ResourceGroupKind, inventory.ConfigMapKind,
	} {
		ref := object.Ref{
			Group: kind.Group, Kind: kind.Kind, Namespace: s.Set.Namespace, Name: s.Set.Name,
		}
		if ref.Short() == s.Set.Record && s.Set.ID != "" {
			return &packageSet{request: r, inventory: &inventory.Inventory{
				Ref: ref, ID: s.Set.ID, Labels: map[string]string{inventory.IDKey: s.Set.ID},
				Annotations: map[string]string{}, Source: "the history",
			}}, nil
		}
	}
	return nil, err
}

// AtRevision returns the set of a request as a revision of its history has it. It reads the
// revision and the kinds of the cluster, live Secrets whose data the history does not have, and
// asks the server about objects whose version is not served any more. The error is a
// *history.NotFoundError, a *history.PartError, or an *OtherSetError.
func AtRevision(
	ctx context.Context, c cluster.Writer, r Request, s *history.Store, number int,
) (*Restored, error) {
	base, err := openRevisionSet(ctx, c, r, s)
	if err != nil {
		return nil, err
	}
	revision, err := s.Read(ctx, number)
	if missing := (*history.NotFoundError)(nil); errors.As(err, &missing) {
		if earlier, failed := s.Earlier(ctx); failed == nil &&
			slices.ContainsFunc(earlier, func(h history.Head) bool { return h.Number == number }) {
			return nil, &OtherSetError{base.Title(), number}
		}
	}
	if err != nil {
		return nil, err
	}
	restored := &Restored{Revision: revision}
	if restored.settings, err = readSettings(revision.Settings); err != nil {
		return nil, fmt.Errorf("read revision %d: %w", number, err)
	}
	for _, obj := range revision.Objects { // of versions of this program that left names to the server
		if err := manifest.Name(obj.Unstructured); err != nil {
			return nil, err
		}
	}
	kept, err := restored.completeSecrets(ctx, c, s)
	if err != nil {
		return nil, err
	}
	if kept, err = restored.convert(ctx, c, kept); err != nil {
		return nil, err
	}
	restored.Set, err = restored.open(ctx, r, base, kept)
	return restored, err
}

// completeSecrets returns the objects whose data is known. Data that the history withholds is taken
// from live Secrets: if it is the same as it was, the object is complete; else it is a loss, and
// the Secret is not changed.
func (r *Restored) completeSecrets(
	ctx context.Context, c cluster.Writer, s *history.Store,
) ([]history.Object, error) {
	objects := r.Revision.Objects
	var targets []cluster.Target
	for _, obj := range objects {
		if obj.Withheld != nil {
			targets = append(targets, cluster.Target{
				Ref: object.RefOf(obj.Unstructured), Version: obj.GroupVersionKind().Version,
			})
		}
	}
	if len(targets) == 0 {
		return objects, nil
	}
	live, err := c.Read(ctx, targets)
	if err != nil {
		return nil, fmt.Errorf("compare the Secrets of revision %d: %w", r.Revision.Number, err)
	}
	newest := r.newest(ctx, s)
	var kept []history.Object
	for _, obj := range objects {
		ref := object.RefOf(obj.Unstructured)
		found, withheld := live.Objects[ref], obj.Withheld
		if withheld != nil {
			obj.Unstructured = obj.DeepCopy()
		}
		switch {
		case obj.Complete(found):
			kept = append(kept, obj)
		case found != nil:
			obj.CopyData(found, newest[ref])
			kept = append(kept, obj)
			r.Losses = append(r.Losses, Loss{ref, withheld.Error() +
				", and that of the Secret in the cluster is not known to be the same", true})
		default:
			r.Losses = append(r.Losses, Loss{ref, withheld.Error() + ", and the Secret does not exist",
				false})
		}
	}
	return kept, nil
}

// newest returns the objects of the newest revision; none if it cannot be read.
func (r *Restored) newest(ctx context.Context, s *history.Store) map[object.Ref]*history.Object {
	revision := r.Revision
	if heads, err := s.List(ctx); err == nil && len(heads) > 0 && heads[0].Number > revision.Number {
		if read, err := s.Read(ctx, heads[0].Number); err == nil {
			revision = read
		}
	}
	objects := make(map[object.Ref]*history.Object, len(revision.Objects))
	for i := range revision.Objects {
		objects[object.RefOf(revision.Objects[i].Unstructured)] = &revision.Objects[i]
	}
	return objects
}

// convert returns the objects whose kinds are served, in a version that is served.
func (r *Restored) convert(
	ctx context.Context, c cluster.Writer, objects []history.Object,
) ([]history.Object, error) {
	for _, obj := range objects {
		if obj.GetKind() == "CustomResourceDefinition" {
			if err := c.LearnKind(ctx, obj.Unstructured); err != nil {
				return nil, err
			}
		}
	}
	kept := make([]history.Object, 0, len(objects))
	for _, obj := range objects {
		if obj.GetAPIVersion() == config.DocVersion { // it is no object of the cluster
			kept = append(kept, obj)
			continue
		}
		converted, reason, err := convert(ctx, c, obj)
		if err != nil {
			return nil, err
		}
		ref := object.RefOf(obj.Unstructured)
		if reason != "" {
			r.Losses = append(r.Losses, Loss{ref, reason, false})
			continue
		}
		if from, to := obj.GetAPIVersion(), converted.GetAPIVersion(); from != to {
			r.Converted = append(r.Converted, Conversion{ref, from, to})
		}
		kept = append(kept, converted)
	}
	return kept, nil
}

// conversionManager is the field manager of the dry runs of convert.
const conversionManager = "muster-conversion"

// convert returns an object in a version that the cluster serves. It changes the version alone, and
// only if the server accepts all fields of the object in that version. Otherwise the reason says
// why the object cannot be written.
func convert(
	ctx context.Context, c cluster.Writer, obj history.Object,
) (converted history.Object, reason string, err error) {
	gvk := obj.GroupVersionKind()
	kind, err := c.Kind(ctx, gvk.GroupKind())
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) && unknown.Cause == nil {
		if hidden := c.WhyHidden(ctx, gvk.GroupKind()); hidden != nil {
			return obj, fmt.Sprintf("the cluster does not serve the kind %s now: %v", gvk.GroupKind(),
				hidden), nil
		}
		return obj, fmt.Sprintf("the cluster does not have the kind %s any more", gvk.GroupKind()), nil
	}
	if err != nil || slices.Contains(kind.Versions(), gvk.Version) {
		return obj, "", err
	}
	for _, version := range kind.Served {
		other := obj
		other.Unstructured = obj.DeepCopy()
		other.SetAPIVersion(schema.GroupVersion{Group: gvk.Group, Version: version}.String())
		stored, err := c.Write(ctx, cluster.Write{
			Object: other.Unstructured, Method: cluster.Apply, Manager: conversionManager, Force: true,
			DryRun: true,
		})
		if err == nil && holdsFields(stored.Object, other.Object) {
			return other, "", nil
		}
		status := apierrors.APIStatus(nil) // else the server did not look at the object
		refused := err == nil || errors.As(err, &status) && !apierrors.IsForbidden(err) &&
			!apierrors.IsUnauthorized(err) && !apierrors.IsTimeout(err) &&
			!apierrors.IsServerTimeout(err) && !apierrors.IsTooManyRequests(err) &&
			!apierrors.IsServiceUnavailable(err)
		if !refused || ctx.Err() != nil {
			return obj, "", fmt.Errorf("try %s in version %s: %w", object.RefOf(obj.Unstructured), version,
				err)
		}
	}
	return obj, fmt.Sprintf("the cluster does not serve version %s of the kind %s any more, and does "+
		"not accept the object in %s", gvk.Version, gvk.GroupKind(), strings.Join(kind.Versions(), ", "),
	), nil
}

// holdsFields reports whether a stored value has all fields of a desired one.
func holdsFields(stored, desired any) bool {
	switch desired := desired.(type) {
	case map[string]any:
		fields, ok := stored.(map[string]any)
		for key, value := range desired {
			if field, has := fields[key]; !has || !holdsFields(field, value) {
				return false
			}
		}
		return ok
	case []any:
		items, ok := stored.([]any)
		if !ok || len(items) < len(desired) {
			return false
		}
		return !slices.ContainsFunc(desired, func(item any) bool {
			return !slices.ContainsFunc(items, func(s any) bool { return holdsFields(s, item) })
		})
	default:
		return true // servers change the form of values
	}
}

// open returns the set with the objects and the readiness rules of the revision.
func (r *Restored) open(
	ctx context.Context, request Request, base Set, objects []history.Object,
) (Set, error) {
	found := make([]manifest.Object, len(objects))
	manifests := make([]plan.Desired, len(objects))
	for i, obj := range objects {
		source := strings.TrimSpace(fmt.Sprintf("%s of revision %d", obj.Source, r.Revision.Number))
		found[i] = manifest.Object{
			Unstructured: obj.Unstructured, Origin: manifest.Origin{Path: source},
		}
		manifests[i] = plan.Desired{Object: obj.DeepCopy(), Source: obj.Source}
		r.Desired = append(r.Desired, plan.Desired{Object: obj.DeepCopy(), Source: source})
	}
	ruleFiles, err := request.readRuleFiles(ctx)
	if err != nil {
		return nil, err
	}
	for _, file := range r.Revision.Rules {
		ruleFiles = append(ruleFiles, policy.RuleFile(file))
	}
	rules, err := policy.ParseRules(ruleFiles)
	if err != nil {
		return nil, fmt.Errorf("the readiness rules of revision %d: %w", r.Revision.Number, err)
	}
	request.Files, request.Enforced = nil, false // objects have their namespaces
	return base.restored(restoredFiles{
		request: request, objects: found, manifests: manifests, rules: rules, ruleFiles: ruleFiles,
		group: r.settings.Group,
	})
}

// restoredFiles are what a revision has in place of the files of a set.
type restoredFiles struct {
	request   Request
	objects   []manifest.Object
	manifests []plan.Desired // the objects as their files had them
	rules     []ready.Rule
	ruleFiles []policy.RuleFile
	group     string // of an app
}

// PrepareApply returns the operation that restores the revision, with the options of its run.
func (r *Restored) PrepareApply(
	ctx context.Context, c cluster.Writer, o operation.ApplyOptions,
) (*Operation, error) {
	o.Options = r.Options(o.Options)
	if o.ForceConflicts && !o.ServerSide {
		return nil, fmt.Errorf("revision %d was written client-side, and --force-conflicts is for "+
			"--server-side: add that, or give --conflicts=take-all", r.Revision.Number)
	}
	return r.Set.PrepareApply(ctx, c, o)
}

// Options returns options with those of the revision's run that say how objects are written and
// deleted, unless they are given. Objects that the run took over may be taken over again. All other
// options are the caller's: those that allow a loss, that select objects, and that limit the run.
func (r *Restored) Options(o policy.Options) policy.Options {
	was, given := r.settings.Plan, o
	if was.FieldManager == "" {
		return o // an earlier version of this program wrote the revision
	}
	o.ServerSide, o.FieldManager = was.ServerSide, was.FieldManager
	o.ForceConflicts, o.Conflicts = was.ForceConflicts, was.Conflicts
	o.Propagation, o.Ordering = was.Propagation, was.Ordering
	for _, setting := range r.Given {
		switch setting {
		case ServerSide:
			o.ServerSide = given.ServerSide
		case FieldManager:
			o.FieldManager = given.FieldManager
		case Conflicts:
			o.ForceConflicts, o.Conflicts = given.ForceConflicts, given.Conflicts
		case Ordering:
			o.Ordering = given.Ordering
		case Propagation:
			o.Propagation = given.Propagation
		}
	}
	if !slices.Contains(r.Given, Conflicts) {
		o.ForceConflicts = o.ForceConflicts && o.ServerSide
	}
	adopted := object.NewSet(r.Revision.Adopted...)
	if o.Adopted != nil {
		for _, ref := range o.Adopted.Refs() {
			adopted.Insert(ref)
		}
	}
	o.Adopted = adopted
	return o
}
