package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// All of the object is sent, with the version and the UID of the one that was read, and without who
// owns its fields.
func TestWhole(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	there := w.put(thing("ConfigMap/a", "old=yes"))
	step := update(there, "new")
	step.Want.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "somebody"}})
	step.Want.SetResourceVersion("")
	w.run(t.Context(), t, w.judging(), step)
	sent := w.Sent[0]
	if sent.Method != cluster.Replace ||
		sent.Object.GetResourceVersion() != there.GetResourceVersion() ||
		sent.Object.GetUID() != there.GetUID() ||
		sent.Object.GetManagedFields() != nil ||
		sent.Object.GetAnnotations()["old"] != "" {
		t.Errorf("sent %+v", sent)
	}
	if w.is("ConfigMap/a") != "new" || len(step.Want.GetManagedFields()) != 1 {
		t.Errorf(
			"the object is %q; what was handed in has %v",
			w.is("ConfigMap/a"),
			step.Want.GetManagedFields(),
		)
	}
	w.run(t.Context(), t, w.judging(), step) // it was changed since
	if got := w.lines[len(w.lines)-1]; w.is("ConfigMap/a") != "new" ||
		got[:len("settled update configmap/a failed")] != "settled update configmap/a failed" {
		t.Error(got)
	}
}

func TestReplace(t *testing.T) {
	stays := func(finalizer string) string {
		return "the old object still exists: it is being deleted and waits for its finalizers: " +
			finalizer
	}
	waits := func(why string) string {
		text := "deleted, and not created again yet: " + why
		return text + ": " + text // as a cause, and as the error
	}
	late := func(after, finalizer string) string {
		text := "failed: deleted, but not created again: timed out after " + after + ": " +
			stays(finalizer) + "; apply again to create it"
		return "acted update configmap/a " + text + "\nsettled update configmap/a " + text
	}
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", nil)
	for _, tc := range []struct {
		name     string
		replace  plan.Replacement
		recreate string
		answers  []error
		there    []string // finalizers; "deleted" is deleted already
		lingers  time.Duration
		limit    time.Duration
		want     string
		wrote    []string
		is       string
		took     time.Duration
	}{
		{name: "always", replace: plan.ReplaceAlways, is: "new", want: `
			acted create configmap/a succeeded
			settled update configmap/a succeeded (Current)`,
			wrote: []string{"delete n/configmap/a", "create n/configmap/a"}},
		{name: "not if the update will do", replace: plan.ReplaceInvalid, is: "new", want: `
			acted update configmap/a succeeded
			settled update configmap/a succeeded (Current)`,
			wrote: []string{"replace n/configmap/a"}},
		{name: "if the update is invalid", replace: plan.ReplaceInvalid, answers: []error{invalid}, is: "new", want: `
			acted create configmap/a succeeded
			settled update configmap/a succeeded (Current)`,
			wrote: []string{"delete n/configmap/a", "create n/configmap/a"}},
		{name: "by another object than the one that is sent", replace: plan.ReplaceInvalid, recreate: "recreated", answers: []error{invalid}, is: "recreated", want: `
			acted create configmap/a succeeded
			settled update configmap/a succeeded (Current)`,
			wrote: []string{"delete n/configmap/a", "create n/configmap/a"}},
		{name: "but that one is sent first", replace: plan.ReplaceInvalid, recreate: "recreated", is: "new", want: `
			acted update configmap/a succeeded
			settled update configmap/a succeeded (Current)`,
			wrote: []string{"replace n/configmap/a"}},
		{name: "but not for another reason", replace: plan.ReplaceInvalid, answers: []error{forbidden}, want: `
			acted update configmap/a failed: ` + forbidden.Error() + `
			settled update configmap/a failed: ` + forbidden.Error()},
		{name: "never", answers: []error{invalid}, want: `
			acted update configmap/a failed: ` + invalid.Error() + `
			settled update configmap/a failed: ` + invalid.Error()},
		{name: "once it is gone", replace: plan.ReplaceAlways, there: []string{"hold"}, lingers: time.Minute, is: "new", took: time.Minute, want: `
			retried create configmap/a: ` + waits(stays("hold")) + `
			acted create configmap/a succeeded
			settled update configmap/a succeeded (Current)`,
			wrote: []string{"delete n/configmap/a", "create n/configmap/a"}},
		{name: "unless it stays too long", replace: plan.ReplaceAlways, there: []string{"hold"}, limit: time.Minute, took: time.Minute, want: `
			retried create configmap/a: ` + waits(stays("hold")) + "\n" + late("1m0s", "hold"),
			wrote: []string{"delete n/configmap/a"}},
		{name: "without deleting it again", replace: plan.ReplaceAlways, there: []string{"deleted"}, limit: time.Second, took: time.Second, want: `
			retried create configmap/a: ` + waits(stays("deleted")) + "\n" + late("1s", "deleted")},
		{name: "and again if creating it fails for a reason that passes", replace: plan.ReplaceAlways,
			answers: []error{nil, nil, hiccup, hiccup}, is: "new",
			took: 2 * time.Second, want: `
			retried update configmap/a: ` + waits(hiccup.Error()) + `
			retried update configmap/a: deleted, and not created again yet: ` + hiccup.Error() + `
			acted create configmap/a succeeded
			settled update configmap/a succeeded (Current)`,
			wrote: []string{"delete n/configmap/a", "create n/configmap/a"}},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{
				Answers: map[object.Ref][]error{
					ref("ConfigMap/a"): tc.answers,
				}, Lingers: map[object.Ref]time.Duration{ref("ConfigMap/a"): tc.lingers},
			})
			there := thing("ConfigMap/a")
			there.SetFinalizers(tc.there)
			if len(tc.there) > 0 && tc.there[0] == "deleted" {
				there.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
			}
			step := update(w.put(there), "new")
			step.Want.SetFinalizers(nil)
			step.Replace = tc.replace
			if tc.recreate != "" {
				step.Recreate = update(there, tc.recreate).Want
			}
			o := w.judging()
			o.Limits.Delete = limit.OfFlag(tc.limit)
			began := time.Now()
			w.run(t.Context(), t, o, step)
			w.expect(t, tc.want)
			if took := time.Since(began); took != tc.took {
				t.Errorf("it took %s, want %s", took, tc.took)
			}
			expectWritten(t, w, tc.wrote...)
			if w.is("ConfigMap/a") != tc.is {
				t.Errorf("the object is %q, want %q", w.is("ConfigMap/a"), tc.is)
			}
			if created := w.Object(ref("ConfigMap/a")); len(tc.wrote) == 2 &&
				created.GetUID() == step.Have.GetUID() {
				t.Error("the object is still the same")
			}
		})
	}
}

