// Package packagestest makes plans of packages for tests of what prints them.
package packagestest

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/packages"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// Outlooks returns the desired objects of an archive, and the outlook of a plan for them. The
// sections are desired.yaml, live.yaml and recorded.yaml (objects of which only the identity
// counts), server-side if the server merges, and conflict: a line of Kind/name and a field over
// which the server finds a conflict.
func Outlooks(
	t *testing.T, files map[string]string,
) (desired []manifest.Object, outlooks []view.Outlook) {
	t.Helper()
	_, serverSide := files["server-side"]
	desired = manifestsOf(t, "desired.yaml", files["desired.yaml"])
	eng := fakeEngine(t, files)
	p := planOf(t, eng, desired, serverSide)
	mode := engine.DryRunClient
	if serverSide {
		mode = engine.DryRunServer
	}
	outlooks, err := view.Outlooks(p, nil, func(sink event.Sink) error {
		_, err := eng.Apply(t.Context(), p, engine.Options{DryRun: mode}, sink)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return desired, outlooks
}

func manifestsOf(t *testing.T, name, text string) []manifest.Object {
	t.Helper()
	objects, err := manifest.Read(t.Context(), strings.NewReader(text), name,
		manifest.Options{Foreign: manifest.KeepForeign, KeepServerMetadata: true}) // of live objects
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// fakeEngine returns an engine whose cluster and record are as the sections of an archive say.
func fakeEngine(t *testing.T, files map[string]string) *engine.Engine {
	t.Helper()
	c := &enginetest.Cluster{Fails: map[object.Ref]error{}}
	for _, obj := range manifestsOf(t, "live.yaml", files["live.yaml"]) {
		c.Put(obj.Unstructured)
	}
	store := &enginetest.Store{Cluster: c}
	for _, obj := range manifestsOf(t, "recorded.yaml", files["recorded.yaml"]) {
		store.State.Members = append(
			store.State.Members, record.Member{Ref: object.RefOf(obj.Unstructured)},
		)
	}
	for line := range strings.Lines(files["conflict"]) {
		words := strings.Fields(line)
		kind, name, _ := strings.Cut(words[0], "/")
		c.Fails[object.Ref{Kind: kind, Namespace: "default", Name: name}] = apierrors.NewApplyConflict(
			[]metav1.StatusCause{{
				Type: metav1.CauseTypeFieldManagerConflict, Message: `conflict with "someone"`, Field: words[1],
			}},
			`Apply failed with 1 conflict: conflict with "someone": `+words[1],
		)
	}
	return &engine.Engine{Cluster: c, Records: store}
}

func planOf(
	t *testing.T, eng *engine.Engine, objects []manifest.Object, serverSide bool,
) *plan.Plan {
	t.Helper()
	inv := &inventory.Inventory{ID: "me", Ref: object.Ref{Namespace: "default"}}
	shaped, err := packages.Format(nil, inv, nil, false).Policy(plan.AdoptNone)
	if err != nil {
		t.Fatal(err)
	}
	shaped.ServerSide, shaped.Manager = serverSide, policy.DefaultManager
	var desired []plan.Desired
	for _, obj := range objects {
		desired = append(desired, plan.Desired{Object: obj.Unstructured, Source: obj.Origin.String()})
	}
	p, err := eng.Plan(t.Context(), engine.Request{Desired: desired, Policy: shaped})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Steps returns a plan of a line for each step: the operation, kind.group/name, "unawaited" if
// nothing waits for the object and, behind a #, the source.
func Steps(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p := &plan.Plan{}
	for line := range strings.Lines(text) {
		description, source, _ := strings.Cut(strings.TrimSpace(line), " # ")
		op, name, _ := strings.Cut(description, " ")
		name, unawaited := strings.CutSuffix(name, " unawaited")
		step := plan.Step{Op: plan.Op(op), Source: source, Wait: !unawaited}
		if name != "" {
			kind, name, _ := strings.Cut(name, "/")
			kind, group, _ := strings.Cut(kind, ".")
			step.Ref = object.Ref{Group: group, Kind: kind, Name: name}
		}
		p.Steps = append(p.Steps, step)
	}
	return p
}

// Event returns the event of a plan in a line of JSON. An object that was seen is a minute old and
// has a condition.
func Event(t *testing.T, p *plan.Plan, line string, now time.Time) event.Event {
	t.Helper()
	var e event.Event
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	e.Ref = p.Steps[e.Step].Ref
	if e.Status.State != "" {
		e.Facts = &ready.Facts{
			Created:    now.Add(-time.Minute),
			Conditions: []ready.Condition{{Type: "Available", Status: "False", Reason: "Few"}},
		}
	}
	return e
}
