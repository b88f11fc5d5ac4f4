package plan

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/object"
)

// writeMode is how objects are written. It determines what counts as a change.
type writeMode struct {
	serverSide  bool
	manager     string
	lastApplied string // annotation with the applied configuration; empty: none
	owner       Owner
	conflicts   Conflicts
	encodes     bool // stringData is compared as data
	ignore      diff.IgnoreRules
	strict      bool // client-side without what server-side apply knows; see Policy.OnlyClientSide
	keeper      Keeper
	books       []string // annotations of the keeper
	fit         Fit
}

func (p Policy) writeMode() writeMode {
	return writeMode{p.ServerSide, p.Manager, p.LastApplied, p.Owner, p.Conflicts,
		p.EncodeStringData, p.Ignore, p.OnlyClientSide, p.Keeper, p.Bookkeeping, p.Fit}
}

func (p *Plan) writeMode() writeMode {
	return writeMode{p.ServerSide, p.Manager, p.LastApplied, p.Owner, p.Conflicts,
		p.EncodeStringData, p.Ignore, p.OnlyClientSide, p.Keeper, p.Bookkeeping, p.Fit}
}

// decide sets the operation of a step (create, update or unchanged) and what is sent.
func (w writeMode) decide(step *Step, want *unstructured.Unstructured) error {
	step.Patch, step.Diff, step.Contested, step.Force = diff.Patch{}, nil, nil, false
	step.Unmerged, step.Obstacles, step.ServerSide = nil, nil, w.serverSide
	step.Desired, step.Released = nil, nil
	if step.ReasonCode == ReasonServerSide {
		step.ReasonCode, step.Reason = "", ""
	}
	if !w.strict {
		want = object.WithoutServerAnnotations(want) // a revision may have them
	}
	if w.keeper != nil { // a manifest may have them from a live object
		want = w.withoutBooks(want)
		step.Desired = want
		want = object.WithMetadata(want, func(map[string]any) {}) // only its annotations change in place
	}
	former := w.owner.adopts(step.Have, want)
	var err error
	if w.serverSide {
		err = w.decideServerSide(step, want, former)
	} else {
		err = w.decideClientSide(step, want, former)
	}
	if adopted := "it belonged to " + former.Text; former.Text != "" && step.Op == Update {
		switch step.ReasonCode {
		case ReasonServerSide:
			step.Reason = adopted + "; " + step.Reason
		case "":
			step.ReasonCode, step.Reason = ReasonAdopted, adopted
		}
	}
	return err
}

// Changes reports whether a desired object, which gets the mark of the owner, would update a live
// one.
func (p Policy) Changes(live, want *unstructured.Unstructured) (bool, error) {
	step, mode := Step{Ref: object.RefOf(want), Have: live}, p.writeMode()
	mode.serverSide = false // whose answer would be that of the server
	if err := mode.decide(&step, p.Owner.marked(want)); err != nil || step.Op != Update {
		return false, err
	}
	if base, _, err := mode.base(live, want); err != nil || base == nil || step.ServerSide {
		return true, err
	}
	own := append([]string{p.LastApplied, p.Owner.Annotation}, p.Bookkeeping...)
	return len(diff.Between(live, step.Want, diff.Options{IgnoreAnnotations: own})) > 0, nil
}

