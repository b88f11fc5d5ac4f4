package sets

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/feature/drift"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

var widgetKind = schema.GroupKind{Group: "example.com", Kind: "Widget"}

// deploy applies the set and writes a revision.
func (w *setWorld) deploy() {
	w.t.Helper()
	op, err := w.open().PrepareApply(w.t.Context(), w.server,
		operation.ApplyOptions{Options: options()})
	if err == nil {
		err = op.MakePlan(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	r := NewRecorder(w.server, op, HistoryOptions{
		Limit: 9, Now: time.Now,
		Describe: func(context.Context) history.Meta { return history.Meta{} },
	})
	summary, err := r.Run(w.t.Context(),
		engine.Options{DryRun: engine.DryRunNone, Concurrency: 1}, func(event.Event) {})
	if err == nil {
		err = r.Record(w.t.Context(), true)
	}
	if err != nil || summary.Failures() > 0 {
		w.t.Fatalf("%d failures, error %v", summary.Failures(), err)
	}
}

// edit merges fields into a live object, as a person does.
func (w *setWorld) edit(ref object.Ref, fields string) {
	w.t.Helper()
	_, err := w.server.Write(w.t.Context(), cluster.Write{
		Object: w.server.Object(ref), Method: cluster.Patch, PatchType: types.MergePatchType,
		Patch: []byte(fields), Manager: "kubectl-edit",
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// baseline opens what the set is compared with.
func (w *setWorld) baseline(against string, membersOnly bool) *Baseline {
	w.t.Helper()
	b, err := OpenBaseline(w.t.Context(), w.server, w.request(), against, membersOnly)
	if err != nil {
		w.t.Fatal(err)
	}
	return b
}

// driftText returns what drifted, an object a line: fields with the class of their owner, and those
// that do not count in brackets.
func driftText(found *Drift) string {
	var lines []string
	for _, o := range found.Objects {
		line := fmt.Sprintf("%s %s %s", o.Kind, o.Ref.Kind, o.Ref.Name)
		for _, f := range o.Fields {
			text := fmt.Sprintf(" %s %s %s", f.Path, f.Kind, f.Class)
			if !f.Counts() {
				text = " [" + text[1:] + "]"
			}
			line += text
		}
		lines = append(lines, line)
	}
	for _, err := range found.Uncompared {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// expectDrift compares with the revision and with the files.
func (w *setWorld) expectDrift(want ...string) {
	w.t.Helper()
	for _, against := range []string{AgainstGood, AgainstFiles} {
		found, err := w.baseline(against, false).Find(w.t.Context(), drift.Options{})
		if err != nil {
			w.t.Fatal(err)
		}
		if found.Incomplete != nil && len(found.Uncompared) == 0 {
			w.t.Error(found.Incomplete)
		}
		w.expect("drift against "+against, driftText(found), strings.Join(want, "\n"))
	}
}

// TestDrift: objects of built-in and other kinds that others changed and deleted drift, and those
// that runs do not write do not.
func TestDrift(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.server.Serve(widgetKind, true)
		widget := object.Ref{Group: "example.com", Kind: "Widget", Namespace: "demo", Name: "w"}
		w.write("w.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, annotations: "+
			"{muster.dev/wait: 'false'}}\nspec: {size: 1, color: red}\n")
		w.write("a.yaml", mapText("a", "x: '1', y: '1'", ""))
		w.write("gone.yaml", mapText("gone", "x: '1'", ""))
		w.write("once.yaml", mapText("once", "x: '1'", "kapp.k14s.io/update-strategy: skip"))
		w.write("noop.yaml", mapText("noop", "x: '1'", "kapp.k14s.io/noop: ''"))
		w.deploy()
		w.expectDrift()
		w.edit(mapRef("a"), `{"data":{"x":"2","more":"1"}}`)
		w.edit(mapRef("once"), `{"data":{"x":"2"}}`)
		w.edit(widget, `{"spec":{"size":2,"color":null,"more":true},"status":{"phase":"Done"}}`)
		w.server.Remove(mapRef("gone"))
		w.expectDrift("changed ConfigMap a data.more added human data.x changed human",
			"deleted ConfigMap gone", "changed Widget w spec.color removed unknown "+
				"spec.more added human spec.size changed human")
	})
}

// TestDriftOfSources: an object that has the value which its source had is as it was deployed,
// unless a plan cannot know the value.
func TestDriftOfSources(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.write("b.yaml", mapText("b", "x: none", fmt.Sprintf(
			"config.kubernetes.io/apply-time-mutation: %q", "- sourceRef: {kind: ConfigMap, name: a, "+
				"namespace: demo}\n  sourcePath: $.data.x\n  targetPath: $.data.x\n")))
		w.deploy()
		w.expectDrift()
		w.edit(mapRef("a"), `{"data":{"x":"2"}}`)
		w.expectDrift("changed ConfigMap a data.x changed human")
		w.edit(mapRef("b"), `{"data":{"x":"2"}}`)
		w.expectDrift("changed ConfigMap a data.x changed human",
			"changed ConfigMap b data.x changed human")
	})
}

// TestDriftOfVersions: the newest version of an object is compared, and what refers to it.
func TestDriftOfVersions(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("v.yaml", mapText("v", "x: '1'", "kapp.k14s.io/versioned: ''"))
		w.deploy()
		w.write("v.yaml", mapText("v", "x: '2'", "kapp.k14s.io/versioned: ''"))
		w.deploy()
		w.edit(mapRef("v-ver-1"), `{"data":{"x":"3"}}`)
		w.expectDrift()
		w.edit(mapRef("v-ver-2"), `{"data":{"x":"3"}}`)
		w.expectDrift("changed ConfigMap v-ver-2 data.x changed human")
		w.server.Remove(mapRef("v-ver-1"))
		w.server.Remove(mapRef("v-ver-2"))
		w.expectDrift("deleted ConfigMap v-ver-1")
	})
}

// TestDriftOfApp: rules of Config documents leave fields to others, the label of the app belongs to
// its objects, and objects that others made with it are added ones.
func TestDriftOfApp(t *testing.T) {
	w := newSetWorld(t, KindApp)
	w.server.Serve(widgetKind, true)
	w.write("rules.yaml", "apiVersion: kapp.k14s.io/v1alpha1\nkind: Config\nrebaseRules:\n"+
		"- {path: [data, left], type: copy, sources: [existing, new], resourceMatchers: "+
		"[{allMatcher: {}}]}\n")
	w.write("a.yaml", mapText("a", "x: '1', left: '1'", ""))
	w.deploy()
	w.edit(mapRef("a"), `{"data":{"left":"2"}}`)
	w.expectDrift()
	added := w.server.Object(mapRef("a")).DeepCopy() // as kubectl creates a copy
	added.SetAPIVersion("example.com/v1")
	added.SetKind("Widget")
	added.SetName("added")
	added.SetUID("")
	added.SetAnnotations(map[string]string{
		resource.AnnIdentity: "v1;demo/example.com/Widget/added;example.com/v1",
	})
	w.server.Put(added)
	w.edit(mapRef("a"), `{"data":{"x":"2"}}`)
	w.expectDrift("changed ConfigMap a data.x changed human", "added Widget added")
	w.server.Remove(object.RefOf(added))
	w.edit(mapRef("a"), `{"metadata":{"labels":{"kapp.k14s.io/app":null}}}`)
	w.expectDrift("changed ConfigMap a data.x changed human " +
		"metadata.labels[kapp.k14s.io/app] removed unknown")
}

// TestDriftOfUnservedKinds: what may exist is not compared, and what cannot exist is deleted.
func TestDriftOfUnservedKinds(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.server.Serve(widgetKind, true)
		w.write("w.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, annotations: "+
			"{muster.dev/wait: 'false'}}\nspec: {size: 1}\n")
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.deploy()
		w.server.NoKind = map[schema.GroupKind]bool{widgetKind: true}
		delete(w.server.Kinds, widgetKind)
		found, err := w.baseline(AgainstGood, true).Find(t.Context(), drift.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w.expect("drift", driftText(found), "deleted Widget w")
		w.server.NoKind, w.server.Unserved = nil, w.server.NoKind
		found, err = w.baseline(AgainstGood, true).Find(t.Context(), drift.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w.expect("drift", driftText(found), "")
		if len(found.Unserved) != 1 || found.Incomplete == nil {
			t.Errorf("unserved %v, incomplete: %v", found.Unserved, found.Incomplete)
		}
	})
}

// TestDriftInPlan: a set that is the same as when it was deployed is compared by the plan of its
// apply, without another read; another one is compared by a plan of its own.
func TestDriftInPlan(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.deploy()
		want := "changed ConfigMap a data.x changed human"
		look := func() (reads int) {
			b, o := w.baseline(AgainstGood, true), options()
			o.Owners = true
			op, err := w.open().PrepareApply(t.Context(), w.server,
				operation.ApplyOptions{Options: o})
			if err == nil {
				err = op.MakePlan(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			before := len(w.server.Asked) + len(w.server.Selections)
			found, err := b.FindIn(t.Context(), op, drift.Options{})
			if err != nil {
				t.Fatal(err)
			}
			w.expect("drift", driftText(found), want)
			return len(w.server.Asked) + len(w.server.Selections) - before
		}
		w.edit(mapRef("a"), `{"data":{"x":"2"}}`)
		if reads := look(); reads != 0 {
			t.Errorf("%d reads beside those of the plan", reads)
		}
		w.edit(mapRef("a"), `{"data":{"x":"1"}}`)
		want = ""
		look()
		w.write("a.yaml", mapText("a", "x: '3'", ""))
		if reads := look(); reads == 0 {
			t.Error("another source was taken for the revision")
		}
	})
}

// TestDriftReadsOnce: a comparison reads each object once.
func TestDriftReadsOnce(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.deploy()
		b := w.baseline(AgainstGood, false)
		w.server.Asked, w.server.Selections = nil, nil
		if _, err := b.Find(t.Context(), drift.Options{}); err != nil {
			t.Fatal(err)
		}
		reads := len(w.server.Selections)
		for _, refs := range w.server.Asked {
			if slices.Contains(refs, mapRef("a")) {
				reads++
			}
		}
		if reads != 1 {
			t.Errorf("%d reads of an object", reads)
		}
	})
}