// Where somebody else creates the object that was deleted to be recreated, the dialect is asked as
// for any that is there.
func TestReplacedBySomebodyElse(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		there := thing("ConfigMap/a")
		there.SetFinalizers([]string{"hold"})
		step := update(w.put(there), "new")
		step.Replace = plan.ReplaceAlways
		time.AfterFunc(time.Second, func() {
			other := thing("ConfigMap/a", "is=untouchable")
			other.SetUID("another")
			w.Put(other)
		})
		o := w.judging()
		w.decider = decisions{replan: rework}
		w.run(t.Context(), t, o, step)
		text := "deleted, but not created again: not as approved: ConfigMap \"a\" already exists; " +
			"apply again to create it"
		w.expectLast(t, "acted create configmap/a failed: "+text,
			"settled update configmap/a failed: "+text)
	})
}

// Where somebody else has changed the object that is to be deleted and recreated, the dialect is
// asked about it first, and only what it answers is done.
func TestReplacedAfterChange(t *testing.T) {
	const conflict = `not as approved: Operation cannot be fulfilled on ConfigMap "a": ` +
		"the object has been modified"
	for is, tc := range map[string]struct {
		op    plan.Op
		want  []string
		wrote []string
	}{
		"untouchable": {want: []string{
			"acted update configmap/a failed: " + conflict,
			"settled update configmap/a failed: " + conflict}},
		"as wanted": {op: plan.Unchanged, want: []string{
			"acted unchanged configmap/a succeeded",
			"settled update configmap/a succeeded (Current)"}},
		"foreign": {op: plan.Skip, want: []string{
			"acted skip configmap/a skipped: it is foreign",
			"settled update configmap/a skipped"}},
		"other": {op: plan.Update, want: []string{
			"acted update configmap/a succeeded",
			"settled update configmap/a succeeded (Current)"},
			wrote: []string{"replace n/configmap/a"}},
	} {
		each(t, is, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			step := update(w.put(thing("ConfigMap/a")), "new")
			step.Replace, step.Reason = plan.ReplaceAlways, "it is immutable"
			live := w.Object(ref("ConfigMap/a"))
			live.SetAnnotations(map[string]string{"is": is})
			w.Put(live)
			o := w.judging()
			w.decider = decisions{replan: func(
				step *plan.Step, live *unstructured.Unstructured, refused error,
			) (*plan.Step, error) {
				next, err := rework(step, live, refused)
				if err == nil && tc.op != plan.Update {
					next.Op, next.Replace, next.Reason = tc.op, "", ""
				}
				if tc.op == plan.Skip {
					next.Reason = "it is foreign"
				}
				return next, err
			}}
			w.run(t.Context(), t, o, step)
			w.expectLast(t, tc.want...)
			expectWritten(t, w, tc.wrote...)
		})
	}
}

