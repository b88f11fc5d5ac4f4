package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/input"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/sets/policy/preflight"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// SetRequest asks for an app that is to be deployed.
type SetRequest struct {
	App      Name
	PrevName string            // the name that the app may have had before; empty for none
	Group    string            // the group that the app belongs to; empty for none
	Labels   map[string]string // of the record

	Preparation input.Preparation // of the resources, without Namespace, Kinds and Now
	Filter      filter.Flags      // of inputs and live objects
	Patch       bool              // delete nothing

	Search         SearchOptions
	AllKinds       bool     // search all kinds, and not only those that the app is known to have
	Pods           bool     // search pods, too
	Owners         bool     // the plan needs the owners of the fields of all live objects
	ScopeSelectors bool     // add the label of the app to selectors
	LabelValue     string   // of the label of a new app; empty for one that nobody has
	ObjectLabels   bool     // a new app labels only its objects, as App.LabelsOnlyObjects says
	Checks         []string // preflight checks, instead of those of the configuration
	KeepChanges    int      // how many change records stay
}

// Set is an app as the planner of all sets sees one: its desired objects, with the marks of the
// app, what the policy of a plan needs to know of it, and its record. It is for one operation, and
// for as long as the app is locked.
type Set struct {
	*Client
	req      SetRequest
	record   Request
	app      *App
	config   *config.Config
	inputs   []resource.Resource
	selected []resource.Resource // the inputs that the filter selects
	desired  []any               // the content of the inputs, before versions get their names

	live       []liveObject // of the app, before the run
	missed     unlistedKinds
	unlistable unlistable
	namespaces []string // of the present run

	preparation input.Preparation
	fallback    []string                       // namespaces to search
	ignorable   func(schema.GroupVersion) bool // group versions that may fail

	plan      *plan.Plan // nil before SetPlan
	begun     bool
	committed bool
}

// OpenSet finds an app, which need not exist. A new app gets its record just before the first
// object is written. Describe follows.
func (c *Client) OpenSet(ctx context.Context, r SetRequest) (*Set, error) {
	s := &Set{Client: c, req: r, record: Request{
		Name: r.App.Name, Namespace: r.App.Namespace, PreviousName: r.PrevName, Labels: r.Labels,
		Group: r.Group, DryRun: true, LabelValue: r.LabelValue, ObjectLabels: r.ObjectLabels,
	}}
	var err error
	s.app, err = c.Records.Ensure(ctx, s.record)
	return s, err
}

// App returns the app. A new one has no record before the run.
func (s *Set) App() *App { return s.app }

// Identity returns the namespace, name and label of the app, by which a saved plan knows it.
// The label of a new app is in Random instead.
func (s *Set) Identity() string {
	identity := s.app.Namespace + "/" + s.app.Name
	if s.app.IsNew || s.app.IsLabelled() {
		return identity
	}
	return identity + " " + s.app.Selector()
}

// Random returns the texts that differ each time that the app is opened: the nonce, and the label
// of a new app.
func (s *Set) Random() []string {
	texts := []string{resource.Nonce(s.preparation.Now)}
	if s.app.IsNew {
		texts = append(texts, s.app.Meta.LabelValue)
	}
	return texts
}

// Selected returns the resources of the app that the filter selects, with its marks.
func (s *Set) Selected() []resource.Resource { return s.selected }

// Live returns the objects of the app before the run.
func (s *Set) Live() []*unstructured.Unstructured { return s.live }

// CheckNamespaces returns an error for selected resources in namespaces that are not allowed.
func (s *Set) CheckNamespaces() error { return s.preparation.CheckNamespaces(s.selected) }

// Fallback returns the namespaces to search where the user may not list all.
func (s *Set) Fallback() []string { return s.fallback }

// Objects returns the content of the inputs, with the label of the app.
func (s *Set) Objects() []any { return s.desired }

// Desired returns the objects of the app, with its marks.
func (s *Set) Desired() []plan.Desired {
	desired := make([]plan.Desired, len(s.inputs))
	for i, r := range s.inputs {
		desired[i] = plan.Desired{Object: r.Unstructured, Source: r.Origin}
	}
	return desired
}

// Config returns the built-in rules, and those of Config documents among the files.
func (s *Set) Config() *config.Config { return s.config }

// SetPlan sets the plan that is going to be run, and makes the checks that come before its
// first write.
func (s *Set) SetPlan(ctx context.Context, p *plan.Plan) error {
	s.plan = p
	if err := s.checkFound(ctx, s.app, s.live, p.Removes()); err != nil {
		return err
	}
	return s.checkBefore(ctx, p)
}

// Plan returns the plan; nil before SetPlan.
func (s *Set) Plan() *plan.Plan { return s.plan }

