package engine_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// recreating is the policy that creates objects again that are being deleted.
func recreating() plan.Policy {
	p := policy()
	p.RecreateDeleted, p.Manager = true, "me"
	return p
}

// leave lets somebody delete an object, which a finalizer holds for some time; zero is for ever.
func (w *world) leave(t *testing.T, name string, lasts time.Duration) {
	t.Helper()
	obj := w.Object(ref(name))
	obj.SetFinalizers([]string{"hold"})
	w.Put(obj)
	if w.Lingers == nil {
		w.Lingers = map[object.Ref]time.Duration{}
	}
	w.Lingers[ref(name)] = lasts
	if _, err := w.Delete(t.Context(), cluster.Delete{Ref: ref(name)}); err != nil {
		t.Error(err)
	}
	w.Wrote = nil
}

const heldBy = "it is being deleted and waits for its finalizers: hold"

// An object that is being deleted is created once it is gone, before what depends on it. If that
// takes too long, it fails, and what depends on it is skipped.
func TestRecreateDeleted(t *testing.T) {
	const waits = "retried create configmap/held: " + heldBy + ": " + heldBy
	const late = "failed: not created: the object with its name is not gone after 1m0s: " + heldBy +
		"; find out what delays its deletion, and apply again"
	for _, tc := range []struct {
		name       string
		serverSide bool
		lasts      time.Duration
		limit      engine.Limits
		want       string
		wrote      []string
		took       time.Duration
	}{
		{name: "once it is gone", lasts: time.Minute, took: time.Minute, want: waits + `
			acted create configmap/held succeeded
			settled create configmap/held succeeded (Current)
			acted create service/dependent succeeded
			settled create service/dependent succeeded (Current)`,
			wrote: []string{"save record", "create n/configmap/held", "create n/service/dependent",
				"save record"}},
		{name: "by server-side apply", serverSide: true, lasts: time.Minute, took: time.Minute,
			want: waits + `
			acted create configmap/held succeeded
			settled create configmap/held succeeded (Current)
			acted create service/dependent succeeded
			settled create service/dependent succeeded (Current)`,
			wrote: []string{"save record", "apply n/configmap/held", "apply n/service/dependent",
				"save record"}},
		{name: "unless it stays too long", limit: engine.Limits{Apply: limit.After(time.Minute)},
			took: time.Minute, want: waits + `
			acted create configmap/held ` + late + `
			settled create configmap/held ` + late + `
			acted create service/dependent skipped
			settled create service/dependent skipped`,
			wrote: []string{"save record", "save record"}},
		{name: "or nothing makes progress", limit: engine.Limits{Stall: limit.After(time.Minute)},
			took: time.Minute, want: waits + `
			acted create configmap/held ` + late + `
			settled create configmap/held ` + late + `
			acted create service/dependent skipped
			settled create service/dependent skipped`,
			wrote: []string{"save record", "save record"}},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			rules := recreating()
			rules.ServerSide = tc.serverSide
			if _, err := w.apply(t.Context(), rules, realRun,
				want(thing("ConfigMap/held"))...); err != nil {
				t.Fatal(err)
			}
			w.lines = nil
			w.leave(t, "ConfigMap/held", tc.lasts)
			before := w.Object(ref("ConfigMap/held")).GetUID()
			began := time.Now()
			summary, err := w.apply(t.Context(), rules, engine.Options{DryRun: engine.DryRunNone,
				Limits: tc.limit},
				want(thing("ConfigMap/held"), thing("Service/dependent", "after=ConfigMap/held"))...)
			if err != nil {
				t.Fatal(err)
			}
			w.expect(t, tc.want)
			if took := time.Since(began).Truncate(time.Second); took != tc.took {
				t.Errorf("it took %s, want %s", took, tc.took)
			}
			expectWritten(t, w, tc.wrote...)
			expectTracked(t, w)
			if same := w.Object(ref("ConfigMap/held")).GetUID() == before; same != (tc.lasts == 0) {
				t.Errorf("it is the same object: %t; %+v", same, summary)
			}
		})
	}
}

