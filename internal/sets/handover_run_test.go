package sets

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// other returns the format of the new set.
func (w *setWorld) other() string {
	if w.format == KindApp {
		return KindPackage
	}
	return KindApp
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

// converted makes the set of the world the new one.
func (w *setWorld) converted() {
	if w.format == KindApp {
		w.dir = w.folder()
	}
	w.format = w.other()
}

// destroyRecord destroys the set without its manifests, if it exists.
func (w *setWorld) destroyRecord() error {
	w.t.Helper()
	r := w.request()
	if w.format == KindApp {
		r.Files = nil
	}
	set, err := OpenRecord(w.t.Context(), r)
	if err != nil {
		return err
	}
	op, err := set.PrepareDestroy(w.t.Context(), w.server,
		operation.DestroyOptions{Options: options()})
	if err == nil {
		_, _, err = w.run(w.t.Context(), op)
	}
	if missing := (*NoRecordError)(nil); errors.As(err, &missing) {
		return nil
	}
	return err
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

// A conversion that is killed at any write is continued by the same command, and whichever set is
// destroyed then, no object is left that no record has.
func TestConvertKilled(t *testing.T) {
	for _, format := range formats {
		for _, then := range []string{"again", "destroy old", "apply old", "destroy new"} {
			for at := 1; at < 30; at++ {
				if !convertKilled(t, format, then, at) {
					break
				}
			}
		}
	}
}

// convertKilled kills a conversion at a write, and reports whether it came to that.
func convertKilled(t *testing.T, format, then string, at int) bool {
	w := newSetWorld(t, format)
	w.dir = filepath.Join(w.dir, "files")
	if err := os.Mkdir(w.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if format == KindPackage {
		w.write("inventory.yaml", "apiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\n"+
			"metadata: {name: shop, namespace: demo, labels: {cli-utils.sigs.k8s.io/inventory-id: shop}}")
	}
	w.write("a.yaml", mapText("a", "x: '1'", ""))
	w.write("b.yaml", mapText("b", "x: '1'", ""))
	w.mustApply()
	w.server.Revive()
	w.server.Dies = at
	err := w.convert()
	wrote := strings.Join(w.server.Wrote, ", ")
	w.server.Revive()
	about := fmt.Sprintf("%s, killed at write %d (%s), %s", format, at, wrote, then)
	if err == nil {
		if at < 6 {
			t.Errorf("%s: the conversion ended after %d writes", format, at-1)
		}
		return false
	}
	err = nil
	switch then {
	case "again":
		if err = w.convert(); errors.As(err, new(*NoRecordError)) {
			err = nil // the last write was done; without a history nobody knows
		}
	case "apply old":
		_, _, err = w.apply(t.Context(), nil)
		if err == nil {
			err = w.convert()
		}
	case "destroy old", "destroy new":
		old, next := *w, *w
		next.converted()
		if then == "destroy new" {
			old, next = next, old
		}
		err = errors.Join(old.destroyRecord(), next.destroyRecord())
	}
	if err != nil {
		t.Errorf("%s: %v", about, err)
		return true
	}
	left := w.data("a") + " " + w.data("b")
	if strings.HasPrefix(then, "destroy") {
		w.expect(about, left, "- -")
		return true
	}
	w.expect(about, left, "x=1 x=1")
	w.converted()
	w.expect(about, w.members(), "a b")
	p := w.mustApply()
	w.expect(about, ops(p), "a: unchanged, b: unchanged")
	return true
}
