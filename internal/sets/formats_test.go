package sets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// formats are the formats of records. Tests that are the same for all of them run for each.
var formats = []string{KindApp, KindPackage}

// setWorld is a server and a folder with the files of a set, in one of the formats.
type setWorld struct {
	t       testing.TB
	format  string
	app     string // empty for shop
	server  *enginetest.Cluster
	dir     string
	notices []string
	now     time.Time
}

// eachFormat runs a test for each format.
func eachFormat(t *testing.T, test func(t *testing.T, w *setWorld)) {
	for _, format := range formats {
		t.Run(format, func(t *testing.T) { test(t, newSetWorld(t, format)) })
	}
}

// newSetWorld returns a server without objects, and a set without manifests.
func newSetWorld(t testing.TB, format string) *setWorld {
	t.Helper()
	w := &setWorld{
		t: t, format: format, server: &enginetest.Cluster{}, dir: t.TempDir(),
		now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC),
	}
	for _, gk := range []schema.GroupKind{{Kind: "ConfigMap"}, {Kind: "Secret"},
		{Group: "kpt.dev", Kind: "ResourceGroup"}} {
		w.server.Serve(gk, true)
	}
	w.server.Serve(schema.GroupKind{Kind: "Namespace"}, false)
	w.put("apiVersion: v1\nkind: Namespace\nmetadata: {name: demo}")
	if format == KindPackage {
		w.write("inventory.yaml", "apiVersion: kpt.dev/v1alpha1\nkind: ResourceGroup\n"+
			"metadata: {name: shop, namespace: demo, labels: {cli-utils.sigs.k8s.io/inventory-id: shop}}")
	}
	return w
}

// write writes a file of the set; an empty text removes it.
func (w *setWorld) write(name, text string) {
	w.t.Helper()
	path, err := filepath.Join(w.dir, name), error(nil)
	if text == "" {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// put stores an object in the server, as others do.
func (w *setWorld) put(text string) {
	w.t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		w.t.Fatal(err)
	}
	w.server.Put(obj)
}

// change changes a live object, as others do.
func (w *setWorld) change(name string, edit func(*unstructured.Unstructured)) {
	w.t.Helper()
	obj := w.server.Object(mapRef(name))
	if obj == nil {
		w.t.Fatalf("there is no ConfigMap %s", name)
	}
	obj = obj.DeepCopy()
	edit(obj)
	w.server.Put(obj)
}

func mapRef(name string) object.Ref {
	return object.Ref{Kind: "ConfigMap", Namespace: "demo", Name: name}
}

// mapText returns the manifest of a ConfigMap with data and, if that is not empty, an annotation.
func mapText(name, data, annotation string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, annotations: {%s}}\n"+
		"data: {%s}\n", name, annotation, data)
}

// request returns the request that names the set.
func (w *setWorld) request() Request {
	r := Request{
		Files: []string{w.dir}, Namespace: "demo",
		Notice: func(text string) { w.notices = append(w.notices, text) },
		Now:    func() time.Time { w.now = w.now.Add(time.Second); return w.now },
	}
	if w.format == KindApp {
		r.App = cmp.Or(w.app, "shop")
	}
	return r
}

// open opens the set.
func (w *setWorld) open() Set {
	w.t.Helper()
	set, err := Open(w.t.Context(), w.request())
	if err != nil {
		w.t.Fatal(err)
	}
	return set
}

// options returns those of a native command.
func options() policy.Options {
	return policy.Options{
		FieldManager: policy.DefaultManager, InventoryPolicy: "strict", AppAnnotations: true,
		Recreation: true, Now: time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC),
	}
}

// apply plans and runs an apply, and returns the plan and the summary.
func (w *setWorld) apply(
	ctx context.Context, edit func(*policy.Options),
) (*plan.Plan, event.Summary, error) {
	w.t.Helper()
	o := options()
	if edit != nil {
		edit(&o)
	}
	op, err := w.open().PrepareApply(w.t.Context(), w.server,
		operation.ApplyOptions{Options: o})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.run(ctx, op)
}

// destroy plans and runs the deletion of the set.
func (w *setWorld) destroy() (*plan.Plan, event.Summary, error) {
	w.t.Helper()
	op, err := w.open().PrepareDestroy(w.t.Context(), w.server,
		operation.DestroyOptions{Options: options()})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.run(w.t.Context(), op)
}

func (w *setWorld) run(ctx context.Context, op *Operation) (*plan.Plan, event.Summary, error) {
	w.t.Helper()
	if err := op.MakePlan(w.t.Context()); err != nil {
		return nil, event.Summary{}, err
	}
	summary, err := op.Run(ctx, engine.Options{DryRun: engine.DryRunNone, Concurrency: 1},
		func(event.Event) {})
	return op.Plan, summary, err
}