// expectLast compares the last lines that were heard.
func (w *world) expectLast(t *testing.T, lines ...string) {
	t.Helper()
	got := w.lines[max(0, len(w.lines)-len(lines)):]
	if diff := cmp.Diff(lines, got); diff != "" {
		t.Errorf("last events (-want +got):\n%s", diff)
	}
}

func expectWritten(t *testing.T, w *world, want ...string) {
	t.Helper()
	if len(w.Wrote) != len(want) {
		t.Errorf("written %q, want %q", w.Wrote, want)
		return
	}
	for i := range want {
		if w.Wrote[i] != want[i] {
			t.Errorf("written %q, want %q", w.Wrote, want)
		}
	}
}

// amend marks what was stored, but for what is marked already.
func amend(_ *plan.Step, stored *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if stored.GetAnnotations()["is"] == "amended" {
		return nil, nil
	}
	next := stored.DeepCopy()
	next.SetAnnotations(map[string]string{"is": "amended"})
	return next, nil
}

func TestAmend(t *testing.T) {
	meddles := func(*plan.Step, *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		return nil, errors.New("cannot tell")
	}
	for _, tc := range []struct {
		name    string
		amend   func(*plan.Step, *unstructured.Unstructured) (*unstructured.Unstructured, error)
		answers []error // to the first write and to those after it
		marked  bool    // the first write is right
		want    string
		writes  int
		is      string
	}{
		{"a second write", amend, nil, false, `
			acted create deployment.apps/a succeeded
			waiting create deployment.apps/a (InProgress)
			settled create deployment.apps/a succeeded (Current)`, 2, "amended"},
		{"or none", amend, nil, true, `
			acted create deployment.apps/a succeeded
			waiting create deployment.apps/a (InProgress)
			settled create deployment.apps/a succeeded (Current)`, 1, "amended"},
		{"several if somebody changes the object", amend, []error{nil, conflict, conflict}, false, `
			acted create deployment.apps/a succeeded
			waiting create deployment.apps/a (InProgress)
			settled create deployment.apps/a succeeded (Current)`, 2, "amended"},
		{"one that is refused", amend, []error{nil, forbidden}, false, `
			acted create deployment.apps/a failed: ` + forbidden.Error() + `
			settled create deployment.apps/a failed: ` + forbidden.Error(), 1, ""},
		{"one that cannot be made", meddles, nil, false, `
			acted create deployment.apps/a failed: cannot tell
			settled create deployment.apps/a failed: cannot tell`, 1, ""},
	} {
		each(t, tc.name, func(t *testing.T) {
			name := ref("Deployment/a")
			w := newWorld(&enginetest.Cluster{
				Answers: map[object.Ref][]error{
					name: tc.answers,
				}, Script: map[object.Ref][]enginetest.Change{name: {phaseAfter(1, "ready")}},
			})
			step := create("Deployment/a")
			if tc.marked {
				step.Want = thing("Deployment/a", "is=amended")
			}
			o := w.judging()
			w.decider = decisions{amend: tc.amend}
			w.run(t.Context(), t, o, step)
			w.expect(t, tc.want)
			if w.is("Deployment/a") != tc.is || len(w.Sent) != tc.writes {
				t.Errorf(
					"the object is %q after %d writes, want %q after %d",
					w.is("Deployment/a"),
					len(w.Sent),
					tc.is,
					tc.writes,
				)
			}
		})
	}
}

