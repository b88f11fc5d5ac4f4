package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/input/files"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// appSet is the set of an app.
type appSet struct {
	request Request
	objects []manifest.Object // empty if only the record is known
	empty   []string          // files and folders that have none
	rules   []ready.Rule

	ruleFiles []policy.RuleFile // of the rules
	manifests []plan.Desired    // of a revision: the objects as their files had them; else nil

	label        string // the value of the label of a new app; empty for one that nobody has
	objectLabels bool   // a new app labels its objects alone
}

// openApp reads the files of an app and its rules.
func openApp(ctx context.Context, r Request) (Set, error) {
	s := &appSet{request: r}
	var err error
	options := r.fileOptions(r.Files...)
	options.Empty = func(path string) { s.empty = append(s.empty, path) }
	s.objects, err = files.Read(ctx, options)
	if err != nil {
		return nil, err
	}
	err = errors.Join(checkRecords(s.objects), policy.CheckAppValues(s.objects),
		r.checkScripts(s.objects))
	if err != nil {
		return nil, err
	}
	if s.ruleFiles, err = r.readRuleFiles(ctx, files.Folders(r.Files)...); err != nil {
		return nil, err
	}
	s.rules, err = policy.ParseRules(s.ruleFiles)
	return s, err
}

// openAppRecord returns the app without its files.
func openAppRecord(_ context.Context, r Request) (Set, error) { return &appSet{request: r}, nil }

// openAdoptingApp opens an app that is given objects of other tools. It labels these alone: a label
// in a pod template would restart all pods.
func openAdoptingApp(ctx context.Context, r Request) (Set, error) {
	set, err := openApp(ctx, r)
	if err != nil {
		return nil, err
	}
	set.(*appSet).objectLabels = true
	return set, nil
}

// draftApp returns the app of a folder that is going to be written.
func draftApp(r Request, _ *packages.Draft, objects []manifest.Object) Set {
	return &appSet{request: r, objects: objects, objectLabels: true}
}

func (s *appSet) format() *format { return appFormat() }

func (s *appSet) lock() lock.Set { return app.LockSet(s.name()) }

func (s *appSet) markID(ctx context.Context, c cluster.Writer) (string, error) {
	found, err := s.client(c).Find(ctx, s.name())
	if err != nil {
		return "", s.nativeError(err)
	}
	if found == nil || found.IsLabelled() {
		return "", nil
	}
	return found.Meta.LabelValue, nil
}

func (s *appSet) requested() Request { return s.request }

func (s *appSet) described() []manifest.Object { return s.objects }

func (s *appSet) holders(ctx context.Context, c cluster.Writer) (object.Ref, []types.UID, error) {
	client := s.client(c)
	found, err := client.Find(ctx, s.name())
	if err == nil {
		err = client.CheckLabel(ctx, found) // its objects are taken over
	}
	if err != nil {
		return object.Ref{}, nil, err
	}
	record, holders := found.Holders()
	return record, holders, nil
}

func (s *appSet) forget(ctx context.Context, c cluster.Writer, _ *object.Set) error {
	return s.client(c).Forget(ctx, s.name())
}

func (s *appSet) remove(ctx context.Context, c cluster.Writer) error {
	found, err := s.client(c).Find(ctx, s.name())
	if err != nil || !found.Exists() {
		return err
	}
	changes, err := found.RecordedDeployments(ctx)
	if err == nil {
		err = found.DeleteRecords(ctx, changes)
	}
	if err == nil {
		err = found.Delete(ctx)
	}
	return err
}

func (s *appSet) restored(r restoredFiles) (Set, error) {
	if err := r.request.checkScripts(r.objects); err != nil {
		return nil, err
	}
	r.request.Group = cmp.Or(r.request.Group, r.group)
	return &appSet{
		request: r.request, objects: r.objects, rules: r.rules, ruleFiles: r.ruleFiles,
		manifests: r.manifests,
	}, nil
}

// Title returns what messages call the app.
func (s *appSet) Title() string { return fmt.Sprintf("app %q", s.request.App) }

