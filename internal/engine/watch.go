package engine

import (
	"context"
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// observation is the state of an object at one time, reduced to the fields that the run needs. The
// zero value means that the object was never observed.
type observation struct {
	uid     types.UID // empty when the object is gone
	version string    // of the object; if it is gone, of the list or of the deletion
	leaving bool      // it is being deleted
	// generation counts the changes of its specification.
	generation int64
	verdict    ready.Verdict
	facts      *ready.Facts
	evidence   *ready.Evidence // for a diagnosis; nil when the object is ready or gone
	err        error           // error of reading the object
	serves     time.Time       // of an API service: since when it is available; or zero
	// for steps that take values, AwaitCreated, and rules with children
	object   *unstructured.Unstructured
	children *childQuery // the child objects that the rules need; nil if none
	trial    *trial      // of an object that is ready by the rules, but has pods; else nil
}

// childQuery selects the child objects of one object.
type childQuery struct {
	kinds  []schema.GroupKind
	labels map[string]string
}

// isZero reports whether the object was never seen.
func (s observation) isZero() bool {
	return s.uid == "" && s.version == "" && s.verdict.State == "" && s.err == nil
}

// unversioned reports whether the object was not found by a read without a resource version.
func (s observation) unversioned() bool {
	return s.verdict.State == ready.NotFound && s.version == ""
}

// before reports whether it is older than another observation. Versions that cannot be compared
// count as newer.
func (s observation) before(other observation) bool {
	order, err := resourceversion.CompareResourceVersion(s.version, other.version)
	return s.isZero() || err == nil && order < 0
}

// watch starts the watch of a group when the first of its objects is waited for. It covers all of
// them, from the resource version at which they were read.
func (r *run) watch(ctx context.Context, g group) {
	if r.watched[g] {
		return
	}
	r.watched[g] = true
	steps := make(map[object.Ref]int, len(r.groups[g]))
	refs := make([]object.Ref, 0, len(r.groups[g]))
	for _, i := range r.groups[g] {
		steps[r.plan.Steps[i].Ref] = i
		refs = append(refs, r.plan.Steps[i].Ref)
	}
	r.engine.Cluster.Watch(ctx, refs, func(s cluster.ObjectEvent) {
		i, ok := steps[s.Ref]
		if !ok {
			return
		}
		select {
		case r.messages <- message{step: i, seen: r.look(i, s)}:
		case <-ctx.Done():
		}
	})
}

// look judges an object by the rules; leaving says that it is waited for until it is gone.
func look(rules Rules, s cluster.ObjectEvent, leaving bool) observation {
	switch {
	case s.Err != nil:
		status := ready.Status{State: ready.Unknown, Message: s.Err.Error()}
		return observation{err: s.Err, verdict: ready.Verdict{Status: status}}
	case s.Object == nil:
		return observation{version: s.Version, verdict: ready.Verdict{Status: ready.Of(nil)}}
	}
	seen := observation{
		uid:     s.Object.GetUID(),
		version: s.Object.GetResourceVersion(),
		leaving: s.Object.GetDeletionTimestamp() != nil, generation: s.Object.GetGeneration(),
		facts:  ready.FactsOf(s.Object),
		serves: ready.AvailableSince(s.Object),
	}
	if leaving {
		seen.verdict.Status = rules.Leaving(s.Object)
	} else {
		seen.verdict = rules.Judge(s.Object, nil)
	}
	if kinds, labels := rules.Children(s.Object); len(kinds) > 0 && !leaving {
		seen.children, seen.object = &childQuery{kinds, labels}, s.Object
	}
	if seen.verdict.State != ready.Current {
		seen.evidence = ready.EvidenceOf(s.Object, seen.verdict.Status)
	}
	return seen
}

// changedAt returns when the specification of an object changed last, by the clock of the server
// in whole seconds: from managed fields, or else its creation; now if neither is known.
func changedAt(obj *unstructured.Unstructured) time.Time {
	last := obj.GetCreationTimestamp().Time
	for _, entry := range obj.GetManagedFields() {
		if entry.Subresource == "" && entry.Time != nil && entry.Time.After(last) {
			last = entry.Time.Time
		}
	}
	if last.IsZero() {
		return time.Now().Truncate(time.Second)
	}
	return last
}

// group is what one watch covers: the objects of a kind in a namespace or, if they are in more than
// cluster.MaxNamespaces of them, in all.
type group struct{ Group, Kind, Namespace string }

// grouped returns a function from objects to the groups that are watched together.
func grouped(refs iter.Seq[object.Ref]) func(object.Ref) group {
	met, spread := map[group]bool{}, map[schema.GroupKind]int{}
	for ref := range refs {
		if g := (group{ref.Group, ref.Kind, ref.Namespace}); !met[g] {
			met[g] = true
			spread[ref.GroupKind()]++
		}
	}
	return func(ref object.Ref) group {
		if spread[ref.GroupKind()] > cluster.MaxNamespaces {
			return group{ref.Group, ref.Kind, ""}
		}
		return group{ref.Group, ref.Kind, ref.Namespace}
	}
}
