package look

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/feature/livetree"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// wanted are the objects that are asked about.
type wanted struct {
	expected
	client  cluster.Writer
	judge   *ready.RuleSet
	refs    []object.Ref
	missing []object.Ref // among them, or not asked about: what the last run was to create
	flags   []string     // of kubectl, for the cluster
	needed  []object.Ref // what the objects wait for, and what is not among them
	// finished is engine.ObserveOptions.Finished.
	finished func(ctx context.Context, missing []object.Ref) map[object.Ref]string
}

// observe adds the objects that are not ready to an explanation, with their causes, and returns
// these and what is not ready of the objects that they wait for.
func (w wanted) observe(ctx context.Context, e *explanation, logLines int) (*object.Set, error) {
	late, refs := object.NewSet(), slices.Concat(w.refs, w.needed)
	o := engine.ObserveOptions{Until: engine.UntilKnown, LogLines: logLines,
		Pods: engine.CheckPods(), Finished: w.finished}
	_, err := operation.Observe(ctx, w.client, w.judge, refs, o, func(ev event.Event) {
		exists, asked := ev.Status.State != ready.NotFound, ev.Step < len(w.refs)
		switch {
		case ev.Kind != event.Observed || ev.Err != nil:
		case asked && exists && slices.Contains(w.missing, ev.Ref):
			e.total-- // it is not of the set: the run left it to others
		case ev.Status.State != ready.Current:
			late.Insert(ev.Ref)
			if asked {
				e.Objects = append(e.Objects, newUnready(ev, w.flags))
			}
		}
	})
	return late, err
}

// maxWarnings is how many warnings of the cluster are printed for an object.
const maxWarnings = 5

// addWarnings adds the latest warnings of the cluster about the objects that exist.
func (w wanted) addWarnings(ctx context.Context, e *explanation) error {
	var failing []object.Ref
	for _, o := range e.Objects {
		if o.Status != ready.NotFound {
			failing = append(failing, o.ref)
		}
	}
	roots, err := livetree.Read(ctx, w.client, livetree.Options{Roots: failing, Judge: w.judge.Of})
	if err != nil {
		return err
	}
	warnings := livetree.Warnings(ctx, w.client, roots)
	if len(warnings) == 0 {
		return nil
	}
	mask, err := w.secretTexts(ctx)
	if err != nil {
		return err
	}
	for _, o := range e.Objects {
		some := warnings[o.ref]
		o.Events = some[:min(len(some), maxWarnings)]
		for i := range o.Events {
			o.Events[i].Message = mask.Replace(o.Events[i].Message)
		}
	}
	return nil
}

// secretTexts returns what hides the values of the Secrets among the objects.
func (w wanted) secretTexts(ctx context.Context) (*diff.Masker, error) {
	var secrets []cluster.Target
	for _, ref := range w.refs {
		if ref.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
			secrets = append(secrets, cluster.Target{Ref: ref})
		}
	}
	if len(secrets) == 0 {
		return diff.SecretTexts(), nil
	}
	live, err := w.client.Read(ctx, secrets)
	if err != nil {
		return nil, fmt.Errorf("read the Secrets, to hide their values: %w", err)
	}
	return diff.SecretTexts(slices.Collect(maps.Values(live.Objects))...), nil
}

// expected is what is known of a set beside its record and its live objects.
type expected struct {
	newest *sets.Restored              // nil if there is no revision, or the user may not read it
	needs  map[object.Ref][]object.Ref // what each object waits for when the set is applied
}

// expect reads what the newest revision and the files of a set say. Without files, the revision
// says what waits for what. Errors leave out what is not known.
func (f *whyFlags) expect(
	ctx context.Context, env *cli.Env, kube *cli.Kube, folder []string, set sets.Set, c cluster.Writer,
) expected {
	var found expected
	newest, err := sets.AtNewest(ctx, c, set)
	if err == nil && newest != nil {
		found.newest = newest
	}
	if f.Record == "" {
		quiet := *env
		quiet.Err = nothing{}
		if described, err := f.OpenOffline(ctx, &quiet, kube, folder); err == nil {
			found.needs = needsOf(ctx, env, described)
		}
	}
	if found.needs == nil && found.newest != nil {
		found.needs = needsOf(ctx, env, found.newest.Set)
	}
	return found
}