// Name returns the name of the app and the namespace of its record.
func (s *appSet) Name() (namespace, name string) { return s.request.Namespace, s.request.App }

// Expected returns nothing: files of apps do not name a cluster.
func (s *appSet) Expected() (cluster, where string) { return "", "" }

// name returns the name of the app and the namespace of its record.
func (s *appSet) name() app.Name {
	return app.Name{Name: s.request.App, Namespace: s.request.Namespace}
}

// client returns a client for the apps of a cluster.
func (s *appSet) client(c cluster.Writer) *app.Client {
	return &app.Client{
		Cluster: c, Namespace: s.request.Namespace, Printer: notes{s.request}, Now: s.request.Now,
		Records: &app.Store{
			Cluster: c, Manager: app.Manager, Now: s.request.Now,
		},
	}
}

// PrepareApply returns the operation that deploys the app.
func (s *appSet) PrepareApply(
	ctx context.Context, c cluster.Writer, o operation.ApplyOptions,
) (*Operation, error) {
	resources, err := files.Resolve(ctx, c, s.objects, s.request.scope(), s.request.warn)
	if err != nil {
		return nil, err
	}
	refs, described := make([]object.Ref, len(resources)), make([]plan.Desired, len(resources))
	for i, r := range resources {
		refs[i] = object.RefOf(r.Unstructured)
		described[i] = plan.Desired{Object: r.Unstructured, Source: r.Origin}
	}
	rules, err := policy.NewRuleSet(ctx, c, s.rules, refs)
	if err != nil {
		return nil, err
	}
	client := s.client(c)
	if o.Only {
		client.Printer = notes{Request{Notice: func(string) {}}}
	}
	op := &Operation{
		Locked: app.LockSet(s.name()), Described: described, Manifests: described,
		cluster: c, rules: rules,
	}
	if s.manifests != nil {
		op.Manifests = s.manifests
	}
	op.format = &appWork{
		set: s, options: o.Options,
		prepare: func(
			ctx context.Context, o policy.Options,
		) (appRecord, *operation.Operation, error) {
			opened, err := client.OpenSet(ctx, app.SetRequest{
				App: s.name(), Group: s.request.Group, Patch: o.NoPrune,
				Filter: o.Filter, AllKinds: o.AllKinds,
				ScopeSelectors: true, LabelValue: s.label, ObjectLabels: s.objectLabels,
				KeepChanges: app.ChangesToKeep, Owners: needsOwners(o),
			})
			if err == nil {
				err = opened.Describe(ctx, copies(resources))
			}
			if err != nil {
				return nil, nil, err
			}
			format := formatOf(opened)
			format.AdviceOn = opened.AdviceOn
			format.Rules = opened.Rules(rules)
			work, err := format.Prepare(c, opened.Desired(), rules, o)
			return opened, work, err
		},
	}
	return op, nil
}

// needsOwners reports whether a plan needs the owners of the fields of all objects.
func needsOwners(o policy.Options) bool {
	return plan.Policy{
		Owners: o.Owners, ServerSide: o.ServerSide, Conflicts: o.Conflicts, Ignore: o.Ignore,
	}.NeedsOwners()
}

// copies returns copies of resources without nulls, which are no values: the use case changes its
// inputs.
func copies(resources []resource.Resource) []resource.Resource {
	copied := make([]resource.Resource, len(resources))
	for i, r := range resources {
		copied[i] = resource.Resource{Unstructured: diff.PruneNulls(r.Unstructured), Origin: r.Origin}
	}
	return copied
}

// PrepareDestroy returns the operation that deletes the app.
func (s *appSet) PrepareDestroy(
	_ context.Context, c cluster.Writer, o operation.DestroyOptions,
) (*Operation, error) {
	client := s.client(c)
	work := &appWork{
		set: s, options: o.Options,
		prepare: func(
			ctx context.Context, o policy.Options,
		) (appRecord, *operation.Operation, error) {
			opened, err := client.OpenDeletion(ctx, app.DeletionRequest{
				App: s.name(), Search: app.SearchOptions{RecordedKinds: true},
				KeepLeaving: true,
			})
			if err != nil {
				return nil, nil, err
			}
			work, err := formatOf(opened).PrepareDestroy(c, o)
			return opened, work, err
		},
	}
	return &Operation{Locked: app.LockSet(s.name()), cluster: c, format: work}, nil
}

