package engine

import (
	"context"
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/plan"
)

// A server publishes the schemas of an updated definition a moment after its answer. It is asked
// every servedEvery whether it does, for servedTimeout: a change may leave what it publishes as it
// is.
const (
	servedEvery   = 100 * time.Millisecond
	servedTimeout = 5 * time.Second
)

// takenUpLater are the groups of the kinds that a server takes up a moment after its answer. Of
// most of them it does not say that it has; see isTakenUp.
var takenUpLater = map[string]bool{
	"admissionregistration.k8s.io": true, "apiregistration.k8s.io": true,
}

// published returns what the server publishes of the group of a definition before the run changes
// its schemas; empty for other steps, or if nothing in the plan depends on it.
func (r *run) published(ctx context.Context, step *plan.Step) string {
	if step.Op != plan.Update || step.Ref.GroupKind() != plan.DefinitionKind ||
		r.options.DryRun != DryRunNone || !step.Wait || !changesSchemas(step) {
		return ""
	}
	gk, _ := plan.DefinedKind(step.Want)
	for i := range r.plan.Steps {
		if of := &r.plan.Steps[i]; of.Op.Applies() && of.Ref.GroupKind() == gk {
			// Without an answer nothing is awaited: writes are validated by the definition.
			before, _ := r.engine.Cluster.PublishedSchemas(ctx, gk.Group)
			return before
		}
	}
	return ""
}

// changesSchemas reports whether an update of a definition changes what the server serves: the
// versions and their schemas.
func changesSchemas(definition *plan.Step) bool {
	served := func(crd *unstructured.Unstructured) (found []any) {
		list, _, _ := unstructured.NestedFieldNoCopy(crd.Object, "spec", "versions")
		versions, _ := list.([]any)
		for _, item := range versions {
			version, _ := item.(map[string]any)
			found = append(found, []any{version["name"], version["served"], version["schema"]})
		}
		return found
	}
	return !reflect.DeepEqual(served(definition.Have), served(definition.Want))
}

// awaitServed starts a goroutine that sends a message as soon as the server publishes other schemas
// of the group of a definition than before. It ends with the message, or with the context.
func (r *run) awaitServed(ctx context.Context, i int, before string) {
	gk, _ := plan.DefinedKind(r.plan.Steps[i].Want)
	go func() {
		defer crash.Catch(ctx)
		ticker, over := time.NewTicker(servedEvery), time.After(servedTimeout)
		defer ticker.Stop()
		for changed := false; !changed; {
			// An error says nothing about the schemas: the server is asked again.
			now, err := r.engine.Cluster.PublishedSchemas(ctx, gk.Group)
			if changed = err == nil && now != before; changed {
				break
			}
			select {
			case <-ticker.C:
			case <-over:
				changed = true
			case <-ctx.Done():
				return
			}
		}
		select {
		case r.messages <- message{step: i, served: true}:
		case <-ctx.Done():
		}
	}()
}

// endUnserved judges the definition of a step by its status from now on.
func (r *run) endUnserved(ctx context.Context, i int) {
	t := &r.tracks[i]
	if t.unserved = false; t.waiting {
		r.judge(ctx, i)
	}
}

// isTakenUpLater reports whether the object of a step was written and is in effect only a moment
// later, and others follow it.
func (r *run) isTakenUpLater(i int) bool {
	t := &r.tracks[i]
	return !t.written.IsZero() && takenUpLater[r.plan.Steps[i].Ref.Group] && !t.isTakenUp() &&
		r.precedes(i)
}

// isTakenUp reports whether the object is known to be in effect as it was written: an API service
// that is available since then, for which the server has reached the service that it names. Times
// are in whole seconds.
func (t *track) isTakenUp() bool {
	since := t.seen.serves
	return !since.IsZero() && (t.created || since.After(t.written))
}

// precedes reports whether objects are applied only after a step.
func (r *run) precedes(i int) bool {
	for _, j := range r.schedule.dependants[i] {
		step := &r.plan.Steps[j]
		if step.Op.Applies() || step.Op == plan.Barrier && r.precedes(j) {
			return true
		}
	}
	return false
}
