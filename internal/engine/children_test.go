package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// pod is a pod that carries the labels of a Deployment's pods, in a phase.
func pod(of, name, in string) *unstructured.Unstructured {
	obj := thing("Pod/" + name)
	obj.SetLabels(map[string]string{"app": "x", "of": of})
	obj.Object["status"] = phase(in)
	return obj
}

// withPods returns options for runs by rules that see the pods of Deployments.
func (w *world) withPods(labels map[string]string) engine.Options {
	w.rules = phases{true, labels}
	return engine.Options{DryRun: engine.DryRunNone, NoCauses: true}
}

// What was made for an object is printed with it, from all that there is on, and only what was made
// for it.
func TestMade(t *testing.T) {
	each(t, "", func(t *testing.T) {
		makes := func(second int, obj *unstructured.Unstructured) enginetest.Change {
			return enginetest.Change{After: time.Duration(second) * time.Second, Makes: obj}
		}
		w := newWorld(
			&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{ref("Deployment/web"): {
				makes(
					1,
					pod("web", "c", "pending"),
				), makes(2, pod("other", "z", "pending")), makes(3, pod("web", "c", "pending")),
				makes(
					4,
					pod("web", "c", "running"),
				), makes(5, pod("other", "a", "running")), phaseAfter(6, "ready"),
			}}},
		)
		w.Put(pod("web", "a", "running"))
		w.Put(pod("web", "b", "running"))
		w.run(t.Context(), t, w.withPods(nil), create("Deployment/web"))
		w.expect(t, `
			acted create deployment.apps/web succeeded
			waiting create deployment.apps/web (InProgress)
			observed create deployment.apps/web [pod/a running] [pod/b running] (InProgress)
			observed create deployment.apps/web [pod/a running] [pod/b running] [pod/c pending] (InProgress)
			observed create deployment.apps/web [pod/a running] [pod/b running] [pod/c running] (InProgress)
			observed create deployment.apps/web [pod/b running] [pod/c running] (InProgress)
			settled create deployment.apps/web succeeded [pod/b running] [pod/c running] (Current)`)
		if len(w.Queries) != 1 || w.Queries[0].Labels != "of=web" || w.Queries[0].Namespace != "n" {
			t.Errorf("surveys: %+v", w.Queries)
		}
	})
}

// A few objects have surveys of their own; many share one, of what their labels have in common, and
// none has two.
func TestSurveysOfWhatWasMadeAreShared(t *testing.T) {
	for _, tc := range []struct {
		number int
		common map[string]string
		want   string
	}{
		{3, map[string]string{"app": "x"}, "app=x,of=d0|app=x,of=d1|app=x,of=d2"},
		{30, map[string]string{"app": "x"}, "app=x"},
		{30, nil, ""},
	} {
		each(t, fmt.Sprint(tc.number, tc.common), func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Script: map[object.Ref][]enginetest.Change{}})
			var steps []plan.Step
			for i := range tc.number {
				name := fmt.Sprintf("d%d", i)
				w.Put(pod(name, name+"-a", "running"))
				w.Script[ref("Deployment/"+name)] = []enginetest.Change{
					{After: time.Second, Makes: pod(name, name+"-b", "running")},
					phaseAfter(2, "ready"),
				}
				steps = append(steps, create("Deployment/"+name))
			}
			o := w.withPods(tc.common)
			o.Concurrency = 1 // in order
			if summary := w.run(t.Context(), t, o, steps...); summary.Failures() > 0 {
				t.Errorf("%+v", summary)
			}
			var surveys []string
			for _, s := range w.Queries {
				surveys = append(surveys, s.Labels)
			}
			if got := strings.Join(surveys, "|"); got != tc.want {
				t.Errorf("surveys %s, want %s", got, tc.want)
			}
			for i := range tc.number {
				want := fmt.Sprintf(
					"settled create deployment.apps/d%d succeeded [pod/d%d-a running] [pod/d%d-b running] "+
						"(Current)",
					i,
					i,
					i,
				)
				if !strings.Contains(strings.Join(w.lines, "\n"), want) {
					t.Errorf("no %q", want)
				}
			}
		})
	}
}

// Rules and the search for causes share a watch that covers what both need; a watch for other
// objects of the kind and namespace is not shared.
func TestRulesAndCausesShareWatches(t *testing.T) {
	for _, tc := range []struct {
		name   string
		labels map[string]string // of the child objects, beside "of", by the rules
		by     string            // the label in the selector of the Deployments
		others []string
		want   string
	}{
		{"equal labels", nil, "of", nil,
			"Pod of=web, ReplicaSet.apps of in (web), Event type=Warning"},
		{"labels that only the rules know", map[string]string{"app": "x"}, "run", nil,
			"Pod app=x,of=web, ReplicaSet.apps run in (web), Event type=Warning"},
		{"many objects", map[string]string{"app": "x"}, "of", []string{"a", "b", "c", "d"},
			"Pod app=x, ReplicaSet.apps of in (a,b,c,d,web), Event type=Warning"},
	} {
		each(t, tc.name, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Logs: map[object.Ref][]string{ref("Pod/p"): {"one", "two"}}})
			o := w.withPods(tc.labels)
			o.NoCauses, o.LogLines, o.Limits.Apply = false, 1, limit.After(10*time.Second)
			var steps []plan.Step
			for _, name := range append(tc.others, "web") {
				step := create("Deployment/" + name)
				step.Want.Object["spec"] = map[string]any{
					"selector": map[string]any{"matchLabels": map[string]any{tc.by: name}},
				}
				steps = append(steps, step)
			}
			time.AfterFunc(100*time.Millisecond, func() {
				put := func(obj *unstructured.Unstructured) {
					obj.SetLabels(map[string]string{"app": "x", "of": "web", "run": "web"})
					w.Put(obj)
				}
				put(w.child("Deployment/web", "ReplicaSet/web", nil))
				put(w.child("ReplicaSet/web", "Pod/p", quits))
			})
			w.run(t.Context(), t, o, steps...)
			var got []string
			for _, q := range w.Queries {
				got = append(got, q.Kind.String()+" "+q.Labels+q.Fields)
			}
			if got := strings.Join(got, ", "); got != tc.want {
				t.Errorf("watches %s, want %s", got, tc.want)
			}
			lines := strings.Join(w.lines, "\n")
			for _, line := range []string{
				"observed create deployment.apps/web [pod/p Pending] (InProgress)",
				"explained create deployment.apps/web: container c crashes: it ended with exit code 1 [two]",
			} {
				if !strings.Contains(lines, line) {
					t.Errorf("no %q in\n%s", line, lines)
				}
			}
		})
	}
}

// Objects of which the rules need no child objects do not make the watch for others wider.
func TestCommonLabelsOfFewParents(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		o := w.withPods(nil)
		o.Limits.Apply = limit.After(time.Second)
		w.rules = labelled{}
		var steps []plan.Step
		for i := range 6 {
			steps = append(steps, create(fmt.Sprintf("Deployment/d%d", i)))
		}
		steps[3].Want.SetLabels(map[string]string{"label": "x"})
		w.run(t.Context(), t, o, steps...)
		if len(w.Queries) != 1 || w.Queries[0].Labels != "of=d" {
			t.Errorf("watches: %+v", w.Queries)
		}
	})
}
