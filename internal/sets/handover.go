package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Handover moves the objects of one set to another, of the other kind, without changing anything
// but the marks that say who owns them. At every moment a record covers them: the new one is
// written before the first mark, and the old one is deleted after the last. An interrupted handover
// is continued by another.
type Handover struct {
	From, To Set

	cluster  cluster.Writer
	members  *object.Set // of From, without those of an app that are gone or unmarked
	gone     []object.Ref
	unmarked []object.Ref // of an app: those that have lost its label
	notice   func(string)
	label    string      // of the objects, which a new app takes over; empty for none
	locked   lock.Set    // of From
	from, to owner.Owner // that the marks of the sets name; without an ID if there is none yet
	record   object.Ref  // of From, and the UIDs of the objects that hold it
	holders  []types.UID
	former   *history.Revision // of From, the newest one; nil for none that says more than its files
	now      func() time.Time
	begin    func() error
	end      func() (file string, err error)
}

// ToApp returns the handover of the package in a folder to an app of a name, whose record is in the
// namespace of the package's.
func ToApp(ctx context.Context, c cluster.Writer, r Request, name string) (*Handover, error) {
	opened, err := openPackage(ctx, r)
	if err != nil {
		return nil, err
	}
	from := opened.(*packageSet)
	if err := packages.CheckNoApplySet(from.inventory, "converted"); err != nil {
		return nil, err
	}
	request := r
	request.App, request.Files, request.Namespace = name, nil, from.inventory.Ref.Namespace
	to := &appSet{
		request: request, objects: from.pkg.Objects, rules: from.rules, ruleFiles: from.ruleFiles,
		label: templateLabel(from.pkg.Objects),
	}
	to.objectLabels = to.label == ""
	h := &Handover{
		From: from, To: to, cluster: c, now: r.Now, label: to.label,
		begin: func() error { return nil },
		end: func() (string, error) {
			if r.folder() == packages.Stdin {
				return "", nil
			}
			return packages.RemoveInventory(r.folder(), from.inventory)
		},
	}
	return h, h.list(ctx)
}

// ToPackage returns the handover of an app to a package in a folder. The folder is written with the
// objects as the app deployed them, unless it has an inventory already.
func ToPackage(
	ctx context.Context, c cluster.Writer, r Request, folder string, o packages.InitOptions,
) (*Handover, error) {
	from := &appSet{request: r}
	request := r
	request.App, request.Files = "", []string{folder}
	request.Enforced = false // the flag names the namespace of the record
	h := &Handover{
		From: from, cluster: c, now: r.Now, notice: r.Notice, begin: func() error { return nil },
		end: func() (string, error) { return "", nil },
	}
	err := h.list(ctx)
	written, unwritten := openPackage(ctx, request)
	if unwritten == nil { // an earlier handover has written it
		h.To = written
	}
	missing := errors.As(err, new(*NoRecordError)) || errors.As(err, new(*ElsewhereError))
	if missing && h.isComplete(ctx) {
		return nil, &ConvertedError{h.From.Title(), h.To.Title()}
	}
	if err != nil {
		return nil, err
	}
	if h.To != nil {
		return h, nil
	}
	objects, err := from.client(c).Applied(ctx, from.name())
	if err != nil {
		return nil, from.nativeError(err)
	}
	h.readFormer(ctx)
	objects = append(objects, h.removedJobs(objects)...)
	h.noteGone(objects)
	draft, err := packages.NewDraft(folder, r.Namespace, o, objects)
	if err != nil {
		return nil, err
	}
	rules, err := r.readRuleFiles(ctx)
	if err != nil {
		return nil, err
	}
	to := &packageSet{
		request: request, inventory: draft.Inventory, pkg: &draft.Package, ruleFiles: rules,
	}
	if to.rules, err = policy.ParseRules(rules); err != nil {
		return nil, err
	}
	h.To = to
	h.begin = func() error {
		err := draft.Write(o.File)
		if files := draft.Secrets(); err == nil && len(files) > 0 {
			r.Notice("note: data of Secrets is in " + strings.Join(files, ", ") +
				": do not commit it unless it is encrypted")
		}
		return err
	}
	return h, nil
}

// ConvertedError reports that an earlier handover has ended: there is nothing to do.
type ConvertedError struct{ From, To string }

func (e *ConvertedError) Error() string { return fmt.Sprintf("%s is now %s", e.From, e.To) }

// Message returns the message of the revision of a set that another has become.
func (h *Handover) Message() string { return "converted from " + h.From.Title() }

// isComplete reports whether the new set has objects of the old one, by the history.
func (h *Handover) isComplete(ctx context.Context) bool {
	if h.To == nil {
		return false
	}
	set, err := h.To.History(ctx, h.cluster)
	if err != nil || set.ID == "" {
		return false
	}
	heads, err := storeOf(h.cluster, set).List(ctx)
	return err == nil && slices.ContainsFunc(heads, func(head history.Head) bool {
		return head.Message == h.Message()
	})
}

