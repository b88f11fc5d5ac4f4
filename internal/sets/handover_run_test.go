package sets

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/show/view"
)

// convert hands the set over to one of the other format, as the command does. The world has the
// format of the new set after it has succeeded.
func (w *setWorld) convert() error {
	w.t.Helper()
	h, err := w.handover()
	if err != nil {
		return err
	}
	o := options()
	o.InventoryPolicy = "adopt"
	op, err := h.PrepareApply(w.t.Context(), operation.ApplyOptions{Options: o})
	if err == nil {
		err = op.MakePlan(w.t.Context())
	}
	if err != nil {
		return err
	}
	outlooks, err := view.Outlooks(op.Plan, nil, func(sink event.Sink) error {
		_, err := op.Run(w.t.Context(), engine.Options{DryRun: engine.DryRunClient}, sink)
		return err
	})
	if err == nil {
		err = h.Check(outlooks)
	}
	if err != nil {
		return err
	}
	if _, err = op.Define(w.t.Context()); err != nil {
		return err
	}
	summary, err := op.Run(w.t.Context(), engine.Options{DryRun: engine.DryRunNone, Concurrency: 1},
		func(event.Event) {})
	if err == nil && summary.Failures() > 0 {
		err = fmt.Errorf("%d failures", summary.Failures())
	}
	if err == nil {
		_, err = h.Finish(w.t.Context())
	}
	return err
}

// folder returns the folder of a package that an app becomes, which does not exist before.
func (w *setWorld) folder() string { return filepath.Join(w.dir, "..", "package") }

// handover returns the handover of the set to the other format.
func (w *setWorld) handover() (*Handover, error) {
	if w.format == KindApp {
		return ToPackage(w.t.Context(), w.server, w.request(), w.folder(),
			packages.InitOptions{Name: "pkg", File: "resourcegroup.yaml", Now: w.request().Now})
	}
	return ToApp(w.t.Context(), w.server, w.request(), "shop")
}

// TestConvertOvertaken: a set is not converted if the server answered for newer objects, since
// nobody knows what it makes of those.
func TestConvertOvertaken(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.mustApply()
		w.server.Stores = func(obj *unstructured.Unstructured) { // as if others wrote and a webhook did
			if obj.GetName() == "a" {
				obj.SetResourceVersion("99")
				_ = unstructured.SetNestedField(obj.Object, "webhook", "data", "y")
			}
		}
		err := w.convert()
		if refused := (*HandoverError)(nil); !errors.As(err, &refused) {
			t.Fatalf("got %v", err)
		}
		w.expect("objects", w.data("a"), "x=1")
	})
}
