package sets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
)

// AdoptRequest names a set of another tool, and the set that adopts its objects.
type AdoptRequest struct {
	From adopt.Request
	To   Request              // a new or an existing folder; of an app also its name
	Init packages.InitOptions // of a new package
}

// Adoption moves the objects of a set that another tool deploys to a package or an app. It changes
// the marks of objects and their field managers, and nothing else of them. At every moment the
// record of one of the two covers the objects: that of the new set is written before the first
// mark, and that of the tool is changed after the last. An interrupted adoption is continued by
// another, or undone.
type Adoption struct {
	From *adopt.Set
	To   Set

	cluster cluster.Writer
	request AdoptRequest
	draft   *packages.Draft // nil if the folder exists
	store   *undoStore
	undo    *undoInfo // nil until the first object is marked
	members *object.Set
	look    *Look
}

// hooksFile is the name of the file with the hooks of a release, which is no manifest.
const hooksFile = "helm-hooks.yaml.txt"

// AdoptionLock returns what is locked of the set of the other tool meanwhile. It is taken before
// the new set's.
func AdoptionLock(r adopt.Request) lock.Set {
	id := strings.Join([]string{"adopt", string(r.Tool), r.Namespace, r.Name}, "/")
	return lock.Set{Namespace: r.Namespace, ID: id, Name: r.Name}
}

// PrepareAdoption returns the adoption of a set of another tool. It reads the set, the folder and
// what an interrupted adoption has stored, and changes nothing.
func PrepareAdoption(ctx context.Context, c cluster.Writer, r AdoptRequest) (*Adoption, error) {
	a := &Adoption{cluster: c, request: r}
	if err := a.openFolder(ctx); err != nil {
		return nil, err
	}
	a.store = newUndoStore(c, a.format(), r.To.Namespace, r.Init.Name)
	if a.To != nil {
		namespace, name := a.To.Name()
		a.store = newUndoStore(c, a.format(), namespace, name)
	}
	var err error
	if a.undo, err = a.store.load(ctx); err != nil {
		return nil, err
	}
	if err := a.undo.checkOf(ctx, c, a.To); err != nil {
		return nil, err
	}
	if a.undo != nil {
		err = a.resume(ctx)
	} else {
		err = a.startAdoption(ctx)
	}
	if err != nil {
		return nil, err
	}
	a.members = object.NewSet()
	for _, obj := range a.From.Objects {
		a.members.Insert(obj.Ref)
	}
	return a, nil
}

// startAdoption reads the set of the other tool, for an adoption that has not begun.
func (a *Adoption) startAdoption(ctx context.Context) (err error) {
	if err := a.store.other(ctx, a.request.From); err != nil {
		return err
	}
	a.From, err = adopt.Read(ctx, a.cluster, a.request.From)
	if err == nil {
		if alias, has := a.From.Alias(a.request.From); has {
			err = a.store.other(ctx, alias)
		}
	}
	if err == nil && a.To == nil {
		err = a.newFolder()
	}
	if err != nil || !a.format().adoption.created {
		return err
	}
	own, err := a.own(ctx)
	if err == nil {
		err = a.checkNew(own.ID != "")
	}
	return err
}

// checkNew returns an error if the adoption creates a record that exists although it has not begun.
func (a *Adoption) checkNew(recorded bool) error {
	if !recorded || a.undo != nil || !a.format().adoption.created {
		return nil
	}
	return fmt.Errorf("%s exists already, and its next apply would delete what the folder does not "+
		"describe: give the new app another name", a.To.Title())
}

// format returns the format of the new set.
func (a *Adoption) format() *format { return a.request.To.format() }

// openFolder opens the new set if its folder exists. A folder that others have written is as good
// as that of an interrupted adoption: it has to describe the objects of the old set.
func (a *Adoption) openFolder(ctx context.Context) error {
	_, err := os.Lstat(a.request.To.folder())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the folder: %w", err)
	}
	a.To, err = a.format().adoption.open(ctx, a.request.To)
	return err
}

// newFolder makes the new set of the manifests of the old one.
func (a *Adoption) newFolder() (err error) {
	r := a.request
	a.draft, err = packages.NewDraft(r.To.folder(), r.To.Namespace, r.Init, a.From.Manifests())
	if err != nil {
		return err
	}
	if text := a.From.HookText(); text != "" {
		secret := slices.ContainsFunc(a.From.Hooks, func(h adopt.Hook) bool {
			return h.Ref.Group == "" && h.Ref.Kind == "Secret"
		})
		a.draft.AddFile(hooksFile, text, secret)
	}
	objects := slices.Clone(a.draft.Objects)
	for i := range objects { // opening a set may change them
		objects[i] = manifest.Object{
			Unstructured: objects[i].DeepCopy(), Origin: objects[i].Origin,
		}
	}
	a.To = a.format().adoption.draft(r.To, a.draft, objects)
	return nil
}