// An object whose deletion begins after the plan was made is created again, too: one that is
// updated, one that is unchanged, and one that was to be created.
func TestRecreateDeletedSince(t *testing.T) {
	for _, tc := range []struct {
		name   string
		before string // annotation of the object; empty: there is none
		want   []string
	}{
		{"updated", "is=old", []string{"update configmap/first", "create service/held"}},
		{"unchanged", "is=new", []string{"update configmap/first", "create service/held"}},
		{"created", "", []string{"update configmap/first", "create service/held"}},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			objects := want(thing("ConfigMap/first", "is=old"))
			if tc.before != "" {
				objects = append(objects, want(thing("Service/held", tc.before, "after=ConfigMap/first"))...)
			}
			if _, err := w.apply(t.Context(), recreating(), realRun, objects...); err != nil {
				t.Fatal(err)
			}
			var acted []string
			w.hear = func(e event.Event) {
				if e.Kind != event.Acted {
					return
				}
				acted = append(acted, string(e.Op)+" "+e.Ref.Short())
				if e.Ref == ref("ConfigMap/first") {
					if tc.before == "" { // of the same set, by another run
						w.Put(thing("Service/held", "owner=me"))
					}
					w.leave(t, "Service/held", time.Minute)
				}
			}
			summary, err := w.apply(t.Context(), recreating(), realRun,
				want(thing("ConfigMap/first", "is=new"),
					thing("Service/held", "is=new", "after=ConfigMap/first"))...)
			if err != nil || summary.Failures() > 0 {
				t.Fatalf("%+v, %v:\n%s", summary, err, strings.Join(w.lines, "\n"))
			}
			if got := strings.Join(acted, ", "); got != strings.Join(tc.want, ", ") {
				t.Errorf("acted %s, want %s", got, tc.want)
			}
			if w.is("Service/held") != "new" || w.Object(ref("Service/held")).GetDeletionTimestamp() != nil {
				t.Errorf("the object is %v", w.Object(ref("Service/held")))
			}
			expectTracked(t, w)
		})
	}
}

// A namespace that is being deleted is created first, before the record that it holds, and then
// what is in it.
func TestRecreateDeletedNamespace(t *testing.T) {
	for _, holdsRecord := range []bool{false, true} {
		each(t, "", func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			rules := recreating()
			if holdsRecord {
				rules.RecordNamespace = ref("Namespace/n")
			}
			objects := want(thing("Namespace/n"), thing("ConfigMap/a"))
			if _, err := w.apply(t.Context(), rules, realRun, objects...); err != nil {
				t.Fatal(err)
			}
			w.leave(t, "Namespace/n", time.Minute)
			w.lines = nil
			time.AfterFunc(time.Second, func() { w.Remove(ref("ConfigMap/a")) }) // as its controller does
			summary, err := w.apply(t.Context(), rules, realRun, objects...)
			if err != nil || summary.Failures() > 0 {
				t.Fatalf("%+v, %v", summary, err)
			}
			w.expect(t, `
				retried create namespace/n: `+heldBy+": "+heldBy+`
				acted create namespace/n succeeded
				settled create namespace/n succeeded (Current)
				acted create configmap/a succeeded
				settled create configmap/a succeeded (Current)`)
			writes := []string{"save record", "create namespace/n", "create n/configmap/a", "save record"}
			if holdsRecord {
				writes[0], writes[1] = writes[1], writes[0]
			}
			expectWritten(t, w, writes...)
		})
	}
}

// The wait for the namespace of the record ends with the run, and with its limit.
func TestRecreateDeletedRecordNamespaceLate(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		each(t, "", func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			rules := recreating()
			rules.RecordNamespace = ref("Namespace/n")
			w.Put(thing("Namespace/n", "owner=me"))
			w.leave(t, "Namespace/n", 0)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if interrupted {
				w.hear = func(event.Event) { cancel() }
			}
			_, err := w.apply(ctx, rules, within(time.Minute),
				want(thing("Namespace/n"))...)
			late := (*engine.StillThereError)(nil)
			if errors.As(err, &late) == interrupted || errors.Is(err, context.Canceled) != interrupted {
				t.Errorf("interrupted: %t: %v", interrupted, err)
			}
			expectWritten(t, w)
		})
	}
}