// checkBefore runs the preflight checks that the configuration asks for.
func (s *Set) checkBefore(ctx context.Context, p *plan.Plan) error {
	var writes []preflight.PlannedWrite
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Op == plan.Create || step.Op == plan.Update || step.Op == plan.Delete {
			writes = append(writes, preflight.PlannedWrite{
				Delete: step.Op == plan.Delete, New: step.Want, Existing: step.Have,
			})
		}
	}
	return s.CheckPlanned(ctx, writes, true)
}

// Hidden returns a *HiddenError if the app may have objects that could not be listed; else nil.
func (s *Set) Hidden() error { return s.unlistable.hidden() }

// Shape adds to a policy how the objects of the app are marked, and what kapp finds on them.
func (s *Set) Shape(p *plan.Policy) {
	shapePolicy(p, s.app, s.HasApplied)
	p.Keeper = keeper{s.config}
	own := s.config.Own()
	p.Fit, p.Sensitive = own.Fit, own.Masks
}

// shapePolicy adds to a policy how the objects of an app are marked. HasApplied reports whether the
// app has applied an object that has lost the label; it may be nil.
func shapePolicy(p *plan.Policy, of *App, HasApplied func(liveObject) bool) {
	p.Owner.Label, p.Owner.ID, _ = of.Label() // its error is known
	p.Owner.Orphaned, p.Owner.Unmarked = resource.LabelOrphaned, HasApplied
	p.Owner.KeepHint = "it stays in the cluster and in the record, until it is deleted or has its " +
		"label again"
	p.RecordNamespace = object.Ref{Kind: plan.NamespaceKind.Kind, Name: of.Namespace}
	p.LastApplied, p.Bookkeeping = resource.AnnOriginal, resource.Bookkeeping[:]
	p.Manager, p.Preconditions = Manager, true
	p.Owner.Applied = []string{resource.AnnKubectlApplied}
}

// Owners returns the owners of a live object other than the app. Applied is what the app applies to
// it; nil for an object that is to be deleted.
func (s *Set) Owners(live, applied liveObject) []owner.Owner {
	return ownersOf(s.app, live, applied)
}

// ownersOf returns the owners of a live object other than an app.
func ownersOf(of *App, live, applied liveObject) []owner.Owner {
	if applied == nil {
		applied = lastapplied.Original(live)
	}
	if applied != nil && IsExternal(applied) {
		return nil
	}
	owners := OthersOf(of, applied, live)
	key, value, _ := of.Label()
	if other, ok := object.LabelsOf(live).Lookup(key); ok && other != value {
		owners = slices.Insert(owners, 0, owner.Owner{Kind: owner.App, ID: other})
	}
	return owners
}

// AdviceOn returns what users may do about an object of another owner; empty if there is nothing
// beyond taking it over.
func (s *Set) AdviceOn(o owner.Owner) string {
	if o.Kind != owner.App || o.Name != s.req.App.Name {
		return ""
	}
	return fmt.Sprintf("-n %s names that app", o.Namespace)
}

// Rules returns the rules that judge the objects of the app: those of the configuration, then those
// of a rule set.
func (s *Set) Rules(rules *ready.RuleSet) engine.Rules {
	kapp := readyRules{config: s.config, rules: s.config.JudgeRules(false)}
	return packageRules{rules, kapp}
}

// keeper keeps on objects what kapp does: see package lastapplied.
type keeper struct{ rules *config.Config }

// Applied returns the text of the original.
func (k keeper) Applied(want liveObject) (text string, ok bool, err error) {
	return lastapplied.OriginalOf(want, k.rules)
}

// Seal returns the identity of an object, and the fingerprint of what the server makes of it.
func (k keeper) Seal(sent, live liveObject) map[string]string {
	return lastapplied.Seal(sent, live, k.rules)
}

// Correct returns the object with the right fingerprint, unless it has that.
func (k keeper) Correct(
	step *plan.Step, first, stored liveObject,
) (liveObject, error) {
	original := lastapplied.Original(step.Want)
	if original == nil {
		return nil, nil // nothing is kept
	}
	sum, err := lastapplied.Fingerprint(first, original, k.rules)
	if err != nil {
		return nil, err
	}
	next, err := lastapplied.Correction(stored, original, sum, k.rules)
	if err == nil && next != nil && step.ServerSide {
		next = lastapplied.CopyAnnotations(next, step.Want)
	}
	return next, err
}

// errLabels is the error of an app that is given by several labels.
var errLabels = errors.New("an app that is given by several labels cannot be planned")

// checkLabel returns an error unless one label marks the objects of an app.
func checkLabel(of *App) error {
	if _, _, err := of.Label(); err != nil {
		return fmt.Errorf("%w: %w", errLabels, err)
	}
	return nil
}
