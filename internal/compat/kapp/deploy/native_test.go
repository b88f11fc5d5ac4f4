package deploy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// native returns a native operation that deploys an app, with its plan.
func (w *world) native(r DeployRequest) (*app.Set, *operation.Operation) {
	w.t.Helper()
	set, err := w.OpenSet(w.t.Context(), r.set())
	if err != nil {
		w.t.Fatal(err)
	}
	files, err := (&Deployment{Set: set, req: r}).readFiles(w.t.Context())
	if err == nil {
		err = set.Describe(w.t.Context(), files)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	format := operation.Format{
		Format: policy.Format{Shape: set.Shape, Owners: set.Owners, Config: set.Config()},
		Record: set, Rules: set.Rules(nil),
	}
	op, err := format.Prepare(w.cluster, set.Desired(), nil, policy.Options{
		AppAnnotations: true, NoPrune: r.Patch, Filter: r.Filter, Now: w.now,
	})
	if err == nil {
		err = op.MakePlan(w.t.Context())
	}
	if err == nil {
		err = set.SetPlan(w.t.Context(), op.Plan())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return set, op
}

// deployNative deploys an app natively, which must succeed.
func (w *world) deployNative(r DeployRequest) {
	w.t.Helper()
	set, op := w.native(r)
	options := engine.Options{DryRun: engine.DryRunNone, NoCauses: true}
	summary, err := op.Run(w.t.Context(), options, func(event.Event) {})
	if err = set.Finish(w.t.Context(), err); err != nil || summary.Failures() > 0 {
		w.t.Fatalf("%d failures, %v", summary.Failures(), err)
	}
}

// requests returns how many requests of each kind the cluster has received.
func (w *world) requests() string {
	return fmt.Sprintf("%d reads, %d lists, %d writes, %d stored", len(w.cluster.Asked),
		len(w.cluster.Selections), len(w.cluster.Sent), len(w.cluster.Wrote))
}

// forget clears what the cluster has received.
func (w *world) forget() {
	w.cluster.Asked, w.cluster.Selections, w.cluster.Sent, w.cluster.Wrote = nil, nil, nil, nil
}

// observed returns the objects whose status is shown, those that are gone last.
func (w *world) observed() string {
	w.t.Helper()
	o, err := w.PrepareObserve(w.t.Context(),
		app.ObserveRequest{App: app.Name{Name: "web", Namespace: "demo"}})
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, ref := range o.Refs {
		names = append(names, ref.Short())
	}
	for _, ref := range o.Gone {
		names = append(names, ref.Short()+" is gone")
	}
	return strings.Join(names, ", ")
}

const (
	secretS = "{apiVersion: v1, kind: Secret, metadata: {name: s}}"
	secretT = "{apiVersion: v1, kind: Secret, metadata: {name: t}}"
	distant = "{apiVersion: v1, kind: ConfigMap, metadata: {name: o, namespace: other}}"
)

// The record of an app lists what the app has: also what somebody has deleted, and no longer what a
// run has found to be none of it.
func TestGoneMembers(t *testing.T) {
	both := func(w *world) DeployRequest {
		return w.request(configMap("a", "1"), configMap("b", "1"))
	}
	for name, c := range map[string]struct {
		first func(*world) DeployRequest
		then  func(*world) DeployRequest
		want  string
	}{
		"deleted by somebody": {both, nil, "configmap/a, configmap/b is gone"},
		"not described any more": {both, func(w *world) DeployRequest {
			return w.request(configMap("a", "1"))
		}, "configmap/a"},
		"left out by a filter": {both, func(w *world) DeployRequest {
			r := w.request(configMap("a", "2"), configMap("b", "1"))
			r.Filter.Names = []string{"a"}
			return r
		}, "configmap/a, configmap/b is gone"},
		"not pruned": {both, func(w *world) DeployRequest {
			r := w.request(configMap("a", "2"))
			r.Patch = true
			return r
		}, "configmap/a, configmap/b is gone"},
		"created again": {both, both, "configmap/a, configmap/b"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deployNative(c.first(w))
			w.cluster.Remove(configMapRef("b"))
			if c.then != nil {
				w.deployNative(c.then(w))
			}
			check(t, name, w.observed(), c.want)
		})
	}
}

// Members of kinds that cannot be listed are kept and not called gone, but for those that a run has
// deleted.
func TestHiddenMembers(t *testing.T) {
	w := newWorld(t)
	w.deployNative(w.request(configMap("a", "1"), configMap("b", "1"), secretS))
	w.cluster.Remove(configMapRef("b"))
	w.cluster.Unlistable = map[schema.GroupKind][]string{secretKind: {enginetest.Everywhere}}
	w.cluster.Unreadable = map[object.Ref]error{
		{Kind: "Secret", Namespace: "demo", Name: "s"}: errTest,
	}
	check(t, "secrets may not be read", w.observed(), "configmap/a, configmap/b is gone")

	w = newWorld(t)
	w.deployNative(w.request(distant, secretS, secretT))
	w.cluster.Unlistable = map[schema.GroupKind][]string{secretKind: {"other"}}
	w.deployNative(w.request(distant, secretS))
	check(t, "one was pruned", w.observed(), "configmap/o, secret/s")
}

// The members cost a request only if one of them is not found by the label of the app.
func TestRequestsForMembers(t *testing.T) {
	w := newWorld(t)
	w.deployNative(w.request(configMap("a", "1"), configMap("b", "1")))
	for _, want := range []string{"2 reads, 1 lists", "3 reads, 1 lists"} {
		w.forget()
		w.observed()
		if sent := fmt.Sprint(w.requests()); !strings.HasPrefix(sent, want) {
			t.Errorf("sent %s, want %s", sent, want)
		}
		w.cluster.Remove(configMapRef("b"))
	}
}

// A run that was killed has proved nothing: what it was to write may not be ready.
func TestUnprovenAfterKill(t *testing.T) {
	w := newWorld(t)
	w.deployNative(w.request(configMap("a", "1")))
	_, op := w.native(w.request(configMap("a", "1")))
	if unproven := op.Plan().Unproven; unproven != nil {
		t.Errorf("after a success: %v", unproven)
	}
	set, _ := w.native(w.request(configMap("a", "2")))
	intent := &record.State{Members: []record.Member{{Ref: configMapRef("a")}}}
	if err := set.Save(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	_, op = w.native(w.request(configMap("a", "1")))
	if unproven := op.Plan().Unproven; len(unproven) != 1 {
		t.Errorf("after a killed run: %v", unproven)
	}
}

// It is said once that the members are too many to be listed.
func TestTooManyMembers(t *testing.T) {
	w := newWorld(t)
	w.deployNative(w.request(configMap("a", "1")))
	w.output()
	set, _ := w.native(w.request(configMap("a", "2")))
	state := &record.State{}
	for i := range 60_000 {
		ref := object.Ref{Kind: "ConfigMap", Name: fmt.Sprint(i)}
		state.Members = append(state.Members, record.Member{Ref: ref})
	}
	for _, result := range []record.Result{"", record.RunSucceeded} {
		state.Result = result
		if err := set.Save(t.Context(), state); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(w.output(), "too many"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}

// The record names the kind and the namespace of an object whose deletion is not waited for, as
// long as it exists.
func TestDeployNamesLeaving(t *testing.T) {
	for finalizers, kept := range map[string]bool{"[example.com/hold]": true, "[]": false} {
		w := newWorld(t)
		w.deploy(configMap("a", "1"), "{apiVersion: v1, kind: Secret, metadata: {name: s, "+
			"namespace: other, finalizers: "+finalizers+"}}")
		set, op := w.native(w.request(configMap("a", "1")))
		for i := range op.Plan().Steps {
			op.Plan().Steps[i].Wait = false
		}
		options := engine.Options{DryRun: engine.DryRunNone, NoCauses: true}
		_, err := op.Run(t.Context(), options, func(event.Event) {})
		checkError(t, set.Finish(t.Context(), err), "")
		meta := w.find().Meta
		if slices.Contains(*meta.UsedGKs, secretKind) != kept {
			t.Errorf("finalizers %s: kinds %v", finalizers, *meta.UsedGKs)
		}
		namespaces := strings.Join(meta.LastDeployment.Namespaces, " ")
		if strings.Contains(namespaces, "other") != kept {
			t.Errorf("finalizers %s: namespaces %s", finalizers, namespaces)
		}
	}
}

// An unchanged run writes nothing, no record either.
func TestNativeUnchanged(t *testing.T) {
	w := newWorld(t)
	w.deployNative(w.request(configMap("a", "1"), configMap("b", "1")))
	w.forget()
	_, op := w.native(w.request(configMap("a", "1"), configMap("b", "1")))
	for _, step := range op.Plan().Steps {
		if step.Op != plan.Unchanged {
			t.Errorf("%s %s", step.Op, step.Ref)
		}
	}
	w.deployNative(w.request(configMap("a", "1"), configMap("b", "1")))
	check(t, "writes", strings.Join(w.cluster.Wrote, " "), "")
}

// The objects of a status are those that were deployed.
func TestPrepareObserve(t *testing.T) {
	w := newWorld(t)
	request := app.ObserveRequest{App: app.Name{Name: "web", Namespace: "demo"}}
	_, err := w.PrepareObserve(t.Context(), request)
	checkError(t, err, "App 'web' (namespace: demo) does not exist")
	w.deploy(configMap("a", "1"), configMap("b", "1"))
	key, value, _ := w.find().Label()
	pod := parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: demo}}")
	pod.SetLabels(map[string]string{key: value})
	_ = unstructured.SetNestedSlice(pod.Object, []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1", "controller": true,
	}}, "metadata", "ownerReferences")
	w.cluster.Put(pod)
	o, err := w.PrepareObserve(t.Context(), request)
	checkError(t, err, "")
	check(t, "refs", fmt.Sprint(o.Refs),
		fmt.Sprint([]object.Ref{configMapRef("a"), configMapRef("b")}))
	check(t, "app", o.App.Name, "web")
}