// Targets returns the objects that carry the label of the app, and others that its record lists.
func (s *appSet) Targets(ctx context.Context, c cluster.Writer) (*operation.StatusTargets, error) {
	found, err := s.client(c).PrepareObserve(ctx, app.ObserveRequest{App: s.name()})
	if err != nil {
		return nil, s.hinted(ctx, c, err)
	}
	m := operation.NewStatusTargets(found.App.RecordRef(), app.LockSet(s.name()),
		slices.Concat(found.Refs, found.Unmarked, found.Gone))
	m.Gone, m.Unmarked = found.Gone, found.Unmarked
	if found.Hidden != nil {
		m.Hidden = fmt.Errorf("%s: %w", s.Title(), found.Hidden)
	}
	return m, nil
}

// hinted returns an error in the words of those about packages, with the app that could be meant if
// there is no such app.
func (s *appSet) hinted(ctx context.Context, c cluster.Writer, err error) error {
	return hintRecord(ctx, c, KindApp, s.request.Namespace, s.request.App, s.nativeError(err))
}

// PrepareRename returns how the record of the app gets another name and namespace.
func (s *appSet) PrepareRename(c cluster.Writer, namespace, name string) (*Renaming, error) {
	from, to := s.name(), app.Name{Name: name, Namespace: namespace}
	client := s.client(c)
	return &Renaming{
		Locks: app.LockSets(from, to),
		Run: func(ctx context.Context) (bool, error) {
			target, err := s.renamed(ctx, client, to)
			if err != nil || from == to {
				return false, err
			}
			return true, client.Move(ctx, target, to, true)
		},
	}, nil
}

// renamed returns the app that gets a new name, which no other app has.
func (s *appSet) renamed(ctx context.Context, client *app.Client, to app.Name) (*app.App, error) {
	target, err := client.Existing(ctx, s.name())
	if err != nil {
		return nil, s.nativeError(err)
	}
	other, err := client.Find(ctx, to)
	if err == nil && other.Exists() && other.Selector() != target.Selector() {
		err = fmt.Errorf("the name %q is taken in namespace %s by another app; choose another name",
			to.Name, to.Namespace)
	}
	return target, err
}

// Mark returns the label of the app's objects.
func (s *appSet) Mark(ctx context.Context, c cluster.Writer) (Mark, error) {
	found, err := s.client(c).Existing(ctx, s.name())
	if err != nil {
		return Mark{}, s.hinted(ctx, c, err)
	}
	return Mark{Text: found.Selector()}, nil
}

// History returns the app for its history.
func (s *appSet) History(ctx context.Context, c cluster.Writer) (history.Set, error) {
	found, err := s.client(c).Find(ctx, s.name())
	if err != nil {
		return history.Set{}, s.nativeError(err)
	}
	return s.history(found), nil
}

// history returns the app with its record, or nil, for its history. One that is only a label has no
// history.
func (s *appSet) history(a *app.App) history.Set {
	namespace, name := s.Name()
	set := history.Set{Namespace: namespace, Name: name, Record: KindApp + "/" + name}
	if a == nil {
		return set
	}
	if a.IsLabelled() {
		return history.Set{}
	}
	set.ID = a.HistoryID() // also of an app that was deleted just now
	return set
}

// notes passes the notes of use cases to the user.
type notes struct{ Request }

// Line prints nothing: use cases that only prepare have no lines of their own.
func (n notes) Line(string) {}

// Info passes a note to the user.
func (n notes) Info(text string, _ ...string) { n.Notice("note: " + text) }

// Debug prints nothing.
func (n notes) Debug(string, ...string) {}

// appRecord is an app that is applied or deleted, as the store of its record.
type appRecord interface {
	operation.RecordStore
	App() *app.App // nil if it does not exist
	Shape(*plan.Policy)
	Owners(live, applied *unstructured.Unstructured) []owner.Owner
	Config() *config.Config
	// SetPlan sets the plan that is going to be run, and checks it.
	SetPlan(context.Context, *plan.Plan) error
	// Finish makes what follows a run that writes.
	Finish(ctx context.Context, err error) error
}