// mustApply applies the set, and fails unless all of it succeeds.
func (w *setWorld) mustApply() *plan.Plan {
	w.t.Helper()
	p, summary, err := w.apply(w.t.Context(), nil)
	if err != nil || summary.Failures() > 0 {
		w.t.Fatalf("%d failures, error %v", summary.Failures(), err)
	}
	return p
}

// data returns the data of a ConfigMap, sorted, as in "a=1 b=2"; "-" if there is no such object.
func (w *setWorld) data(name string) string {
	obj := w.server.Object(mapRef(name))
	if obj == nil {
		return "-"
	}
	fields, _, _ := unstructured.NestedStringMap(obj.Object, "data")
	var all []string
	for key, value := range fields {
		all = append(all, key+"="+value)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// members returns the names of the objects of the set, by its record.
func (w *setWorld) members() string {
	w.t.Helper()
	targets, err := w.open().Targets(w.t.Context(), w.server)
	if err != nil {
		return "error: " + err.Error()
	}
	var names []string
	for _, ref := range targets.All.Refs() {
		names = append(names, ref.Name)
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// ops returns what a plan does, as in "a: update", by the order of its steps.
func ops(p *plan.Plan) string {
	var all []string
	for _, step := range p.Steps {
		if step.Op.IsObject() {
			all = append(all, fmt.Sprintf("%s: %s", step.Ref.Name, step.Op))
		}
	}
	return strings.Join(all, ", ")
}

func (w *setWorld) expect(about, got, want string) {
	w.t.Helper()
	if got != want {
		w.t.Errorf("%s: got %q, want %q", about, got, want)
	}
}

// What others added stays, what was applied and is not described any more goes, and an object that
// is not described any more is deleted. A second apply changes nothing.
func TestFormatsMerge(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1', y: '1'", ""))
		w.write("b.yaml", mapText("b", "x: '1'", ""))
		w.expect("new", ops(w.mustApply()), "a: create, b: create")
		w.expect("again", ops(w.mustApply()), "a: unchanged, b: unchanged")
		w.change("a", func(obj *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(obj.Object, "z", "data", "theirs")
			obj.SetLabels(withKey(obj.GetLabels(), "theirs"))
		})
		w.expect("what others added", ops(w.mustApply()), "a: unchanged, b: unchanged")
		w.write("a.yaml", mapText("a", "x: '2'", ""))
		w.write("b.yaml", "")
		w.expect("changed", ops(w.mustApply()), "a: update, b: delete")
		w.expect("data", w.data("a"), "theirs=z x=2")
		w.expect("pruned", w.data("b"), "-")
		if _, ok := w.server.Object(mapRef("a")).GetLabels()["theirs"]; !ok {
			t.Error("the label of others is gone")
		}
		w.expect("members", w.members(), "a")
		w.expect("at last", ops(w.mustApply()), "a: unchanged")
	})
}

func withKey(labels map[string]string, key string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = "yes"
	return labels
}

// A destroy deletes all objects and the record, and what an annotation keeps leaves the set.
func TestFormatsDestroy(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.write("b.yaml", mapText("b", "x: '1'", "kapp.k14s.io/delete-strategy: orphan"))
		w.mustApply()
		p, summary, err := w.destroy()
		if err != nil || summary.Failures() > 0 {
			t.Fatalf("%d failures, error %v", summary.Failures(), err)
		}
		w.expect("plan", ops(p), "b: orphan, a: delete")
		w.expect("deleted", w.data("a"), "-")
		w.expect("kept", w.data("b"), "x=1")
		if text := w.members(); text != "" && !strings.HasPrefix(text, "error: ") {
			t.Errorf("the record has %q", text)
		}
		p, _, err = w.apply(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		w.expect("what left the set has no owner", ops(p), "a: create, b: skip")
	})
}

// An object without an owner is left alone unless it may be adopted; one of another set, too.
func TestFormatsAdopt(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		stray := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: demo"
		w.put(stray + "}\ndata: {x: '0', theirs: z}")
		w.put(strings.Replace(stray, "name: a", "name: b", 1) +
			", labels: {kapp.k14s.io/app: '77'}, annotations: {config.k8s.io/owning-inventory: other}}\n" +
			"data: {x: '0'}")
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.write("b.yaml", mapText("b", "x: '1'", ""))
		for degree, want := range map[string]string{
			"strict": "a: skip, b: skip", "adopt": "a: update, b: skip",
			"force-adopt": "a: update, b: update",
		} {
			op, err := w.open().PrepareApply(t.Context(), w.server,
				operation.ApplyOptions{Options: func() policy.Options {
					o := options()
					o.InventoryPolicy = degree
					return o
				}()})
			if err == nil {
				err = op.MakePlan(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			w.expect(degree, ops(op.Plan), want)
		}
		_, _, err := w.apply(t.Context(), func(o *policy.Options) { o.InventoryPolicy = "adopt" })
		if err != nil {
			t.Fatal(err)
		}
		w.expect("adopted", w.data("a"), "theirs=z x=1")
		w.expect("members", w.members(), "a")
	})
}

// A run that is killed at any write leaves nothing that a later destroy does not find.
func TestFormatsKilled(t *testing.T) {
	const atLeast = 5 // writes of the run: two of the record, three of objects
	for _, format := range formats {
		for at := 1; ; at++ {
			w := newSetWorld(t, format)
			w.write("a.yaml", mapText("a", "x: '1'", ""))
			w.write("b.yaml", mapText("b", "x: '1'", ""))
			w.mustApply()
			w.write("a.yaml", "")
			w.write("b.yaml", mapText("b", "x: '2'", ""))
			w.write("c.yaml", mapText("c", "x: '1'", ""))
			w.server.Revive()
			w.server.Dies = at
			_, _, err := w.apply(t.Context(), nil)
			died := err != nil
			w.server.Revive()
			if _, summary, err := w.destroy(); err != nil || summary.Failures() > 0 {
				t.Fatalf("%s killed at write %d: %d failures, error %v", format, at, summary.Failures(), err)
			}
			for _, name := range []string{"a", "b", "c"} {
				w.expect(fmt.Sprintf("%s killed at write %d: %s", format, at, name), w.data(name), "-")
			}
			if !died {
				if at <= atLeast {
					t.Errorf("%s: the run ended after %d writes", format, at-1)
				}
				break
			}
		}
	}
}

// record runs an operation, and writes its revision.
func (w *setWorld) record(op *Operation, err error) {
	w.t.Helper()
	if err == nil {
		err = op.MakePlan(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	r := NewRecorder(w.server, op, HistoryOptions{
		Limit: 10, Keep: true, Now: w.request().Now,
		Describe: func(context.Context) history.Meta { return history.Meta{} },
	})
	if _, err := r.Run(w.t.Context(), realRun, func(event.Event) {}); err != nil {
		w.t.Fatal(err)
	}
	if err := r.Record(w.t.Context(), true); err != nil {
		w.t.Fatal(err)
	}
}

// revisions returns the numbers of the revisions of the set, the newest first.
func (w *setWorld) revisions() string {
	w.t.Helper()
	store, err := OpenHistory(w.t.Context(), w.server, w.open())
	if err != nil {
		w.t.Fatal(err)
	}
	heads, err := store.List(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	var numbers []int
	for _, h := range heads {
		numbers = append(numbers, h.Number)
	}
	return fmt.Sprint(numbers)
}

// A set that is applied after a destroy which kept its history continues that, unless it is that of
// a set which has another name now.
func TestFormatsKeptHistory(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		apply := func() {
			w.record(w.open().PrepareApply(t.Context(), w.server,
				operation.ApplyOptions{Options: options()}))
		}
		destroy := func() {
			w.record(w.open().PrepareDestroy(t.Context(), w.server,
				operation.DestroyOptions{Options: options()}))
		}
		apply()
		for range 2 {
			destroy()
			apply()
		}
		w.expect("revisions", w.revisions(), "[5 4 3 2 1]")
		if w.format == KindApp {
			renaming, err := w.open().PrepareRename(w.server, "demo", "store")
			if err == nil {
				_, err = renaming.Run(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			w.write("a.yaml", mapText("b", "x: '1'", ""))
			apply()
			w.expect("revisions of the other app", w.revisions(), "[1]")
		}
		destroy()
		w.expect("revisions after all", strings.Fields(w.revisions())[0], map[string]string{
			KindApp: "[2", KindPackage: "[6",
		}[w.format])
	})
}

// Versions of an object are kept, and what refers to it by name follows, also by the rules of a
// Config document.
func TestFormatsVersions(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		const versioned = "kapp.k14s.io/versioned: ''"
		w.write("a.yaml", mapText("a", "x: '1'", versioned))
		w.write("b.yaml", mapText("b", "x: '1'",
			"config.kubernetes.io/depends-on: /namespaces/demo/ConfigMap/a"))
		w.expect("new", ops(w.mustApply()), "a-ver-1: create, b: create")
		w.write("a.yaml", mapText("a", "x: '2'", versioned))
		w.expect("changed", ops(w.mustApply()), "a-ver-1: unchanged, a-ver-2: create, b: unchanged")
		w.expect("first", w.data("a-ver-1"), "x=1")
		w.expect("second", w.data("a-ver-2"), "x=2")
		w.expect("again", ops(w.mustApply()), "a-ver-1: unchanged, a-ver-2: unchanged, b: unchanged")
	})
}

// A dry run writes nothing, and an interrupted one is continued.
func TestFormatsInterrupted(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		ctx, stop := context.WithCancelCause(t.Context())
		stop(errors.New("interrupted"))
		if _, summary, err := w.apply(ctx, nil); err == nil && !summary.Interrupted {
			t.Errorf("got the summary %+v, error %v", summary, err)
		}
		w.expect("nothing", w.data("a"), "-")
		w.expect("continued", ops(w.mustApply()), "a: create")
		w.expect("data", w.data("a"), "x=1")
	})
}

