package sets

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

const (
	appKey      = "kapp.k14s.io/app"
	identityKey = "kapp.k14s.io/identity"
	originalKey = "kapp.k14s.io/original"
	replaceNote = "kapp.k14s.io/update-strategy: always-replace"
)

// with applies the set with options and returns what the plan did.
func (w *setWorld) with(edit func(*policy.Options)) string {
	w.t.Helper()
	p, s, err := w.apply(w.t.Context(), edit)
	if err != nil || s.Failures() > 0 {
		w.t.Fatalf("%d failures, error %v", s.Failures(), err)
	}
	return ops(p)
}

func serverSide(o *policy.Options) { o.ServerSide = true }

func (w *setWorld) set(name, key, value string) {
	w.t.Helper()
	w.change(name, func(obj *unstructured.Unstructured) {
		_ = unstructured.SetNestedField(obj.Object, value, "data", key)
	})
}

func (w *setWorld) note(name, key string) string {
	return w.server.Object(mapRef(name)).GetAnnotations()[key]
}

// annotate sets an annotation; an empty value removes it.
func (w *setWorld) annotate(name, key, value string) {
	w.t.Helper()
	w.change(name, func(obj *unstructured.Unstructured) {
		all := obj.GetAnnotations()
		if all[key] = value; value == "" {
			delete(all, key)
		}
		obj.SetAnnotations(all)
	})
}