// formatOf returns the format of an app.
func formatOf(r appRecord) operation.Format {
	return operation.Format{
		Format: policy.Format{Shape: r.Shape, Owners: r.Owners, Config: r.Config()}, Record: r,
	}
}

// appWork is the part of an operation on an app that depends on its record.
type appWork struct {
	set     *appSet
	options policy.Options
	prepare func(
		context.Context, policy.Options,
	) (appRecord, *operation.Operation, error)
	app  appRecord            // nil before makePlan
	work *operation.Operation // nil before makePlan
}

func (w *appWork) makePlan(ctx context.Context, op *Operation) (err error) {
	if w.app, w.work, err = w.prepare(ctx, w.options); err != nil {
		return w.set.nativeError(err)
	}
	if err := w.work.MakePlan(ctx); err != nil {
		return w.set.nativeError(err)
	}
	op.Plan, op.Recorded, op.Unfinished = w.work.Plan(), false, false
	op.work, op.planned = w.work, w.work.Described()
	if opened, ok := w.app.(*app.Set); ok && opened.Hidden() != nil {
		op.hidden = fmt.Errorf("%s: %w", w.set.Title(), opened.Hidden())
	}
	if !w.options.Only {
		if err := w.app.SetPlan(ctx, op.Plan); err != nil {
			return w.set.nativeError(err)
		}
	}
	if a := w.app.App(); a != nil && a.Exists() {
		result := appResult(a)
		op.Recorded, op.Unfinished = true, result == Unfinished || result == Failed
	}
	op.Basis = Basis{
		Options: w.options, Group: w.set.request.Group, Rules: w.set.ruleFiles,
		Partial: partial(w.options, w.options.NoPrune),
	}
	leaveCompleted(ctx, op, w.options, nil, w.set.request.Now())
	return nil
}

func (w *appWork) permit(held []object.Ref) {
	for _, ref := range held {
		w.options.AllowDelete = append(w.options.AllowDelete, ref.GroupKind().String())
	}
}

func (w *appWork) checkEmpty(op *Operation) error {
	p, empty := op.Plan, w.set.empty
	switch {
	case p.Destroys || w.options.AllowEmpty:
		return nil
	case len(op.Described) > 0 && len(empty) > 0 && p.Removes():
		return fmt.Errorf("-f %s describes no object, and objects would be pruned that the other files "+
			"do not describe; nothing was applied or deleted\n"+
			"check that no manifest is missing, or use --allow-empty to prune, --no-prune to keep them",
			strings.Join(empty, ", -f "))
	case len(op.Described) > 0:
		return nil
	case !op.Recorded:
		return fmt.Errorf("%s describes no object, and there is no such app yet: no file with an object "+
			"was found whose name ends in .yaml, .yml or .json; --allow-empty records the app anyway",
			w.set.Title())
	case !p.Removes():
		return nil
	}
	return &operation.EmptyError{Set: w.set.Title(), Removed: len(p.Recorded)}
}

func (w *appWork) history() history.Set { return w.set.history(w.app.App()) }

func (w *appWork) continueHistory(
	ctx context.Context, predecessor func(context.Context, bool) (string, error),
) error {
	id, err := predecessor(ctx, w.app.App().IsNew)
	if err != nil || id == "" {
		return err
	}
	return w.app.App().SetHistory(ctx, id)
}

// finish makes what follows a run that writes.
func (w *appWork) finish(ctx context.Context, mode engine.DryRun, err error) error {
	if mode == engine.DryRunNone {
		err = w.app.Finish(ctx, err)
	}
	return w.set.nativeError(err)
}

func (w *appWork) source() operation.PlanSource {
	source := operation.PlanSource{Noun: "app", Options: w.options}
	if d, ok := w.app.(*app.Set); ok {
		source.Record, source.Objects, source.Random = d.Identity(), d.Objects(), d.Random()
	}
	return source
}