// TestFixPutsBack: a fix puts back what drifted of each object, of the newest version too, and
// changes nothing else. It reads each object once before it is run.
func TestFixPutsBack(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.server.Serve(widgetKind, true)
		widget := object.Ref{Group: "example.com", Kind: "Widget", Namespace: "demo", Name: "w"}
		w.write("w.yaml", "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w, annotations: "+
			"{muster.dev/wait: 'false'}}\nspec: {size: 1}\n")
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.write("v.yaml", mapText("v", "x: '1'", "kapp.k14s.io/versioned: ''"))
		w.write("gone.yaml", mapText("gone", "x: '1'", ""))
		w.deploy()
		w.edit(widget, `{"spec":{"size":2},"status":{"phase":"Done"}}`)
		w.edit(mapRef("v-ver-1"), `{"data":{"x":"2"}}`)
		w.server.Remove(mapRef("gone"))
		b := w.baseline(AgainstGood, false)
		set, _, err := b.Set(t.Context(), w.request())
		if err != nil {
			t.Fatal(err)
		}
		o := options()
		o.NoPrune, o.Comparison = true, FixComparison
		op, err := set.PrepareApply(t.Context(), w.server,
			operation.ApplyOptions{Options: o})
		if err != nil {
			t.Fatal(err)
		}
		fix := b.NewFix(op, FixOptions{})
		p, summary, err := w.run(t.Context(), fix.Operation)
		if err != nil || summary.Failures() > 0 || fix.CheckCurrent(t.Context()) != nil {
			t.Fatalf("%d failures, error %v", summary.Failures(), err)
		}
		got := strings.Split(ops(p), ", ")
		slices.Sort(got)
		w.expect("plan", strings.Join(got, ", "),
			"a: unchanged, gone: create, v-ver-1: update, w: update")
		w.expect("version", w.data("v-ver-1")+" "+w.data("v-ver-2")+" "+w.data("gone"), "x=1 - x=1")
		left, err := fix.Remaining(t.Context())
		if err != nil || len(left) > 0 {
			t.Errorf("left %v, error %v", left, err)
		}
	})
}