// list reads which objects the old set has, and what it locks.
func (h *Handover) list(ctx context.Context) error {
	targets, err := h.From.Targets(ctx, h.cluster)
	if err != nil {
		return err
	}
	h.members, h.locked = object.NewSet(), targets.Locks[0]
	h.gone, h.unmarked = targets.Gone, targets.Unmarked
	for _, ref := range targets.All.Refs() {
		if !slices.Contains(h.gone, ref) && !slices.Contains(h.unmarked, ref) { // else nothing to give
			h.members.Insert(ref)
		}
	}
	return nil
}

// identify reads what the marks of both sets name.
func (h *Handover) identify(ctx context.Context) (err error) {
	if h.from, err = ownerOf(ctx, h.cluster, h.From); err == nil {
		h.to, err = ownerOf(ctx, h.cluster, h.To)
	}
	if err != nil {
		return err
	}
	h.record, h.holders, err = h.From.holders(ctx, h.cluster)
	return err
}

// ownerOf returns what the marks of a set name. A set without a record may have no ID.
func ownerOf(ctx context.Context, c cluster.Writer, set Set) (owner.Owner, error) {
	id, err := set.markID(ctx, c)
	return owner.Owner{Kind: set.format().owner, ID: id}, err
}

// Lock returns what is locked of the old set meanwhile. It is taken before the new set's.
func (h *Handover) Lock() lock.Set { return h.locked }

// PrepareApply returns the operation that marks the objects as those of the new set. It is called
// while the old set is locked.
func (h *Handover) PrepareApply(
	ctx context.Context, o operation.ApplyOptions,
) (*Operation, error) {
	err := h.list(ctx) // another run may have ended since
	if err == nil {
		err = h.identify(ctx)
	}
	if err != nil {
		return nil, err
	}
	h.readFormer(ctx)
	o.Adopted = h.members
	op, err := h.To.PrepareApply(ctx, h.cluster, o)
	if err != nil {
		return nil, err
	}
	op.Revise = func(context.Context) error {
		h.guard(op)
		return nil
	}
	op.Begin = func(context.Context) error { return h.begin() } // it writes files
	return op, nil
}

// readFormer reads the newest revision of the old set, if it says what the objects do not show:
// that Jobs have succeeded, or that the server does not store fields. One that cannot be read is
// none.
func (h *Handover) readFormer(ctx context.Context) {
	h.former = nil
	set, err := h.From.History(ctx, h.cluster)
	if err != nil || set.ID == "" {
		return
	}
	store := storeOf(h.cluster, set)
	heads, err := store.List(ctx)
	if err != nil || len(heads) == 0 || heads[0].Completed == 0 && heads[0].Unstored == 0 {
		return
	}
	if revision, err := store.Read(ctx, heads[0].Number); err == nil {
		h.former = revision
	}
}

// removedJobs returns the Jobs of the old set that have succeeded and removed themselves, and are
// not among its live objects.
func (h *Handover) removedJobs(
	live []*unstructured.Unstructured,
) (jobs []*unstructured.Unstructured) {
	if h.former == nil {
		return nil
	}
	known, exists := completionsOf(h.former), object.NewSet()
	for _, obj := range live {
		exists.Insert(object.RefOf(obj))
	}
	for _, obj := range h.former.Objects {
		ref := object.RefOf(obj.Unstructured)
		if known[ref].removed(obj.Unstructured, h.now()) && !exists.Has(ref) {
			jobs = append(jobs, obj.Unstructured)
		}
	}
	return jobs
}

// noteGone reports which objects of an app are not handed over because somebody has deleted them or
// has removed the label of the app, given those that the new set describes.
func (h *Handover) noteGone(described []*unstructured.Unstructured) {
	for _, ref := range h.gone {
		if !slices.ContainsFunc(described, func(obj *unstructured.Unstructured) bool {
			return object.RefOf(obj) == ref
		}) {
			h.notice(fmt.Sprintf("note: %s was deployed and does not exist; the new set does not have it",
				ref))
		}
	}
	for _, ref := range h.unmarked {
		h.notice(fmt.Sprintf("note: %s has lost the label of the app; it stays in the cluster, and the "+
			"new set does not have it", ref))
	}
}

// guard lets a plan change nothing but marks of objects that others do not change meanwhile, and
// not run Jobs again that the old set has run.
func (h *Handover) guard(op *Operation) {
	if op.Basis.former = h.former; h.former != nil {
		completeJobs(op, createdJobs(op.Plan, nil), h.former, h.now())
	}
	op.Plan.Guard(content)
}

// content returns an object without labels and annotations.
func content(obj *unstructured.Unstructured) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	obj.SetLabels(nil)
	obj.SetAnnotations(nil)
	return obj
}

// HandoverError reports objects that a handover would change, create, or lose.
type HandoverError struct {
	To      string // title of the new set
	Objects []string
}

func (e *HandoverError) Error() string {
	lines := []string{fmt.Sprintf("not only the marks of the objects would change, as those of %s; "+
		"nothing was changed", e.To)}
	for _, line := range e.Objects[:min(len(e.Objects), maxLosses)] {
		lines = append(lines, "  "+line)
	}
	if more := len(e.Objects) - maxLosses; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(append(lines, "apply the set first, and then give the command again"),
		"\n")
}

