package sets

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Look is what an adoption would find and do.
type Look struct {
	Absent    []object.Ref // they do not exist: the next apply creates them
	Adoptable []object.Ref
	Ours      []object.Ref // of the adopting set already
	Foreign   []Foreign
	// Differences are objects whose live state differs from the manifests.
	Differences []LiveDifference
	Hooks       []adopt.Hook
	Notes       []string

	problems []string // why the set cannot be adopted, beside Foreign
}

// Foreign is an object that belongs to another set too.
type Foreign struct {
	Object object.Ref
	Owner  string // for messages
}

// LiveDifference is an object that the next apply would change.
type LiveDifference struct {
	Object object.Ref
	Fields []string // what changes, without values of Secrets
}

// differing returns the objects with differences.
func (l *Look) differing() *object.Set {
	differing := object.NewSet()
	for _, d := range l.Differences {
		differing.Insert(d.Object)
	}
	return differing
}

// AdoptionError reports why a set of another tool cannot be adopted.
type AdoptionError struct {
	From    string // title of the set
	Objects []string
}

func (e *AdoptionError) Error() string {
	lines := []string{e.From + " cannot be adopted; nothing was changed"}
	for _, line := range e.Objects[:min(len(e.Objects), maxLosses)] {
		lines = append(lines, "  "+line)
	}
	if more := len(e.Objects) - maxLosses; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Look returns what was found when the plan was made.
func (a *Adoption) Look() *Look { return a.look }

// Check returns an *AdoptionError if the set cannot be adopted.
func (a *Adoption) Check() error {
	var lines []string
	for _, f := range a.look.Foreign {
		lines = append(lines, fmt.Sprintf("%s belongs to %s too: take it out of one of the two",
			f.Object, f.Owner))
	}
	if lines = append(lines, a.look.problems...); len(lines) == 0 {
		return nil
	}
	return &AdoptionError{a.From.Title, lines}
}

// inspect finds out what the adoption would do, from the plan of an apply of the new set. It
// returns the live objects with managed fields.
func (a *Adoption) inspect(
	ctx context.Context, op *Operation,
) (map[object.Ref]*unstructured.Unstructured, error) {
	a.look = &Look{Hooks: a.From.Hooks, Notes: slices.Clone(a.From.Notes)}
	targets := make([]cluster.Target, len(a.From.Objects))
	for i, obj := range a.From.Objects {
		targets[i] = cluster.Target{Ref: obj.Ref, Version: obj.Version, ManagedFields: true}
	}
	live, err := a.cluster.Read(ctx, targets)
	if err == nil {
		err = live.Check()
	}
	if err != nil {
		return nil, fmt.Errorf("read the cluster: %w", err)
	}
	own, err := a.own(ctx)
	if err != nil {
		return nil, err
	}
	names, moved := &owner.Names{Cluster: a.cluster}, 0
	for _, obj := range a.From.Objects {
		found := live.Objects[obj.Ref]
		a.classify(ctx, obj.Ref, found, own, names)
		if found != nil && slices.ContainsFunc(found.GetManagedFields(), a.isTheirs) {
			moved++
		}
	}
	if moved > 0 {
		a.look.Notes = append(a.look.Notes, fmt.Sprintf("the fields that %s owns as a field manager "+
			"(objects: %d) move to the manager of this program", a.From.Program, moved))
	}
	a.noteFiles()
	a.checkDescribed(op)
	a.look.Differences, err = a.differences(ctx, op)
	return live.Objects, err
}

// noteFiles adds what the user has to know about the folder and the labels.
func (a *Adoption) noteFiles() {
	if a.draft != nil {
		if files := a.draft.Secrets(); len(files) > 0 {
			a.look.Notes = append(a.look.Notes, "data of Secrets gets into "+strings.Join(files, ", ")+
				", which only you may read: do not commit it unless it is encrypted")
		}
	}
	if a.draft == nil && len(a.From.Hooks) > 0 && a.From.HookText() != "" {
		file := filepath.Join(a.request.To.folder(), hooksFile)
		if _, err := os.Lstat(file); err != nil {
			a.look.Notes = append(a.look.Notes, "the folder exists, so that the hooks are not written to "+
				"it: keep them yourself before --finish, which deletes the last copy")
		}
	}
	if r := a.request.From; r.Tool == adopt.Selector && !r.DropLabels &&
		len(a.format().adoption.drops) == 0 {
		a.look.Notes = append(a.look.Notes, fmt.Sprintf("kubectl apply --prune -l %s would still find "+
			"the objects, and delete what its manifests lack: stop using it, or give --drop-labels",
			r.Name))
	}
}

// checkDescribed adds the objects of the old set that the files do not describe, and objects that
// they describe and somebody else created.
func (a *Adoption) checkDescribed(op *Operation) {
	described := object.NewSet()
	for _, d := range op.Described {
		described.Insert(object.RefOf(d.Object))
		a.checkDropped(d.Object)
	}
	for _, ref := range a.members.Refs() {
		if !described.Has(ref) {
			a.look.problems = append(a.look.problems,
				ref.String()+" is not described in the folder: describe it, or name a new folder")
		}
	}
	for _, step := range op.Plan.Steps {
		if described.Has(step.Ref) && !a.members.Has(step.Ref) && step.Have != nil {
			a.look.problems = append(a.look.problems, fmt.Sprintf("%s is described in the folder and "+
				"exists, but %s did not deploy it: take it out", step.Ref, a.From.Title))
		}
	}
}

// checkDropped adds a manifest with a label that is to be dropped: it would stay.
func (a *Adoption) checkDropped(described *unstructured.Unstructured) {
	if !a.request.From.DropLabels || !a.members.Has(object.RefOf(described)) {
		return
	}
	for _, key := range a.From.Labels {
		if _, has := object.LabelsOf(described).Lookup(key); has {
			a.look.problems = append(a.look.problems, fmt.Sprintf("%s has the label %s in its manifest, "+
				"which --drop-labels would remove: take it out of the manifest",
				object.RefOf(described), key))
		}
	}
}

// classify adds an object to the group that it belongs to.
func (a *Adoption) classify(
	ctx context.Context, ref object.Ref, live *unstructured.Unstructured, own owner.Owner,
	names *owner.Names,
) {
	if live == nil {
		a.look.Absent = append(a.look.Absent, ref)
		return
	}
	if live.GetDeletionTimestamp() != nil {
		a.look.problems = append(a.look.problems, ref.String()+" is being deleted")
	}
	for _, change := range a.From.Record {
		err := object.CheckOwned(change.Ref, []types.UID{change.UID}, live)
		if change.Obsolete && err != nil {
			a.look.problems = append(a.look.problems, err.Error())
		}
	}
	isOurs := false
	others := slices.DeleteFunc(owner.Of(live), func(o owner.Owner) bool {
		mine := own.ID != "" && o.Is(own)
		isOurs = isOurs || mine
		return mine || slices.ContainsFunc(a.From.Owners, o.Is)
	})
	switch {
	case len(others) > 0:
		found := names.FindAll(ctx, others, ref.Namespace)
		a.look.Foreign = append(a.look.Foreign, Foreign{ref, owner.Text(found)})
	case isOurs:
		a.look.Ours = append(a.look.Ours, ref)
	default:
		a.look.Adoptable = append(a.look.Adoptable, ref)
	}
}

// differences returns what an apply of the new set would change, beside marks.
func (a *Adoption) differences(ctx context.Context, op *Operation) ([]LiveDifference, error) {
	outlooks, err := view.Outlooks(op.Plan, a.request.To.Notice, func(sink event.Sink) error {
		_, err := op.Run(ctx, engine.Options{DryRun: engine.DryRunClient}, sink)
		if err == nil {
			err = ctx.Err()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var differences []LiveDifference
	for _, o := range outlooks {
		if !a.members.Has(o.Step.Ref) {
			continue
		}
		switch o.Verb() {
		case view.ToFail:
			differences = append(differences, LiveDifference{o.Step.Ref, []string{o.Err.Error()}})
		case view.ToConfigure, view.ToRecreate:
			if fields := a.fields(o); len(fields) > 0 {
				differences = append(differences, LiveDifference{o.Step.Ref, fields})
			}
		}
	}
	return differences, nil
}

// fields returns the changes of an object beside its marks.
func (a *Adoption) fields(o view.Outlook) []string {
	before, after := o.Comparable()
	var fields []string
	for _, c := range diff.Between(a.unmarked(before), a.unmarked(after), diff.Options{}) {
		fields = append(fields, c.String())
	}
	return fields
}

// unmarked returns an object without the marks that the adoption adds and removes.
func (a *Adoption) unmarked(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	marks := a.From.Marks(a.format().adoption.drops...)
	mark := func(key string) bool {
		return isOwnMark(key) || slices.Contains(marks.NoLabels, key) ||
			slices.Contains(marks.NoAnnotations, key) || slices.Contains(marks.Annotations, key)
	}
	return object.WithMetadata(obj, func(metadata map[string]any) {
		for _, field := range []string{"labels", "annotations"} {
			texts, _ := metadata[field].(map[string]any)
			for key := range texts {
				if mark(key) {
					delete(texts, key)
				}
			}
			if len(texts) == 0 {
				delete(metadata, field)
			}
		}
	})
}

// isTheirs reports whether an entry of managed fields is one of the adopted tool.
func (a *Adoption) isTheirs(e metav1.ManagedFieldsEntry) bool {
	return e.Subresource == "" && slices.Contains(a.From.Managers, e.Manager)
}