// between plans an operation, calls a function, and runs it.
func (w *setWorld) between(ctx context.Context, destroy bool, change func()) {
	w.t.Helper()
	var op *Operation
	var err error
	if destroy {
		op, err = w.open().PrepareDestroy(w.t.Context(), w.server,
			operation.DestroyOptions{Options: options()})
	} else {
		op, err = w.open().PrepareApply(w.t.Context(), w.server,
			operation.ApplyOptions{Options: options()})
	}
	if err == nil {
		err = op.MakePlan(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	change()
	_, _ = op.Run(ctx, engine.Options{DryRun: engine.DryRunNone, Concurrency: 1}, func(event.Event) {})
}

// An unchanged object with always-replace is not deleted and created by each server-side apply.
func TestFormatsFaultReplacedEachTime(t *testing.T) {
	w := newSetWorld(t, KindApp)
	w.write("a.yaml", mapText("a", "x: '1'", replaceNote))
	w.with(serverSide)
	uid := w.server.Object(mapRef("a")).GetUID()
	w.expect("again", w.with(serverSide), "a: unchanged")
	w.expect("uid", string(w.server.Object(mapRef("a")).GetUID()), string(uid))
}

// An object that is created again while fields are ignored stays in the app.
func TestFormatsFaultRecreatedWithoutIdentity(t *testing.T) {
	w := newSetWorld(t, KindApp)
	edit := func(o *policy.Options) {
		o.ServerSide, o.Ignore = true, diff.IgnoreRules{{Paths: []string{"/data/z"}}}
	}
	w.write("a.yaml", mapText("a", "x: '1', z: '1'", replaceNote))
	w.write("b.yaml", mapText("b", "x: '1'", ""))
	w.with(edit)
	w.write("a.yaml", mapText("a", "x: '2', z: '1'", replaceNote))
	w.with(edit)
	w.expect("identity", w.note("a", identityKey), "v1;demo//ConfigMap/a;v1")
	if w.note("a", originalKey) == "" {
		t.Error("it has no original")
	}
	w.expect("members", w.members(), "a b")
	w.write("a.yaml", "")
	w.with(edit)
	w.expect("pruned", w.data("a"), "-")
}

// An object that gets its original again, which it had lost, has its identity all the time.
func TestFormatsFaultIdentityGoes(t *testing.T) {
	w := newSetWorld(t, KindApp)
	for i, note := range []string{"", "kapp.k14s.io/disable-original: ''", "", ""} {
		w.write("a.yaml", mapText("a", fmt.Sprintf("x: '%d'", i), note))
		w.mustApply()
		w.expect(fmt.Sprint(i), w.note("a", identityKey), "v1;demo//ConfigMap/a;v1")
		if hasOriginal := w.note("a", originalKey) != ""; hasOriginal != (note == "") {
			t.Errorf("%d: it has an original: %t", i, hasOriginal)
		}
	}
}

// What somebody takes out of the app between the plan and the deletion is not deleted.
func TestFormatsFaultTakenOutMeanwhile(t *testing.T) {
	w := newSetWorld(t, KindApp)
	w.write("a.yaml", mapText("a", "x: '1'", ""))
	w.write("b.yaml", mapText("b", "x: '1'", ""))
	w.mustApply()
	w.write("a.yaml", "")
	w.between(t.Context(), false, func() {
		w.change("a", func(obj *unstructured.Unstructured) {
			labels := obj.GetLabels()
			delete(labels, appKey)
			obj.SetLabels(labels)
		})
	})
	w.expect("a", w.data("a"), "x=1")
}

// An object that kapp, or an earlier muster, has written without an original loses the fields that
// the manifest does not have any more.
func TestFormatsFaultFieldsOfUpdatesStay(t *testing.T) {
	for _, size := range []int{0, 270000} {
		w := newSetWorld(t, KindApp)
		w.write("b.yaml", mapText("b", "x: '1'", ""))
		w.mustApply()
		obj := w.server.Object(mapRef("b")).DeepCopy()
		large, note := strings.Repeat("v", size), ""
		annotations := map[string]string{identityKey: "v1;demo//ConfigMap/a;v1"}
		if size == 0 {
			note = "kapp.k14s.io/disable-original: ''"
			annotations["kapp.k14s.io/disable-original"] = ""
		}
		obj.Object["metadata"] = map[string]any{"name": "a", "namespace": "demo",
			"labels": map[string]any{appKey: obj.GetLabels()[appKey]}}
		obj.Object["data"] = map[string]any{"l": large, "x": "1", "z": "1"}
		obj.SetAnnotations(annotations)
		if _, err := w.server.Write(t.Context(), cluster.Write{Object: obj, Method: cluster.Create,
			Manager: "kapp"}); err != nil {
			t.Fatal(err)
		}
		w.write("a.yaml", mapText("a", "x: '2', l: '"+large+"'", note))
		w.mustApply()
		w.expect(fmt.Sprint(size), strings.ReplaceAll(w.data("a"), large, ""), "l= x=2")
		w.expect("again", ops(w.mustApply()), "a: unchanged, b: unchanged")
	}
}

const configRule = "apiVersion: kapp.k14s.io/v1alpha1\nkind: Config\n%s: [{path: [data, z]%s, " +
	"resourceMatchers: [{allMatcher: {}}]}]\n"

// A field that a rule leaves to others is in the original as the manifest has it, also server-side:
// else the rule holds for one apply alone.
func TestFormatsFaultOriginalOfServerSide(t *testing.T) {
	w := newSetWorld(t, KindApp)
	edit := func(o *policy.Options) { o.ServerSide, o.ForceConflicts = true, true }
	w.write("config.yaml", fmt.Sprintf(configRule, "diffAgainstLastAppliedFieldExclusionRules", ""))
	w.write("a.yaml", mapText("a", "x: '1', z: '1'", ""))
	w.with(edit)
	w.set("a", "z", "theirs")
	w.with(edit)
	w.expect("first", w.data("a"), "x=1 z=theirs")
	w.write("a.yaml", mapText("a", "x: '2', z: '1'", ""))
	w.with(edit)
	w.expect("second", w.data("a"), "x=2 z=theirs")
	if text := w.note("a", originalKey); !strings.Contains(text, `"z":"1"`) {
		t.Errorf("the original is not the manifest: %s", text)
	}
}

// An object that is created again has the fields of the manifest, whatever the rules of a merge.
func TestFormatsFaultRecreatedByRules(t *testing.T) {
	for _, how := range []string{", type: remove", ", type: copy, sources: [existing, new]"} {
		for _, server := range []bool{false, true} {
			w := newSetWorld(t, KindApp)
			edit := func(o *policy.Options) { o.ServerSide, o.ForceConflicts = server, server }
			w.write("config.yaml", fmt.Sprintf(configRule, "rebaseRules", how))
			w.write("a.yaml", mapText("a", "x: '1', z: '1'", replaceNote))
			w.with(edit)
			w.set("a", "z", "theirs")
			w.write("a.yaml", mapText("a", "x: '2', z: '1'", replaceNote))
			w.with(edit)
			w.expect(fmt.Sprint(how, server), w.data("a"), "x=2 z=1")
		}
	}
}

// A field of an exclusion rule that the manifest drops is removed.
func TestFormatsFaultExcludedFieldStays(t *testing.T) {
	w := newSetWorld(t, KindApp)
	w.write("config.yaml", fmt.Sprintf(configRule, "diffAgainstLastAppliedFieldExclusionRules", ""))
	w.write("a.yaml", mapText("a", "x: '1', z: '1'", ""))
	w.mustApply()
	w.write("a.yaml", mapText("a", "x: '1'", ""))
	w.mustApply()
	w.expect("data", w.data("a"), "x=1")
}

// An original in YAML, as old versions of kapp have written it, is the base of the merge.
func TestFormatsFaultOriginalInYAML(t *testing.T) {
	w := newSetWorld(t, KindApp)
	w.write("a.yaml", mapText("a", "x: '1', z: '1'", ""))
	w.mustApply()
	w.annotate("a", originalKey, fmt.Sprintf("apiVersion: v1\ndata:\n  x: \"1\"\n  z: \"1\"\n"+
		"kind: ConfigMap\nmetadata:\n  labels:\n    kapp.k14s.io/app: %q\n  name: a\n  namespace: demo\n",
		w.server.Object(mapRef("a")).GetLabels()[appKey]))
	w.write("a.yaml", mapText("a", "x: '2'", ""))
	w.mustApply()
	w.expect("data", w.data("a"), "x=2")
}

// An object of the record that has lost its identity is still pruned and destroyed.
func TestFormatsFaultIdentityRemoved(t *testing.T) {
	for _, destroy := range []bool{false, true} {
		w := newSetWorld(t, KindApp)
		w.write("a.yaml", mapText("a", "x: '1'", ""))
		w.write("b.yaml", mapText("b", "x: '1'", ""))
		w.mustApply()
		w.annotate("a", identityKey, "")
		w.expect("unchanged", ops(w.mustApply()), "a: unchanged, b: unchanged")
		if destroy {
			if _, _, err := w.destroy(); err != nil {
				t.Fatal(err)
			}
		} else {
			w.write("a.yaml", "")
			w.mustApply()
		}
		w.expect(fmt.Sprint("destroy ", destroy), w.data("a"), "-")
	}
}

// A destroy that has lost its lock leaves the record to the run that has it.
func TestFormatsFaultLostLock(t *testing.T) {
	w := newSetWorld(t, KindApp)
	w.write("a.yaml", mapText("a", "x: '1'", ""))
	w.write("b.yaml", mapText("b", "x: '1'", ""))
	w.mustApply()
	const secondDeletion = 3 // after the record and the first one
	calls, inner, lost, want := 0, false, false, ""
	record := func() string { return fmt.Sprint(w.server.Object(mapRef("shop")).Object["data"]) }
	ctx := cluster.Guard(t.Context(), func(context.Context) error {
		if inner {
			return nil
		}
		if calls++; calls == secondDeletion {
			inner = true
			w.write("c.yaml", mapText("c", "x: '1'", ""))
			w.mustApply() // the other run
			inner, lost, want = false, true, record()
		}
		if lost {
			return errors.New("the lock is lost")
		}
		return nil
	})
	w.between(ctx, true, func() {})
	w.expect("record", record(), want)
}

// A copy of an object of the app, which is no object of the app, is left alone.
func TestFormatsFaultOriginalOfAnother(t *testing.T) {
	w := newSetWorld(t, KindApp)
	w.write("a.yaml", mapText("a", "x: '1', z: '1'", ""))
	w.mustApply()
	c := w.server.Object(mapRef("a"))
	c.SetName("c")
	c.SetUID("")
	c.SetLabels(nil) // somebody copied a, and took the copy out of the app
	_ = unstructured.SetNestedField(c.Object, "theirs", "data", "x")
	w.server.Put(c)
	w.write("c.yaml", mapText("c", "x: '2'", ""))
	w.expect("plan", w.with(nil), "a: unchanged, c: skip")
	w.expect("c", w.data("c"), "x=theirs z=1")
}

// Marks that the user has copied into a manifest do not win.
func TestFormatsFaultMarksInManifest(t *testing.T) {
	for _, server := range []bool{false, true} {
		w := newSetWorld(t, KindApp)
		edit := func(o *policy.Options) { o.ServerSide = server }
		w.write("a.yaml", mapText("a", "x: '1', z: '1'", "kapp.k14s.io/identity: nonsense, "+
			"kapp.k14s.io/original: '{}', kapp.k14s.io/original-diff-md5: abc, "+
			"kapp.k14s.io/disable-original: ''"))
		w.write("b.yaml", mapText("b", "x: '1', z: '1'", "kapp.k14s.io/identity: nonsense, "+
			"kapp.k14s.io/original: '{}', kapp.k14s.io/original-diff-md5: abc"))
		w.with(edit)
		w.expect("again", w.with(edit), "a: unchanged, b: unchanged")
		w.expect("identity", w.note("a", identityKey), "v1;demo//ConfigMap/a;v1")
		w.expect("identity", w.note("b", identityKey), "v1;demo//ConfigMap/b;v1")
		w.expect("original", w.note("a", originalKey), "")
		t.Log(w.note("b", originalKey), w.note("a", "kapp.k14s.io/original-diff-md5"))
		if _, ok := lastapplied.Base(w.server.Object(mapRef("b")), config.Default()); !ok {
			t.Error("kapp takes b for changed")
		}
		w.write("b.yaml", mapText("b", "x: '2'", "kapp.k14s.io/identity: nonsense, "+
			"kapp.k14s.io/original: '{}', kapp.k14s.io/original-diff-md5: abc"))
		w.write("a.yaml", mapText("a", "x: '2'", "kapp.k14s.io/disable-original: ''"))
		w.with(edit)
		w.expect("b", w.data("a")+", "+w.data("b"), "x=2, x=2")
		w.expect("again", w.with(edit), "a: unchanged, b: unchanged")
	}
}

// A run that fails to write one version of an object, then conflicts: the manifest is written with
// the rules of the set beside what others have set.
func TestFormatsFaultConflictWithRules(t *testing.T) {
	for _, server := range []bool{false, true} {
		w := newSetWorld(t, KindApp)
		edit := func(o *policy.Options) { o.ServerSide, o.ForceConflicts = server, server }
		w.write("config.yaml",
			fmt.Sprintf(configRule, "rebaseRules", ", type: copy, sources: [existing, new]"))
		w.write("a.yaml", mapText("a", "x: '1', z: '1'", ""))
		w.with(edit)
		w.write("a.yaml", mapText("a", "x: '2', z: '1', y1: '1'", ""))
		o := options()
		edit(&o)
		op, err := w.open().PrepareApply(t.Context(), w.server,
			operation.ApplyOptions{Options: o})
		if err == nil {
			err = op.MakePlan(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		w.set("a", "z", "theirs")
		w.set("a", "more", "theirs")
		run := engine.Options{DryRun: engine.DryRunNone, Concurrency: 1}
		s, err := op.Run(t.Context(), run, func(event.Event) {})
		if err != nil || s.Failures() > 0 {
			t.Fatal(s, err)
		}
		w.expect("data", w.data("a"), "more=theirs x=2 y1=1 z=theirs")
		if text := w.note("a", originalKey); !strings.Contains(text, `"z":"1"`) {
			t.Errorf("%v: the original is not the manifest: %s", server, text)
		}
		w.expect("again", w.with(edit), "a: unchanged")
	}
}

// A run that is killed between the two writes of an object is completed by the next one: kapp would
// take what the server has set for a change by others, and undo it.
func TestFormatsFaultKilledBeforeCorrection(t *testing.T) {
	w := newSetWorld(t, KindApp)
	w.server.Stores = func(obj *unstructured.Unstructured) {
		if object.RefOf(obj) == mapRef("a") {
			_ = unstructured.SetNestedField(obj.Object, "hook", "data", "hook")
		}
	}
	w.write("a.yaml", mapText("a", "x: '1'", ""))
	w.server.Dies = 4
	_, _, _ = w.apply(t.Context(), nil)
	w.server.Revive()
	w.mustApply()
	if _, ok := lastapplied.Base(w.server.Object(mapRef("a")), config.Default()); !ok {
		t.Error("kapp takes the object for changed")
	}
}