// Nothing is planned in a namespace that is being deleted and that the set does not create again.
func TestNamespaceLeaving(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		w.Put(thing("Namespace/n"))
		w.leave(t, "Namespace/n", 0)
		_, err := w.apply(t.Context(), recreating(), realRun,
			want(thing("ConfigMap/a"), thing("ConfigMap/b"))...)
		leaving := (*engine.NamespaceLeavingError)(nil)
		if !errors.As(err, &leaving) || leaving.Namespace != "n" || len(leaving.Objects) != 2 {
			t.Errorf("error = %v", err)
		}
		w.Unreadable = map[object.Ref]error{ref("Namespace/n"): forbidden} // it is found out later
		if _, err := w.apply(t.Context(), recreating(), realRun,
			want(thing("ConfigMap/a"))...); err != nil {
			t.Error(err)
		}
	})
}

// An interrupt, or the death of the process, at any moment leaves nothing untracked.
func TestRecreateDeletedInterrupted(t *testing.T) {
	for _, dies := range []bool{false, true} {
		eachMoment(t, 3, func(t *testing.T, moment int) bool {
			w := newWorld(&enginetest.Cluster{})
			adopted := thing("ConfigMap/adopted")
			w.Put(adopted)
			w.Put(thing("ConfigMap/held", "owner=me"))
			w.leave(t, "ConfigMap/held", time.Minute)
			w.leave(t, "ConfigMap/adopted", time.Minute)
			rules := recreating()
			rules.Owner.Adoption = plan.AdoptUnowned
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w.hear = func(event.Event) {
				if len(w.lines) == moment {
					if dies {
						w.Kill()
					}
					cancel()
				}
			}
			desired := want(thing("ConfigMap/held"), thing("ConfigMap/adopted"))
			_, _ = w.apply(ctx, rules, realRun, desired...)
			came := ctx.Err() != nil
			expectTracked(t, w)
			w.Revive()
			w.hear = nil
			summary, err := w.apply(t.Context(), rules, realRun, desired...)
			if err != nil || summary.Failures() > 0 || w.ours().Len() != 2 {
				t.Errorf("running again: %+v, %v, %v", summary, err, w.ours())
			}
			expectTracked(t, w)
			return came
		})
	}
}

// A dry run of a creation that has to wait changes nothing and says why it waits.
func TestRecreateDeletedDryRun(t *testing.T) {
	for _, mode := range []engine.DryRun{engine.DryRunClient, engine.DryRunServer} {
		for _, serverSide := range []bool{false, true} {
			each(t, string(mode), func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				w.Put(thing("ConfigMap/held", "owner=me"))
				w.leave(t, "ConfigMap/held", 0)
				rules := recreating()
				rules.ServerSide = serverSide
				if _, err := w.apply(t.Context(), rules,
					engine.Options{DryRun: mode, TryCreations: 10},
					want(thing("ConfigMap/held"))...); err != nil {
					t.Fatal(err)
				}
				w.expect(t, `
					acted create configmap/held succeeded: when the object that is being deleted is gone
					settled create configmap/held succeeded`)
				expectWritten(t, w)
			})
		}
	}
}

// What does not depend on an object that is not gone yet is written meanwhile, whatever its rank:
// it may be the controller that removes the finalizer.
func TestRecreateDeletedMeanwhile(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		w.Put(thing("ConfigMap/held", "owner=me"))
		w.leave(t, "ConfigMap/held", 0)
		w.hear = func(e event.Event) {
			if e.Kind == event.Acted && e.Ref == ref("Service/controller") {
				time.AfterFunc(time.Second, func() { w.Remove(ref("ConfigMap/held")) })
			}
		}
		summary, err := w.apply(t.Context(), recreating(),
			within(time.Minute),
			want(thing("ConfigMap/held"), thing("Service/controller"))...)
		if err != nil || summary.Failures() > 0 {
			t.Errorf("%+v, %v", summary, err)
		}
		expectWritten(t, w, "save record", "create n/service/controller", "create n/configmap/held",
			"save record")
	})
}