// needsOf returns what the objects of a set wait for when it is applied; nil if its manifests have
// errors.
func needsOf(ctx context.Context, env *cli.Env, set sets.Set) map[object.Ref][]object.Ref {
	client, _ := sets.Offline(set)
	op, err := set.PrepareApply(ctx, client, operation.ApplyOptions{
		Definition: operation.SkipDefinition,
		Options: policy.Options{
			Now: env.Now(), AppAnnotations: true, Ordering: "graph", FieldManager: policy.DefaultManager,
		},
	})
	if err == nil {
		err = op.MakePlan(ctx)
	}
	if err != nil {
		return nil
	}
	needs := map[object.Ref][]object.Ref{}
	steps := op.Plan.Steps
	for i := range steps {
		for _, j := range steps[i].Needs {
			if steps[i].Op.IsObject() && steps[j].Op.IsObject() {
				needs[steps[i].Ref] = append(needs[steps[i].Ref], steps[j].Ref)
			}
		}
	}
	return needs
}

// nothing is a writer that drops all text.
type nothing struct{}

// Write drops text.
func (nothing) Write(text []byte) (int, error) { return len(text), nil }

// unwritten returns the objects that the last run was to create and that are not among those of the
// set.
func (x expected) unwritten(existing *object.Set) []object.Ref {
	if x.newest == nil {
		return nil
	}
	return x.newest.Unwritten(existing)
}

// neededBy returns the objects that some objects wait for and that are not among them.
func (x expected) neededBy(refs []object.Ref) []object.Ref {
	seen := object.NewSet(refs...)
	var needed []object.Ref
	for _, ref := range refs {
		for _, other := range x.needs[ref] {
			if seen.Insert(other) {
				needed = append(needed, other)
			}
		}
	}
	return needed
}

// explain adds to the objects of an explanation which late objects they wait for, which objects
// wait for them, and why the last run did not create those that are missing.
func (x expected) explain(e *explanation, missing []object.Ref, late *object.Set) {
	unready := map[object.Ref]*unready{}
	for _, u := range e.Objects {
		unready[u.ref] = u
	}
	for _, u := range e.Objects {
		for _, ref := range x.needs[u.ref] {
			if late.Has(ref) {
				u.WaitsFor = append(u.WaitsFor, ref.String())
			}
		}
		if slices.Contains(missing, u.ref) {
			x.explainMissing(u)
		}
	}
	for ref, needs := range x.needs {
		for _, needed := range needs {
			if u := unready[needed]; u != nil {
				u.Waiting = append(u.Waiting, ref.String())
			}
		}
	}
	for _, u := range e.Objects {
		slices.Sort(u.Waiting)
	}
}

// explainMissing adds why the last run did not create an object.
func (x expected) explainMissing(u *unready) {
	revision := x.newest.Revision
	u.Message = fmt.Sprintf("the run of revision %d did not create it", revision.Number)
	for _, v := range revision.Evidence {
		if v.Object == u.ref {
			seen := newEvidence(v)
			u.Error, u.Causes = seen.Error, seen.Causes
		}
	}
}

// runOf returns the run that holds the lock of a set; nil if none does, or the user may not see it.
func runOf(ctx context.Context, c cluster.Writer, locks []lock.Set) *lock.Info {
	for _, set := range locks {
		if info, err := lock.Get(ctx, c, set); err == nil && info != nil {
			return info
		}
	}
	return nil
}

// runText returns the line about a run that has not ended.
func runText(run *lock.Info, now time.Time) string {
	renewed := max(0, now.Sub(run.Renewed))
	if renewed <= lock.Duration {
		return "a run is in progress: " + run.Holder.Describe(now)
	}
	return fmt.Sprintf("a run was killed or is cut off: %s; it renewed its lock %s ago",
		run.Holder.Describe(now), duration.HumanDuration(renewed))
}