// A dry run writes nothing, no record either: of a new set, and of one that is to be destroyed.
func TestFormatsDryRun(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		before := w.server.Refs().Len()
		op, err := w.open().PrepareApply(t.Context(), w.server,
			operation.ApplyOptions{Options: options()})
		w.dryRun(op, err)
		w.expect("objects", fmt.Sprint(w.server.Refs().Len()), fmt.Sprint(before))
		w.mustApply()
		before = w.server.Refs().Len()
		op, err = w.open().PrepareDestroy(t.Context(), w.server,
			operation.DestroyOptions{Options: options()})
		w.dryRun(op, err)
		w.expect("objects", fmt.Sprint(w.server.Refs().Len()), fmt.Sprint(before))
		w.expect("again", ops(w.mustApply()), "a: unchanged")
	})
}

// dryRun plans an operation and runs it as a dry run by the server.
func (w *setWorld) dryRun(op *Operation, err error) {
	w.t.Helper()
	if err == nil {
		err = op.MakePlan(w.t.Context())
	}
	if err == nil {
		_, err = op.Run(w.t.Context(), engine.Options{DryRun: engine.DryRunServer, Concurrency: 1},
			func(event.Event) {})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// What depends on an object that belongs to others, by an annotation or by a change rule, is not
// written.
func TestFormatsDependents(t *testing.T) {
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.put("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: demo, " +
			"labels: {kapp.k14s.io/app: '77'}, annotations: {config.k8s.io/owning-inventory: other}}")
		w.write("a.yaml", mapText("a", "x: '1'", "kapp.k14s.io/change-group: example.com/a"))
		w.write("b.yaml", mapText("b", "x: '1'",
			"kapp.k14s.io/change-rule: upsert after upserting example.com/a"))
		w.write("c.yaml", mapText("c", "x: '1'",
			"config.kubernetes.io/depends-on: /namespaces/demo/ConfigMap/a"))
		w.write("d.yaml", mapText("d", "x: '1'", ""))
		p, _, err := w.apply(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if i := p.Index()[mapRef("a")]; p.Steps[i].ReasonCode != plan.ReasonForeign {
			t.Errorf("a: %s, %s", p.Steps[i].Op, p.Steps[i].Reason)
		}
		for name, want := range map[string]string{"a": "", "b": "-", "c": "-", "d": "x=1"} {
			w.expect(name, w.data(name), want)
		}
	})
}

// The mark of the set cannot be taken from another object.
func TestFormatsKeepMark(t *testing.T) {
	paths := map[string]string{
		KindApp:     "$.metadata.labels['kapp.k14s.io/app']",
		KindPackage: "$.metadata.annotations['config.k8s.io/owning-inventory']",
	}
	eachFormat(t, func(t *testing.T, w *setWorld) {
		w.write("a.yaml", mapText("a", "x: other", ""))
		w.write("b.yaml", mapText("b", "x: '1'", fmt.Sprintf("config.kubernetes.io/apply-time-mutation: "+
			`'[{"sourceRef": {"kind": "ConfigMap", "name": "a"}, "sourcePath": "$.data.x", `+
			`"targetPath": %q}]'`,
			strings.ReplaceAll(paths[w.format], "'", "''"))))
		_, summary, err := w.apply(t.Context(), nil)
		if err != nil || summary.Failures() == 0 {
			t.Errorf("%d failures, error %v", summary.Failures(), err)
		}
		w.expect("b", w.data("b"), "-")
	})
}
