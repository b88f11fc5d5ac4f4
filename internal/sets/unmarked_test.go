package sets

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// unmark removes the mark of the set from an object, as somebody else does.
func (w *setWorld) unmark(name string) {
	w.t.Helper()
	w.change(name, func(obj *unstructured.Unstructured) {
		labels, annotations := obj.GetLabels(), obj.GetAnnotations()
		delete(labels, appKey)
		delete(annotations, "config.k8s.io/owning-inventory")
		obj.SetLabels(labels)
		obj.SetAnnotations(annotations)
	})
}

// An object that has lost its mark and is not described any more stays, in the record too, and
// every plan says so. With its mark again it is deleted.
func TestFormatsUnmarked(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.write("b.yaml", mapText("b", "x: '1'", ""))
		w.mustApply()
		marked := w.server.Object(mapRef("b"))
		w.unmark("b")
		w.expect("status", w.members(), "a b")
		w.write("b.yaml", "")
		for range 2 {
			p := w.mustApply()
			w.expect("apply", ops(p), "a: unchanged, b: keep")
			step := p.Steps[p.Index()[mapRef("b")]]
			w.expect("code", string(step.ReasonCode), string(plan.ReasonUnowned))
			if want := "it stays in the cluster and in the record"; !strings.Contains(step.Reason,
				want) || !strings.HasPrefix(step.Reason, "it exists and belongs to no ") {
				t.Errorf("reason %q", step.Reason)
			}
			w.expect("status after it", w.members(), "a b")
		}
		w.server.Put(marked)
		w.expect("marked again", ops(w.mustApply()), "a: unchanged, b: delete")
	})
}

// A record alone lets no object of an app be deleted, whatever is adopted, and a destroy names it.
func TestUnmarkedStays(t *testing.T) {
	w := newSetWorld(t, KindApp)
	w.write("a.yaml", mapText("a", "x: '1'", ""))
	w.write("b.yaml", mapText("b", "x: '1'", ""))
	w.mustApply()
	w.unmark("b")
	w.write("b.yaml", "")
	for _, degree := range []string{"adopt", "force-adopt"} {
		w.expect(degree, w.with(func(o *policy.Options) { o.InventoryPolicy = degree }),
			"a: unchanged, b: keep")
	}
	w.notices = nil
	r := w.request()
	r.Files = nil
	h, err := ToPackage(t.Context(), w.server, r, t.TempDir()+"/pkg",
		packages.InitOptions{File: "resourcegroup.yaml", Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	w.expect("converted", fmt.Sprint(h.members.Refs(), w.notices), "[demo/configmap/a] "+
		"[note: demo/configmap/b has lost the label of the app; it stays in the cluster, and the new "+
		"set does not have it]")
	w.notices = nil
	if _, _, err := w.destroy(); err != nil {
		t.Fatal(err)
	}
	w.expect("b", w.data("b"), "x=1")
	if text := strings.Join(w.notices, "\n"); !strings.Contains(text, "have lost its label "+appKey) ||
		!strings.Contains(text, "demo/configmap/b") {
		t.Errorf("notices %q", text)
	}
	if w.server.Object(mapRef("shop")) != nil {
		t.Error("the record is left")
	}
}
