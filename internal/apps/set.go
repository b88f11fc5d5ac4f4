package apps

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/preflight"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/owner"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// Set is an app as the planner of all sets sees one: its desired objects, with the marks of the
// app, what the policy of a plan needs to know of it, and its record. It is for one operation, and
// for as long as the app is locked.
type Set struct {
	*Deployment
	plan *plan.Plan // nil before SetPlan

	begun     bool
	committed bool
}

// OpenSet finds an app and reads its desired objects. Of the request it uses the name, group,
// labels, resources, filter, search, scope and label of the app, and its options about changes and
// patches.
func (c *Client) OpenSet(ctx context.Context, r DeployRequest) (*Set, error) {
	d := &Deployment{Client: c, req: r}
	if err := d.open(ctx); err != nil {
		return nil, err
	}
	if err := checkLabel(d.app); err != nil {
		return nil, err
	}
	if err := d.loadInputs(ctx); err != nil {
		return nil, err
	}
	matching, err := r.Filter.ResourceFilter(d.Now())
	if err != nil {
		return nil, err
	}
	d.selected = slices.DeleteFunc(slices.Clone(d.inputs), func(r resource.Resource) bool {
		return !matching.Matches(r.Unstructured)
	})
	return &Set{Deployment: d}, nil
}

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
	return s.checkPlanned(ctx, writes, true)
}

// Shape adds to a policy how the objects of the app are marked, and what kapp finds on them.
func (s *Set) Shape(p *plan.Policy) {
	shapePolicy(p, s.app, s.hasApplied)
	p.Keeper = keeper{s.config}
	own := s.config.Own()
	p.Fit, p.Sensitive = own.Fit, own.Masks
}

// shapePolicy adds to a policy how the objects of an app are marked. HasApplied reports whether the
// app has applied an object that has lost the label; it may be nil.
func shapePolicy(p *plan.Policy, of *app.App, hasApplied func(liveObject) bool) {
	p.Owner.Label, p.Owner.ID, _ = of.Label() // its error is known
	p.Owner.Orphaned, p.Owner.Unmarked = resource.LabelOrphaned, hasApplied
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
func ownersOf(of *app.App, live, applied liveObject) []owner.Owner {
	if applied == nil {
		applied = lastapplied.Original(live)
	}
	if applied != nil && isExternal(applied) {
		return nil
	}
	owners := othersOf(of, applied, live)
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
	kapp := readyRules{config: s.config, rules: change.JudgeRules(s.config, false)}
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
	if err == nil && next != nil && step.ServerSide && step.Have != nil {
		next = lastapplied.CopyAnnotations(next, step.Want)
	}
	return next, err
}

// errLabels is the error of an app that is given by several labels.
var errLabels = errors.New("an app that is given by several labels cannot be planned")

// checkLabel returns an error unless one label marks the objects of an app.
func checkLabel(of *app.App) error {
	if _, _, err := of.Label(); err != nil {
		return fmt.Errorf("%w: %w", errLabels, err)
	}
	return nil
}
