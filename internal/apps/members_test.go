package apps

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// deployNative runs a native deployment, which must succeed.
func (w *world) deployNative(r DeployRequest) {
	w.t.Helper()
	if _, err := w.run(w.t.Context(), w.prepare(r), realRun); err != nil {
		w.t.Fatal(err)
	}
}

// observed returns the objects whose status is shown, those that are gone last.
func (w *world) observed() string {
	w.t.Helper()
	o, err := w.PrepareObserve(w.t.Context(),
		ObserveRequest{App: Name{Name: "web", Namespace: "demo"}})
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
		return w.nativeRequest(configMap("a", "1"), configMap("b", "1"))
	}
	for name, c := range map[string]struct {
		first func(*world) DeployRequest
		then  func(*world) DeployRequest
		want  string
	}{
		"deleted by somebody": {both, nil, "configmap/a, configmap/b is gone"},
		"not described any more": {both, func(w *world) DeployRequest {
			return w.nativeRequest(configMap("a", "1"))
		}, "configmap/a"},
		"left out by a filter": {both, func(w *world) DeployRequest {
			r := w.nativeRequest(configMap("a", "2"), configMap("b", "1"))
			r.Filter.Names = []string{"a"}
			return r
		}, "configmap/a, configmap/b is gone"},
		"not pruned": {both, func(w *world) DeployRequest {
			r := w.nativeRequest(configMap("a", "2"))
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
	w.deployNative(w.nativeRequest(configMap("a", "1"), configMap("b", "1"), secretS))
	w.cluster.Remove(configMapRef("b"))
	w.cluster.Unlistable = map[schema.GroupKind][]string{secretKind: {enginetest.Everywhere}}
	w.cluster.Unreadable = map[object.Ref]error{
		{Kind: "Secret", Namespace: "demo", Name: "s"}: errTest,
	}
	check(t, "secrets may not be read", w.observed(), "configmap/a, configmap/b is gone")

	w = newWorld(t)
	w.deployNative(w.nativeRequest(distant, secretS, secretT))
	w.cluster.Unlistable = map[schema.GroupKind][]string{secretKind: {"other"}}
	w.deployNative(w.nativeRequest(distant, secretS))
	check(t, "one was pruned", w.observed(), "configmap/o, secret/s")
}

// The members cost a request only if one of them is not found by the label of the app.
func TestRequestsForMembers(t *testing.T) {
	w := newWorld(t)
	w.deployNative(w.nativeRequest(configMap("a", "1"), configMap("b", "1")))
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
	w.deployNative(w.nativeRequest(configMap("a", "1")))
	if unproven := w.prepare(w.nativeRequest(configMap("a", "1"))).Plan().Unproven; unproven != nil {
		t.Errorf("after a success: %v", unproven)
	}
	records, _ := w.prepare(w.nativeRequest(configMap("a", "2"))).runRecord()
	intent := &record.State{Members: []record.Member{{Ref: configMapRef("a")}}}
	if err := records.Save(t.Context(), intent); err != nil {
		t.Fatal(err)
	}
	unproven := w.prepare(w.nativeRequest(configMap("a", "1"))).Plan().Unproven
	if len(unproven) != 1 {
		t.Errorf("after a killed run: %v", unproven)
	}
}

// It is said once that the members are too many to be listed.
func TestTooManyMembers(t *testing.T) {
	w := newWorld(t)
	w.deployNative(w.nativeRequest(configMap("a", "1")))
	w.output()
	r, target, state := &Run{Client: w.Client, plan: &plan.Plan{}}, w.find(), &record.State{}
	for i := range 60_000 {
		ref := object.Ref{Kind: "ConfigMap", Name: fmt.Sprint(i)}
		state.Members = append(state.Members, record.Member{Ref: ref})
	}
	records := &runRecord{
		begin:  func(context.Context) error { return nil },
		finish: func(context.Context, *record.State) error { return nil },
		list:   func(s *record.State) { r.listMembers(target, s) },
	}
	for _, result := range []record.Result{"", record.RunSucceeded} {
		state.Result = result
		if err := records.Save(t.Context(), state); err != nil {
			t.Fatal(err)
		}
	}
	if n := strings.Count(w.output(), "too many"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}