// resume continues an adoption that was interrupted. Its objects are those that it began with: some
// have lost the marks of the tool already.
func (a *Adoption) resume(ctx context.Context) error {
	into := a.store.title()
	switch u := a.undo; {
	case u.Undoing:
		return fmt.Errorf("%s is being given back to %s: complete that with adopt --undo", into,
			u.From.Title)
	case u.Retired:
		return fmt.Errorf("%s was adopted from %s: adopt --undo gives it back, and adopt --finish makes "+
			"that final", into, u.From.Title)
	case u.Request != a.request.From:
		return fmt.Errorf("%s is being adopted from %s, which was interrupted: give that command again, "+
			"or undo it with adopt --undo", into, u.From.Title)
	case a.To == nil:
		return fmt.Errorf("the adoption of %s by %s was interrupted, and its folder %s is missing: "+
			"restore it, or undo the adoption with adopt --undo", u.From.Title, into,
			a.request.To.folder())
	}
	a.From = &a.undo.From
	return a.readAgain(ctx)
}

// readAgain returns an error if the other tool has changed its set since the adoption began.
func (a *Adoption) readAgain(ctx context.Context) error {
	now, err := adopt.ReadAgain(ctx, a.cluster, a.request.From, a.From)
	a.From.Recall(now)
	if deleted := (*adopt.DeletedError)(nil); errors.As(err, &deleted) {
		return fmt.Errorf("%w: undo the adoption with adopt --undo; if that cannot restore the set, "+
			"delete %s, and apply with --adopt=all, or destroy, %s", err, a.store.first(),
			a.store.title())
	}
	return err
}

// PrepareApply returns the operation that marks the objects as those of the new set.
func (a *Adoption) PrepareApply(ctx context.Context, o operation.ApplyOptions) (*Operation, error) {
	o.Adopted = a.members
	op, err := a.To.PrepareApply(ctx, a.cluster, o)
	if err != nil {
		return nil, err
	}
	op.MayBeEmpty = true // nothing is pruned
	op.Revise = func(ctx context.Context) error { return a.reduce(ctx, op) }
	op.Begin = func(ctx context.Context) error { return a.begin(ctx, op.Plan) }
	return op, nil
}

// own returns what the marks of the new set name. An app that has no record has no ID.
func (a *Adoption) own(ctx context.Context) (owner.Owner, error) {
	return ownerOf(ctx, a.cluster, a.To)
}

// begin writes the folder, and stores what an undo needs, before the first object is marked.
func (a *Adoption) begin(ctx context.Context, p *plan.Plan) error {
	if a.draft != nil {
		file := a.request.Init.File
		if a.format().adoption.created {
			file = ""
		}
		if err := a.draft.Write(file); err != nil {
			return err
		}
		a.draft = nil
	}
	a.undo = a.undoInfo(p)
	if !a.format().adoption.created {
		own, err := a.own(ctx)
		if err != nil {
			return err
		}
		a.undo.ID = own.ID
	}
	if err := a.store.save(ctx, a.undo); err != nil {
		return fmt.Errorf("store what an undo needs: %w; no object was changed", err)
	}
	return nil
}

// Finish hides the record of the old set from its tool, which then finds nothing any more. All
// objects that exist have to belong to the new set alone, and the tool may not have changed the set
// meanwhile.
func (a *Adoption) Finish(ctx context.Context) error {
	if err := a.readAgain(ctx); err != nil {
		return err
	}
	if err := a.verify(ctx); err != nil {
		return err
	}
	for _, change := range a.From.Record {
		if err := makeChange(ctx, a.cluster, change); err != nil {
			return fmt.Errorf("the objects belong to %s, but %s still has its record: change %s: %w; give "+
				"the command again", a.To.Title(), a.From.Title, change.Ref, err)
		}
	}
	a.undo.Retired = true
	if err := a.store.setState(ctx, stateRetired); err != nil {
		return fmt.Errorf("%s belongs to %s, but that was not stored: %w; give the command again",
			a.From.Title, a.To.Title(), err)
	}
	return nil
}

// verify returns an error unless all objects belong to the new set, and to no other.
func (a *Adoption) verify(ctx context.Context) error {
	own, err := a.own(ctx)
	if err != nil {
		return err
	}
	targets := make([]cluster.Target, len(a.From.Objects))
	for i, obj := range a.From.Objects {
		targets[i] = cluster.Target{Ref: obj.Ref, Version: obj.Version}
	}
	live, err := a.cluster.Read(ctx, targets)
	if err == nil {
		err = live.Check()
	}
	if err != nil {
		return fmt.Errorf("read the cluster: %w", err)
	}
	var others []string
	for _, target := range targets {
		obj := live.Objects[target.Ref]
		if obj == nil {
			continue
		}
		if owners := owner.Of(obj); len(owners) != 1 || own.ID == "" || !owners[0].Is(own) {
			others = append(others, target.Ref.String())
		}
	}
	if len(others) == 0 {
		return nil
	}
	slices.Sort(others)
	return fmt.Errorf("%s keeps its record, since not all of its objects belong to %s alone: %s; "+
		"give the command again", a.From.Title, a.To.Title(), strings.Join(others, ", "))
}

// namedObject returns an object that only names one of the cluster.
func namedObject(ref object.Ref, version string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(ref.GroupKind().WithVersion(version))
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	return obj
}
