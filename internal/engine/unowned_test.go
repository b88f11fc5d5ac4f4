package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// halfway carries out the next write of an object and loses the answer.
type halfway struct {
	*enginetest.Cluster
	lost bool
}

var errLost = errors.New("http2: connection lost")

func (c *halfway) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	obj, err := c.Cluster.Write(ctx, w)
	if err == nil && object.RefOf(w.Object) == ref("ConfigMap/a") && !c.lost {
		c.lost = true
		return nil, errLost
	}
	return obj, err
}

// fieldConflict is the answer to a server-side apply of fields that others own.
var fieldConflict = &apierrors.StatusError{ErrStatus: metav1.Status{
	Status: metav1.StatusFailure, Code: 409, Reason: metav1.StatusReasonConflict,
	Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
		{Type: metav1.CauseTypeFieldManagerConflict, Field: ".data.value"},
	}},
}}

// An object that exists and has no mark of the set is no member after a write that failed, whatever
// the error: a later run would delete what was never adopted. It is one if the write was stored.
func TestUnownedIsNoMember(t *testing.T) {
	things := schema.GroupResource{Resource: "things"}
	errs := map[string]error{
		"fields of others": fieldConflict,
		"conflict":         apierrors.NewConflict(things, "a", errors.New("changed")),
		"forbidden":        forbidden,
		"invalid":          apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", nil),
		"timeout":          apierrors.NewTimeoutError("too slow", 0),
		"internal":         apierrors.NewInternalError(errors.New("no")),
		"lost":             errLost,
	}
	for name, err := range errs {
		for _, serverSide := range []bool{false, true} {
			for _, degree := range []plan.Adoption{plan.AdoptUnowned, plan.AdoptAll} {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						p := policy()
						p.ServerSide, p.Manager, p.Owner.Adoption = serverSide, "me", degree
						w := newWorld(&enginetest.Cluster{Fails: map[object.Ref]error{ref("ConfigMap/a"): err}})
						w.Put(thing("ConfigMap/a", "theirs=yes"))
						_, err := w.apply(t.Context(), p, realRun,
							want(thing("ConfigMap/a", "owner=me"), thing("ConfigMap/b", "owner=me"))...)
						if err != nil {
							t.Fatal(err)
						}
						w.expectRecord(t, "configmap/b Apply Succeeded Succeeded")
					})
				})
			}
		}
	}
}

// A write that failed and was stored has marked the object: it is a member.
func TestMarkedIsMember(t *testing.T) {
	for _, serverSide := range []bool{false, true} {
		p := policy()
		p.ServerSide, p.Manager, p.Owner.Adoption = serverSide, "me", plan.AdoptUnowned
		w := newWorld(&enginetest.Cluster{})
		w.Put(thing("ConfigMap/a", "theirs=yes"))
		e := &engine.Engine{Cluster: &halfway{Cluster: w.Cluster}, Records: w.store}
		made, err := e.Plan(t.Context(), engine.Request{
			Desired: want(thing("ConfigMap/a", "owner=me")), Policy: p,
		})
		if err == nil {
			_, err = e.Apply(t.Context(), made, realRun, func(event.Event) {})
		}
		if err != nil {
			t.Fatal(err)
		}
		w.expectRecord(t, "configmap/a Apply Failed Failed")
	}
}

// The process dies at each change in turn of a run that adopts an object. What it has not adopted
// is no member, although the record has it: a run without it, or a destroy, does not change it,
// also if another run has failed to adopt it in between. What it has adopted is pruned.
func TestUnadoptedAfterDeath(t *testing.T) {
	for _, serverSide := range []bool{false, true} {
		for _, degree := range []plan.Adoption{plan.AdoptUnowned, plan.AdoptAll} {
			for _, then := range []string{"apply", "destroy", "fail and apply"} {
				eachMoment(t, 2, func(t *testing.T, moment int) bool {
					p := policy()
					p.ServerSide, p.Manager, p.Owner.Adoption = serverSide, "me", degree
					w := newWorld(&enginetest.Cluster{Dies: moment})
					theirs := thing("ConfigMap/a", "theirs=yes")
					w.Put(theirs)
					both := want(thing("ConfigMap/a"), thing("Service/b"))
					_, err := w.apply(t.Context(), p, realRun, both...)
					died := errors.Is(err, enginetest.ErrDead)
					w.Revive()
					w.expectUnadopted(t, p, both, then)
					return died
				})
			}
		}
	}
}

// expectUnadopted carries out what the test of an adoption does after the death of the first run.
func (w *world) expectUnadopted(t *testing.T, p plan.Policy, both []plan.Desired, then string) {
	t.Helper()
	adopted := w.Object(ref("ConfigMap/a")).GetAnnotations()["owner"] == "me"
	if then == "fail and apply" && !adopted {
		w.Fails = map[object.Ref]error{ref("ConfigMap/a"): fieldConflict}
		if _, err := w.apply(t.Context(), p, realRun, both...); err != nil {
			t.Fatal(err)
		}
		w.Fails = nil
	}
	before := w.Object(ref("ConfigMap/a")).GetResourceVersion()
	desired := both[1:]
	if then == "destroy" {
		desired = nil
	}
	if _, err := w.apply(t.Context(), p, realRun, desired...); err != nil {
		t.Fatal(err)
	}
	after := w.Object(ref("ConfigMap/a"))
	switch {
	case adopted && after != nil:
		t.Errorf("what was adopted is still there: %v", after)
	case !adopted && (after == nil || after.GetResourceVersion() != before):
		t.Errorf("what was not adopted is %v", after)
	}
	for _, member := range w.store.State.Refs() {
		if member == ref("ConfigMap/a") {
			t.Error("what was not adopted is a member")
		}
	}
	if then == "destroy" && !w.store.Deleted {
		t.Error("the record was not deleted")
	}
}
