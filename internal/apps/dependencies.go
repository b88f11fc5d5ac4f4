package apps

import (
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/changegraph"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/apps/versions"
	"github.com/muster-deploy/muster/internal/mutation"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// dependency returns the group of changes that an object has for what depends on it. No group of a
// user has a space.
func dependency(on object.Ref) string { return "depends on " + on.String() }

// index returns the indexes of the changes by the names of their objects. Of a versioned object
// both the version in use and the name without a version count.
func (r *Run) index() plan.Index {
	index := make(plan.Index, len(r.changes))
	for i, c := range r.changes {
		ref := object.RefOf(c.Object())
		index[ref] = i
		base, _, numbered := versions.Split(ref.Name)
		if numbered && c.New != nil && resource.HasAnnotation(c.New, resource.AnnVersioned) {
			ref.Name = base
			index[ref] = i
		}
	}
	return index
}

// addDependencies adds the dependencies that objects declare, by order or by taking values, to the
// groups and rules of their changes: what depends on an object is applied after it, and deleted
// before it. It adds the errors of described objects.
func (r *Run) addDependencies(nodes []changegraph.Node, errs []error) {
	index := r.index()
	r.takes = make([][]mutation.Substitution, len(r.changes))
	for i, c := range r.changes {
		refs, err := r.options.Policy.DependsOn(c.Object())
		taken, wrong := r.takenBy(c.Object(), index)
		if c.New != nil {
			errs[i] = errors.Join(errs[i], r.objectError(c, errors.Join(err, wrong)))
		}
		find := func(ref object.Ref, takes bool) {
			j, known := index[ref]
			switch {
			case known && (c.New == nil || r.changes[j].New != nil):
				nodes[j].Groups = append(nodes[j].Groups, dependency(ref))
				nodes[i].Rules = append(nodes[i].Rules,
					changegraph.Rule{Action: changegraph.Upsert, Target: changegraph.Upsert,
						Group: dependency(ref)},
					changegraph.Rule{Action: changegraph.Delete, Before: true, Target: changegraph.Delete,
						Group: dependency(ref)})
			case c.New != nil && !r.described.Has(ref):
				errs[i] = errors.Join(errs[i], r.objectError(c, &plan.ExternalError{
					From: object.RefOf(c.Object()), To: ref, TakesValue: takes,
					SuggestedKind: r.similarKind(ref, c.Object().GetNamespace())}))
			}
		}
		for _, ref := range refs {
			find(ref, false)
		}
		sources := object.NewSet()
		for _, s := range taken {
			if sources.Insert(s.Source) {
				find(s.Source, true)
			}
		}
		if len(taken) > 0 && (c.Op == change.Add || c.Op == change.Update || c.Op == change.Keep) &&
			c.New != nil {
			r.takes[i], nodes[i].Op = taken, changegraph.Upsert // whether it changes turns out later
		}
	}
}

// takenBy returns the values that an object takes from others. A source without a namespace is in
// that of the object if there is such a source, and a versioned source is its version in use.
func (r *Run) takenBy(
	obj *unstructured.Unstructured, index plan.Index,
) ([]mutation.Substitution, error) {
	if obj == nil || r.options.Policy.Substitutions == nil {
		return nil, nil
	}
	taken, err := r.options.Policy.Substitutions(obj)
	if len(taken) > 0 && resource.HasAnnotation(obj, resource.AnnVersioned) {
		return nil, errors.Join(err, versions.ErrTakesValues)
	}
	for k := range taken {
		source := &taken[k].Source
		near := *source
		near.Namespace = obj.GetNamespace()
		_, known := index[near]
		if source.Namespace == "" && (known || r.described.Has(near)) {
			*source = near
		}
		if j, ok := index[*source]; ok {
			*source = object.RefOf(r.changes[j].Object())
		}
	}
	return taken, err
}

// similarKind returns the kind of a described object that matches a reference in all but the case
// of its kind, or "". The namespace is that of the object that holds the reference.
func (r *Run) similarKind(ref object.Ref, namespace string) string {
	for _, known := range r.described.Refs() {
		near := known
		near.Kind = ref.Kind
		within := ref
		within.Namespace = namespace
		if strings.EqualFold(known.Kind, ref.Kind) &&
			(near == ref || ref.Namespace == "" && near == within) {
			return known.Kind
		}
	}
	return ""
}

// completeChanges replaces the changes of objects that take values from others by those with the
// values that are known before the run.
func (r *Run) completeChanges() {
	index := r.index()
	for _, step := range r.plan.Steps {
		if step.Draft != nil {
			r.changes[index[step.Ref]] = WorkOf(step.Tag).Change
		}
	}
}

// setDrafts makes drafts of the steps whose objects take values from others, and marks those that
// hold values of Secrets. The steps are those of the changes, in their order, then others.
func (r *Run) setDrafts(steps []plan.Step) {
	if r.options.Policy == nil {
		return
	}
	index := r.index()
	all, sources := make([]*plan.Step, len(r.changes)), make([][]object.Ref, len(r.changes))
	for i, c := range r.changes {
		step := &steps[i]
		all[i] = step
		took, _ := r.takenBy(step.Have, index) // errors of live objects cannot be corrected
		for _, s := range slices.Concat(r.takes[i], took) {
			sources[i] = append(sources[i], s.Source)
		}
		unchanged := step.Op == plan.Unchanged && c.Op == change.Keep
		if len(r.takes[i]) == 0 || step.Op != plan.Create && step.Op != plan.Update && !unchanged {
			continue
		}
		step.Draft, step.Substitutions = c.New, r.takes[i]
		if unchanged {
			step.Op, step.Want = plan.Update, c.New
		}
	}
	plan.MarkSensitive(all, sources)
}