// decideClientSide decides by client-side apply. It changes want, which already carries the owner's
// annotation and belongs to the step. The annotation keeps the applied configuration; if it is
// empty, none is kept. An object that cannot be written so is decided by server-side apply. The
// marks of former owners are removed.
func (w writeMode) decideClientSide(
	step *Step, want *unstructured.Unstructured, former Others,
) error {
	kept, err := true, error(nil)
	if w.lastApplied != "" {
		if kept, err = w.keepApplied(want); err != nil {
			return err
		}
	}
	applied, annotated, err := w.base(step.Have, want)
	if err != nil {
		return err
	}
	if why := w.unfit(want, applied, step.Have, kept); why != "" {
		return w.decideUnfit(step, want, former, why)
	}
	step.keepReplicas(want)
	if err := w.keepIgnored(step, want); err != nil {
		return fmt.Errorf("keep the configuration: %w", err)
	}
	if step.Have == nil {
		step.Op, step.Want = Create, w.created(want)
		return nil
	}
	if annotated {
		keepLastApplied(want, step.Have, applied, w.lastApplied)
	}
	if w.encodes {
		applied, want = diff.WithEncodedData(applied), diff.WithEncodedData(want)
	}
	if !w.strict {
		want = diff.WithoutItemNulls(want)
	}
	if want, err = w.fitted(want, step.Have, applied); err != nil {
		return err
	}
	if want, err = w.ignore.Keep(want, step.Have); err != nil {
		return fmt.Errorf("keep ignored fields: %w", err)
	}
	applied = diff.WithSurplus(former.withMarks(applied, step.Have), want, step.Have, w.manager,
		step.TooMany)
	if !w.strict {
		applied = diff.WithFormerNames(object.WithoutServerAnnotations(applied), want, step.Have)
	}
	left, want, err := w.yieldObstacles(step.Have, want, applied)
	if err != nil {
		return err
	}
	if err := w.keepLeft(want, step.Have, fieldsOf(left)); err != nil {
		return err
	}
	m, err := w.yield(step, want, func(want *unstructured.Unstructured) (merged, error) {
		return w.merge(applied, want, step.Have, former)
	})
	step.Contested = append(left, step.Contested...)
	if unmerged := (*diff.MergeError)(nil); errors.As(err, &unmerged) {
		step.Op, step.Want, step.Unmerged = Update, want, err
		return nil
	}
	if err != nil {
		return err
	}
	if same, err := w.changesNothing(step, want, m); err != nil || same {
		step.Op, step.Want = Unchanged, step.Have
		return err
	}
	if m, err = w.seal(m, step.Have); err == nil {
		m, err = w.handOver(m, step.Have, former)
	}
	if err != nil {
		return err
	}
	step.Op, step.Want, step.Patch = Update, m.result, m.patch
	step.Diff = diff.Between(step.Have, m.result, w.comparison())
	return nil
}

// created returns a desired object as a client-side apply creates it.
func (w writeMode) created(want *unstructured.Unstructured) *unstructured.Unstructured {
	if !w.strict || !diff.HasStoredNulls(want) {
		want = diff.PruneNulls(want)
	}
	return w.sealed(want, nil)
}

// fitted returns a desired object as the set lets it replace a live one, with its mark, which no
// rule takes away.
func (w writeMode) fitted(
	want, live, applied *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if w.fit == nil || live == nil {
		return want, nil
	}
	want, err := w.fit(want, live, applied)
	if err != nil {
		return nil, err
	}
	if id, ok := w.owner.markOn(want); ok && id == w.owner.ID {
		return want, nil
	}
	return w.owner.marked(want), nil
}

// fieldsOf returns the fields of contests.
func fieldsOf(contests []Contest) []diff.ContestedField {
	fields := make([]diff.ContestedField, len(contests))
	for i, c := range contests {
		fields[i] = c.ContestedField
	}
	return fields
}

// merged is the patch of a client-side apply, which has no data if it changes nothing, and the
// object that results.
type merged struct {
	patch  diff.Patch
	result *unstructured.Unstructured
}

// merge merges a desired object into a live one. The maps with marks of former owners stay, and so
// does what others have added.
func (w writeMode) merge(
	applied, want, live *unstructured.Unstructured, former Others,
) (m merged, err error) {
	if !w.strict {
		if want, err = diff.WithAdded(want, applied, live, w.setter()); err != nil {
			return m, fmt.Errorf("compute the change: %w", err)
		}
	}
	m.patch, m.result, err = diff.ThreeWay(applied, former.withMaps(want), live)
	if err != nil {
		return m, fmt.Errorf("compute the change: %w", err)
	}
	return m, nil
}