// For a minute, but not for ever.
func TestAmendEnds(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Answers: map[object.Ref][]error{ref("ConfigMap/a"): {nil}}})
		for range 1000 {
			w.Answers[ref("ConfigMap/a")] = append(w.Answers[ref("ConfigMap/a")], conflict)
		}
		o := w.judging()
		w.decider = decisions{amend: amend}
		began := time.Now()
		summary := w.run(t.Context(), t, o, create("ConfigMap/a"))
		if took := time.Since(began); took < time.Minute || took > 70*time.Second ||
			summary.Failures() != 1 {
			t.Errorf("it took %s: %q", took, w.lines)
		}
	})
}

// What is seen of an object from between its two writes is not judged.
func TestObservationBetweenWrites(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Takes: time.Second, Script: map[object.Ref][]enginetest.Change{
			ref("Deployment/web"): {{After: 500 * time.Millisecond, Status: phase("ready")}},
			ref("Deployment/old"): {phaseAfter(9, "ready")},
		}})
		o := w.judging()
		w.decider = decisions{
			amend: func(step *plan.Step, stored *unstructured.Unstructured) (*unstructured.Unstructured,
				error) {
				if step.Ref != ref("Deployment/web") || stored.GetAnnotations()["is"] == "amended" {
					return nil, nil
				}
				next := stored.DeepCopy()
				next.SetAnnotations(map[string]string{"is": "amended"})
				return next, nil
			},
		}
		w.hear = func(e event.Event) {
			if e.Kind == event.Settled && e.Ref == ref("Deployment/web") &&
				w.is("Deployment/web") != "amended" {
				t.Error("it settled before the second write")
			}
		}
		w.run(t.Context(), t, o, create("Deployment/old"), create("Deployment/web"))
		if w.is("Deployment/web") != "amended" {
			t.Errorf("%q", w.lines)
		}
	})
}

// TestMembersOfRecreatedDefinition has custom resources whose definition the run deletes and
// creates again: they go with it, and are created again by the same run, changed or not.
func TestMembersOfRecreatedDefinition(t *testing.T) {
	for _, mode := range writeModes[:2] {
		for _, changed := range []string{"old", "new"} {
			each(t, mode.name+" "+changed, func(t *testing.T) {
				established, _ := definition().Object["status"].(map[string]any)
				w, rules := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{
					object.RefOf(definition()): {{After: time.Millisecond, Status: established}},
				}}), policy()
				rules.ServerSide, rules.Manager = mode.serverSide, "me"
				if _, err := w.apply(t.Context(), rules, realRun,
					want(definition(), thing("Widget/w", "is=old"))...); err != nil {
					t.Fatal(err)
				}
				if w.Object(ref("Widget/w")) == nil {
					t.Fatal(strings.Join(w.lines, "\n"))
				}
				before := w.Object(ref("Widget/w")).GetUID()
				rules.Replacement = func(obj *unstructured.Unstructured) (plan.Replacement, error) {
					if obj.GetKind() != "CustomResourceDefinition" {
						return "", nil
					}
					return plan.ReplaceAlways, nil
				}
				other := definition()
				other.SetAnnotations(map[string]string{"other": "yes"})
				summary, err := w.apply(t.Context(), rules, realRun,
					want(other, thing("Widget/w", "is="+changed))...)
				if err != nil || summary.Failures() > 0 {
					t.Fatalf("%+v, %v\n%s", summary, err, strings.Join(w.lines, "\n"))
				}
				after, text := w.Object(ref("Widget/w")), strings.Join(w.lines, "\n")
				if after == nil || after.GetUID() == before || w.is("Widget/w") != changed ||
					!strings.Contains(text, "customresourcedefinition") ||
					!strings.Contains(text, "deleted with") {
					t.Errorf("the member is %v:\n%s", after, text)
				}
				expectTracked(t, w)
			})
		}
	}
}