// overtaken says of an object that the dry run cannot say what a handover changes.
const overtaken = "was changed by others meanwhile: give the command again"

// Check returns a *HandoverError unless a plan changes nothing but marks, and has all objects of
// the old set.
func (h *Handover) Check(outlooks []view.Outlook) error {
	e := &HandoverError{To: h.To.Title()}
	desired := object.NewSet()
	for _, o := range outlooks {
		desired.Insert(o.Step.Ref)
		if o.Step.ReasonCode == plan.ReasonCompleted {
			continue
		}
		if err := object.CheckOwned(h.record, h.holders, o.Step.Have); err != nil {
			e.Objects = append(e.Objects, err.Error())
			continue
		}
		switch verb := o.Verb(); {
		case verb == view.ToCreate:
			e.Objects = append(e.Objects, o.Step.Ref.String()+" does not exist, and would be created")
		case verb == view.ToFail:
			e.Objects = append(e.Objects, fmt.Sprintf("%s would fail: %v", o.Step.Ref, o.Err))
		case verb == view.ToSkip && !h.members.Has(o.Step.Ref):
		case h.foreign(o.Step) != "":
			e.Objects = append(e.Objects, o.Step.Ref.String()+" "+h.foreign(o.Step))
		case (verb == view.ToLeave || verb == view.ToSkip) && !h.marked(o.Step):
			e.Objects = append(e.Objects, o.Step.Ref.String()+" "+notMarked)
		case verb == view.ToSkip:
		case o.ChangesOnlyMarks(isOwnMark):
		case o.Overtaken():
			e.Objects = append(e.Objects, o.Step.Ref.String()+" "+overtaken)
		default:
			e.Objects = append(e.Objects, o.Step.Ref.String()+" would be changed: muster plan shows how")
		}
	}
	for _, ref := range h.members.Refs() {
		if !desired.Has(ref) {
			e.Objects = append(e.Objects,
				ref.String()+" was deployed, and the files do not describe it")
		}
	}
	if len(e.Objects) == 0 {
		return nil
	}
	return e
}

// foreign returns why a live object is not to be given to the new set; empty for one of either set.
func (h *Handover) foreign(step *plan.Step) string {
	owners := owner.Of(step.Have)
	switch {
	case slices.ContainsFunc(owners, h.from.Is), h.to.ID != "" && slices.ContainsFunc(owners, h.to.Is):
		return ""
	case len(owners) > 0:
		return "belongs to " + owner.Text(owners) + ", and not to " + h.From.Title()
	case !h.members.Has(step.Ref):
		return "exists, and " + h.From.Title() + " did not deploy it"
	}
	return ""
}

// marked reports whether a live object has the marks of the new set already.
func (h *Handover) marked(step *plan.Step) bool {
	to := h.to
	to.ID = cmp.Or(to.ID, h.label)
	return to.ID != "" && slices.ContainsFunc(owner.Of(step.Have), to.Is)
}

// isOwnMark reports whether a label or an annotation says which package or app owns an object, or
// what it applied.
func isOwnMark(key string) bool {
	return owner.IsOwnMark(key) || slices.Contains(resource.Bookkeeping[:], key) ||
		key == resource.AnnVersioned || key == resource.AnnVersionedKeep ||
		key == resource.AnnNumVersions || key == resource.AnnKubectlApplied
}

// Finish deletes the record of the old set, and what describes it in files. It returns the file
// that it changed or removed, or "".
func (h *Handover) Finish(ctx context.Context) (file string, err error) {
	err = h.From.forget(ctx, h.cluster, h.members)
	if err != nil {
		return "", fmt.Errorf("the objects belong to %s, but the record of %s was not deleted: %w; give "+
			"the command again", h.To.Title(), h.From.Title(), err)
	}
	file, err = h.end()
	if err != nil {
		return "", fmt.Errorf("the objects belong to %s, but the inventory of %s is left: %w",
			h.To.Title(), h.From.Title(), err)
	}
	return file, nil
}

// templatePaths are the labels of pod templates.
var templatePaths = [][]string{
	{"spec", "template", "metadata", "labels"},
	{"spec", "jobTemplate", "spec", "template", "metadata", "labels"},
}

// templateLabel returns the value of the label of apps that all pod templates of manifests have, as
// an app that was converted leaves them; empty if they have none, or different ones.
func templateLabel(objects []manifest.Object) string {
	values := map[string]bool{}
	for _, obj := range objects {
		for _, path := range templatePaths {
			if _, found, _ := unstructured.NestedMap(obj.Object, path[:len(path)-2]...); found {
				value, _, _ := unstructured.NestedString(obj.Object, append(path[:len(path):len(path)],
					resource.LabelApp)...)
				values[value] = true
			}
		}
	}
	if len(values) != 1 {
		return ""
	}
	for value := range values {
		return value
	}
	return ""
}