// yield merges a desired object into the live one of a step, without the contested fields that are
// left to controllers. It sets the contested fields of the step.
func (w writeMode) yield(
	step *Step, want *unstructured.Unstructured,
	merge func(want *unstructured.Unstructured) (merged, error),
) (m merged, err error) {
	if m, err = merge(want); err != nil || len(m.patch.Data) == 0 {
		return m, err
	}
	if step.Contested, err = w.contested(want, m.result, step.Have); err != nil {
		return m, err
	}
	left := w.leftFields(step.Contested)
	if len(left) == 0 {
		return m, nil
	}
	kept := want.DeepCopy()
	if err := w.keepLeft(kept, step.Have, left); err != nil {
		return m, err
	}
	if m, err = merge(kept); err != nil {
		return m, err
	}
	still, err := w.contested(kept, m.result, step.Have)
	if err != nil {
		return m, err
	}
	step.markLeft(still)
	return m, nil
}

// changesNothing reports whether a merge changes nothing, or nothing but the record of ignored
// fields, which is not written for itself: a source that describes them otherwise changes nothing.
func (w writeMode) changesNothing(
	step *Step, want *unstructured.Unstructured, m merged,
) (bool, error) {
	options := w.comparison()
	switch {
	case len(m.patch.Data) == 0:
		return true, nil
	case len(w.ignore) == 0 || len(diff.Between(step.Have, m.result, options)) > 0:
		return false, nil
	}
	applied, described := readLastApplied(step.Have, w.lastApplied),
		readLastApplied(want, w.lastApplied)
	if applied == nil || described == nil {
		return false, nil
	}
	before, err := w.ignore.Keep(applied, step.Have)
	if err != nil {
		return false, err
	}
	after, err := w.ignore.Keep(described, step.Have)
	return err == nil && reflect.DeepEqual(before.Object, after.Object), err
}

// decideServerSide decides by server-side apply. The object is unchanged if the manager has applied
// the same fields and no client-side apply is left to migrate. The marks of former owners are
// removed by a patch of their own.
func (w writeMode) decideServerSide(
	step *Step, want *unstructured.Unstructured, former Others,
) error {
	want = diff.WithoutIgnored(want)
	if !w.strict {
		want = w.withoutLastApplied(diff.WithoutNulls(want))
	}
	text := want // for what the object says about itself
	if w.encodes {
		want, former.StaleData = diff.WithEncodedData(want),
			diff.StaleStringData(step.Have, want, w.manager)
	}
	manifest := want
	want, err := w.fitted(want, step.Have, w.ownApplied(step.Have))
	if err != nil {
		return err
	}
	described := want
	want, err = w.ignore.LeaveOut(w.withoutReplicas(step, want), step.Have,
		diff.Applier{Manager: w.manager, LastApplied: w.lastApplied})
	if err != nil {
		return fmt.Errorf("leave out ignored fields: %w", err)
	}
	if step.Contested, err = w.contested(want, nil, step.Have); err != nil {
		return err
	}
	if want, described, err = w.leaveContested(step, want, described); err != nil {
		return err
	}
	left, described, err := w.yieldObstacles(step.Have, described, w.ownApplied(step.Have))
	if err != nil {
		return err
	}
	if len(left) > 0 {
		want = want.DeepCopy()
	}
	for _, c := range left {
		c.LeaveOut(want)
	}
	step.Contested = append(left, step.Contested...)
	if err := w.keepManifest(step, manifest); err != nil {
		return err
	}
	if want, err = w.recorded(step, want, text); err != nil {
		return err
	}
	step.Op, step.Want = Create, want
	if step.Have == nil {
		return nil
	}
	before := step.Have
	if w.keeper != nil && w.owner.Owns(before) && diff.IsApplier(before, w.manager) {
		if before, err = diff.WithUpdatesApplied(before, w.manager); err != nil {
			return fmt.Errorf("compare with what was applied: %w", err)
		}
	}
	same, err := diff.AppliedBy(want, before, w.manager)
	if err != nil {
		return fmt.Errorf("compare with what was applied: %w", err)
	}
	step.Op = Update
	step.Disown = former.Removal(step.Have, want)
	if step.Handover, err = w.handover(step.Have, former); err != nil {
		return err
	}
	if step.Released, err = w.released(step.Have, manifest, want); err != nil {
		return err
	}
	if same && len(step.Disown.Data) == 0 && step.Released == nil &&
		(w.lastApplied == "" || diff.ClientSideManagers(before, w.lastApplied).Len() == 0) {
		step.Op = Unchanged
		return nil
	}
	step.Obstacles, err = w.obstacles(described, step)
	return err
}

