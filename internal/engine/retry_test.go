package engine_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// lossy stores every object but "b", and answers that a webhook could not be called.
type lossy struct{ *enginetest.Cluster }

func (l lossy) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	if w.Object.GetName() == "b" {
		time.Sleep(2 * time.Second)
		return nil, apierrors.NewBadRequest("no")
	}
	if l.Object(object.RefOf(w.Object)) == nil {
		if _, err := l.Cluster.Write(ctx, w); err != nil {
			return nil, err
		}
	}
	return nil, hiccup
}

// An object that may have been stored stays in the record, even if the run ends while its write is
// to be repeated.
func TestUncertainObjectStaysRecorded(t *testing.T) {
	for _, stop := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			e := &engine.Engine{Cluster: lossy{w.Cluster}, Records: w.store}
			request := engine.Request{
				Desired: want(thing("ConfigMap/a"), thing("ConfigMap/b")), Policy: policy(),
			}
			p, err := e.Plan(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if !stop {
				time.AfterFunc(3500*time.Millisecond, cancel)
			}
			o := engine.Options{
				DryRun: engine.DryRunNone,
				StopOn: engine.StopOn{WriteError: stop},
				Retry:  engine.Retry{For: limit.After(30 * time.Second)},
			}
			if _, err := e.Apply(ctx, p, o, func(event.Event) {}); err != nil {
				t.Fatal(err)
			}
			state, err := w.store.Load(t.Context())
			if err != nil || len(state.Members) != 1 {
				t.Errorf("stop %t: record %v, %v", stop, state, err)
			}
		})
	}
}

// hooked lets ConfigMaps be written only when the Deployment "hook" exists.
type hooked struct{ *enginetest.Cluster }

func (h hooked) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	if w.Object.GetKind() == "ConfigMap" && h.Object(ref("Deployment/hook")) == nil {
		return nil, apierrors.NewInternalError(errors.New(`failed calling webhook "check": none`))
	}
	return h.Cluster.Write(ctx, w)
}

// A write that is repeated does not hold back kinds of a higher rank: one may be the webhook.
func TestRetryDoesNotHoldBackRanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/hook"): {{After: time.Second, Status: available}},
		}})
		e := &engine.Engine{Cluster: hooked{w.Cluster}, Records: w.store}
		request := engine.Request{
			Desired: want(thing("ConfigMap/a"), thing("Deployment/hook")), Policy: policy(),
		}
		p, err := e.Plan(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		if p.Steps[0].Rank == p.Steps[1].Rank {
			t.Fatal("both steps have the same rank")
		}
		o := engine.Options{DryRun: engine.DryRunNone,
			Retry: engine.Retry{For: limit.After(30 * time.Second)}}
		summary, err := e.Apply(t.Context(), p, o, func(event.Event) {})
		if err != nil || summary.Failures() != 0 {
			t.Errorf("%+v, %v", summary, err)
		}
	})
}

// labelled sees child objects only of objects with a label.
type labelled struct{ phases }

func (l labelled) Children(obj *unstructured.Unstructured) ([]schema.GroupKind, map[string]string) {
	if obj.GetLabels()["label"] == "" {
		return nil, nil
	}
	return []schema.GroupKind{{Kind: "Pod"}}, map[string]string{"of": "d"}
}

// An object may lose the label by which its child objects were watched.
func TestChildrenNoLongerWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/d"): {phaseAfter(5, "ready")},
		}})
		step := create("Deployment/d")
		step.Want.SetLabels(map[string]string{"label": "x"})
		p, err := plan.Sort([]plan.Step{step})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(2*time.Second, func() {
			obj := w.Object(ref("Deployment/d"))
			obj.SetLabels(nil)
			w.Put(obj)
		})
		e := &engine.Engine{Cluster: w.Cluster, Records: w.store, Rules: labelled{}}
		summary, err := e.Apply(t.Context(), p, realRun, func(event.Event) {})
		if err != nil || summary.Failures() != 0 {
			t.Errorf("%+v, %v", summary, err)
		}
	})
}