// leaveContested returns what is sent without the contested fields that are left to others, and
// what is described with their live values.
func (w writeMode) leaveContested(
	step *Step, want, described *unstructured.Unstructured,
) (sent, kept *unstructured.Unstructured, err error) {
	left := w.leftFields(step.Contested)
	if len(left) == 0 {
		return want, described, nil
	}
	sent, kept = want.DeepCopy(), described.DeepCopy()
	for _, field := range left {
		field.LeaveOut(sent)
		field.Keep(kept, step.Have)
	}
	still, err := w.contested(sent, nil, step.Have)
	if err == nil {
		step.markLeft(still)
	}
	return sent, kept, err
}

// keepManifest sets what is created in place of the live object of a server-side apply if what is
// sent may lack fields of the manifest, or have other values: ignored ones, those that are left to
// controllers, and those that rules leave to others.
func (w writeMode) keepManifest(step *Step, manifest *unstructured.Unstructured) error {
	step.Recreate = nil
	yields := w.conflicts == YieldToControllers && len(step.Contested) > 0
	if step.Have == nil || !yields && len(w.ignore) == 0 && w.fit == nil {
		return nil
	}
	made := diff.PruneNulls(manifest)
	step.keepReplicas(made)
	if w.keeper != nil {
		if _, err := w.keepApplied(made); err != nil {
			return err
		}
		made = w.sealed(made, nil)
	}
	step.Recreate = made
	return nil
}

func annotate(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

// setLastApplied stores the object itself in its annotation, as JSON with a newline, as kubectl
// does.
func setLastApplied(obj *unstructured.Unstructured, key string) error {
	removeAnnotation(obj, key)
	data, err := obj.MarshalJSON()
	if err != nil {
		return fmt.Errorf("keep the configuration: %w", err)
	}
	annotate(obj, key, string(data))
	return nil
}

// withoutLastApplied returns a desired object without the configuration that was applied last,
// which a manifest may have from a live object.
func (w writeMode) withoutLastApplied(want *unstructured.Unstructured) *unstructured.Unstructured {
	if _, has := object.AnnotationsOf(want).Lookup(w.lastApplied); !has || w.lastApplied == "" {
		return want
	}
	want = want.DeepCopy()
	removeAnnotation(want, w.lastApplied)
	return want
}

// keepLastApplied lets a desired object have the annotation of the live one with the configuration
// that was applied last, if only its text differs.
func keepLastApplied(want, live, applied *unstructured.Unstructured, key string) {
	kept, text := live.GetAnnotations()[key], want.GetAnnotations()[key]
	if kept != text && reflect.DeepEqual(applied.Object, readLastApplied(want, key).Object) {
		annotate(want, key, kept)
	}
}

// appliedTo returns the configuration that was applied last to a live object, as readLastApplied
// does, in the version of that. It has no preconditions: a server that merges keeps the request in
// the annotation, with the UID and the resource version on which it depended.
func appliedTo(live *unstructured.Unstructured, key string) *unstructured.Unstructured {
	obj := readLastApplied(live, key)
	if obj != nil {
		unstructured.RemoveNestedField(obj.Object, "metadata", "uid")
		unstructured.RemoveNestedField(obj.Object, "metadata", "resourceVersion")
		obj.Object = builtin.InVersionOf(live.Object, obj.Object)
	}
	return obj
}

// readLastApplied returns the configuration that was applied last, or nil if there is none or it
// cannot be read. Without it the merge removes nothing.
func readLastApplied(live *unstructured.Unstructured, key string) *unstructured.Unstructured {
	text, ok := object.AnnotationsOf(live).Lookup(key)
	if !ok {
		return nil
	}
	data := []byte(text)
	if !strings.HasPrefix(strings.TrimSpace(text), "{") { // old versions of kapp wrote YAML
		err := yamlsize.Check(data)
		if err == nil {
			data, err = yaml.ToJSON(data)
		}
		if err != nil {
			return nil
		}
	}
	obj := &unstructured.Unstructured{}
	if err := obj.UnmarshalJSON(data); err != nil {
		return nil
	}
	return obj
}
