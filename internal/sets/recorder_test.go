package sets

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/policy"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// recorded returns an operation on a set with a Secret whose run emits events.
func recorded(destroys bool, events ...event.Event) *Operation {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"metadata":   map[string]any{"name": "a", "namespace": "shop"},
		"data":       map[string]any{"key": "aHVudGVyMg=="},
		"stringData": map[string]any{"pin": "4711", "short": "x"},
	}}
	op := emitting(&plan.Plan{Destroys: destroys}, events...)
	op.Manifests = []plan.Desired{{Object: obj, Source: "a.yaml"}}
	op.Basis.Rules = []policy.RuleFile{{Name: "rules.yaml", Text: "rules: []"}}
	return op
}

func TestRecorder(t *testing.T) {
	deployment := object.Ref{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	acted := func(op plan.Op, outcome event.Outcome) event.Event {
		return event.Event{Kind: event.Acted, Op: op, Ref: deployment, Outcome: outcome}
	}
	settled := func(outcome event.Outcome, err error) event.Event {
		return event.Event{Kind: event.Settled, Ref: deployment, Outcome: outcome, Err: err}
	}
	causes := event.Event{
		Kind: event.Observed, Ref: deployment, Causes: []ready.Cause{{Message: "ImagePullBackOff\nmore"}},
	}
	created := history.Change{Op: "created", Kind: "Deployment", Count: 1}
	for _, tc := range []struct {
		name     string
		events   []event.Event
		err      error
		destroys bool
		options  HistoryOptions
		want     *history.Meta // nil for none
		objects  int
		refused  bool
	}{
		{name: "unchanged", objects: 1, want: &history.Meta{Outcome: history.Succeeded},
			events: []event.Event{acted(plan.Unchanged, event.Succeeded),
				settled(event.Succeeded, nil)}},
		{name: "unchanged and not ready",
			events: []event.Event{acted(plan.Unchanged, event.Succeeded),
				settled(event.TimedOut, nil)}},
		{name: "refused", refused: true, events: []event.Event{acted(plan.Skip, event.Skipped),
			acted(plan.Update, event.Skipped), settled(event.Skipped, nil)}},
		{name: "created", objects: 1,
			events: []event.Event{acted(plan.Create, event.Succeeded), settled(event.Succeeded, nil)},
			want:   &history.Meta{Outcome: history.Succeeded, Changes: []history.Change{created}}},
		{name: "not ready", objects: 1,
			events: []event.Event{acted(plan.Create, event.Succeeded), causes,
				settled(event.TimedOut, nil)},
			want: &history.Meta{Outcome: history.Failed, Changes: []history.Change{created},
				Failures: []string{"deployment.apps/web: ImagePullBackOff"}}},
		{name: "refused by the server", objects: 1,
			events: []event.Event{acted(plan.Update, event.Failed),
				settled(event.Failed, errors.New("invalid: "+strings.Repeat("x", 400)))},
			want: &history.Meta{Outcome: history.Failed, Failures: []string{"deployment.apps/web"}}},
		{name: "interrupted", objects: 1,
			events: []event.Event{acted(plan.Create, event.Succeeded),
				settled(event.Interrupted, nil)},
			want: &history.Meta{Outcome: history.Interrupted, Changes: []history.Change{created}}},
		{name: "record not saved", objects: 1, err: errors.New("no"),
			events: []event.Event{acted(plan.Create, event.Succeeded), settled(event.Succeeded, nil)},
			want:   &history.Meta{Outcome: history.Failed, Changes: []history.Change{created}}},
		{name: "off", options: HistoryOptions{Limit: -1},
			events: []event.Event{acted(plan.Create, event.Succeeded), settled(event.Succeeded, nil)}},
		{name: "destroyed in part", destroys: true,
			events: []event.Event{acted(plan.Delete, event.Succeeded), settled(event.TimedOut, nil)},
			want: &history.Meta{Outcome: history.Failed, Failures: []string{"deployment.apps/web"},
				Changes: []history.Change{{Op: "pruned", Kind: "Deployment", Count: 1}}}},
		{name: "destroyed", destroys: true, options: HistoryOptions{Keep: true},
			events: []event.Event{acted(plan.Delete, event.Succeeded), settled(event.Succeeded, nil)},
			want: &history.Meta{Outcome: history.Succeeded,
				Changes: []history.Change{{Op: "pruned", Kind: "Deployment", Count: 1}}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := &enginetest.Cluster{}
			o := tc.options
			o.Limit = max(0, o.Limit+1)
			o.Describe = func(context.Context) history.Meta { return history.Meta{Message: "why"} }
			now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
			o.Now = func() time.Time { now = now.Add(time.Second); return now }
			op := recorded(tc.destroys)
			op.work = emitter{events: tc.events, err: tc.err}
			r := NewRecorder(server, op, o)
			passed := 0
			summary, err := r.Run(t.Context(), realRun, func(event.Event) { passed++ })
			if err != tc.err || passed != len(tc.events) {
				t.Errorf("run: %d events, %v", passed, err)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel() // of an interrupted run
			if err := r.Record(ended, err == nil && !tc.refused && summary.Failures() == 0); err != nil {
				t.Fatal(err)
			}
			heads, err := (&history.Store{Cluster: server, Set: historySet}).List(t.Context())
			if tc.want == nil {
				if len(heads) > 0 || err != nil || len(server.Sent) > 0 {
					t.Errorf("revisions: %v, %v", heads, err)
				}
				return
			}
			if err != nil || len(heads) != 1 {
				t.Fatalf("revisions: %v, %v", heads, err)
			}
			got := heads[0].Meta
			for i, text := range got.Failures {
				if len(text) > maxFailureText+4 {
					t.Errorf("a failure has %d bytes", len(text))
				}
				if name, _, _ := strings.Cut(text, ": invalid"); name != text {
					got.Failures[i] = name
				}
			}
			want := *tc.want
			want.Number, want.Message, want.Objects, want.Duration = 1, "why", tc.objects, 1
			ignored := cmpopts.IgnoreFields(history.Meta{}, "Time", "Content", "Parts")
			if diff := cmp.Diff(want, got, ignored, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("revision (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRecorderKnown: a run that changes nothing leaves a revision only if the newest one does not
// describe the set as the run has found it.
func TestRecorderKnown(t *testing.T) {
	server := &enginetest.Cluster{}
	number := func(unseen bool, partial string, o HistoryOptions) int {
		t.Helper()
		o.Limit, o.Now = 9, time.Now
		o.Describe = func(context.Context) history.Meta { return history.Meta{} }
		op := recorded(false,
			event.Event{Kind: event.Acted, Op: plan.Unchanged, Outcome: event.Succeeded})
		op.Basis.Partial = partial
		r := NewRecorder(server, op, o)
		r.unseen = unseen
		_, err := r.Run(t.Context(), realRun, func(event.Event) {})
		if err := errors.Join(err, r.Record(t.Context(), true)); err != nil {
			t.Fatal(err)
		}
		return r.Revision().Number
	}
	for i, test := range []struct {
		name    string
		unseen  bool
		partial string
		options HistoryOptions
		want    int // number of the new revision; 0 is none
	}{
		{name: "no history", unseen: true, want: 1},
		{name: "again", unseen: true},
		{name: "it has waited", want: 2},
		{name: "again, and not waited", unseen: true},
		{name: "again, and waited"},
		{name: "a part", partial: "why"},
		{name: "the whole"},
		{name: "without data of Secrets", options: HistoryOptions{Secrets: history.NoData}},
	} {
		if got := number(test.unseen, test.partial, test.options); got != test.want {
			t.Errorf("%d, %s: revision %d, want %d", i, test.name, got, test.want)
		}
	}
}

// A run that found everything as desired writes a revision if the files describe other objects than
// the last good one, once.
func TestRecorderOfOtherFiles(t *testing.T) {
	server := &enginetest.Cluster{}
	store := &history.Store{Cluster: server, Set: historySet, Limit: 9}
	good := history.Meta{Outcome: history.Succeeded}
	objects := []history.Object{{Unstructured: configMap("flags", map[string]any{"a": "1"})}}
	_, err := store.Write(t.Context(), history.Revision{Meta: good, Objects: objects})
	if err != nil {
		t.Fatal(err)
	}
	unchanged := event.Event{Kind: event.Acted, Op: plan.Unchanged, Outcome: event.Succeeded}
	record := func(done bool) int {
		t.Helper()
		op := recorded(false, unchanged)
		r := NewRecorder(server, op, HistoryOptions{Limit: 9, Now: time.Now,
			Describe: func(context.Context) history.Meta { return history.Meta{} }})
		if _, err := r.Run(t.Context(), realRun, func(event.Event) {}); err != nil {
			t.Fatal(err)
		}
		if err := r.Record(t.Context(), done); err != nil {
			t.Fatal(err)
		}
		heads, err := store.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return len(heads)
	}
	for i, step := range []struct {
		done bool
		want int
	}{{false, 1}, {true, 2}, {true, 2}} {
		if got := record(step.done); got != step.want {
			t.Errorf("run %d: %d revisions, want %d", i+1, got, step.want)
		}
	}
}

// A set that was destroyed leaves no history, and errors name missing permissions.
func TestRecorderDestroys(t *testing.T) {
	server := &enginetest.Cluster{}
	store := &history.Store{Cluster: server, Set: historySet, Limit: 9}
	if _, err := store.Write(t.Context(), history.Revision{}); err != nil {
		t.Fatal(err)
	}
	o := HistoryOptions{Limit: 1, Now: time.Now,
		Describe: func(context.Context) history.Meta { return history.Meta{} }}
	record := func(o HistoryOptions, mode engine.DryRun) error {
		t.Helper()
		gone := event.Event{Kind: event.Acted, Op: plan.Delete, Outcome: event.Succeeded}
		op := recorded(true, gone)
		r := NewRecorder(server, op, o)
		_, kept := r.Run(t.Context(), engine.Options{DryRun: mode}, func(event.Event) {})
		if kept != nil {
			return kept
		}
		return r.Record(t.Context(), true)
	}
	if err := record(o, engine.DryRunClient); err != nil || server.Refs().Len() != 1 {
		t.Errorf("dry run: %d Secrets, %v", server.Refs().Len(), err)
	}
	if err := record(o, engine.DryRunNone); err != nil || server.Refs().Len() != 0 {
		t.Errorf("%d Secrets are left, %v", server.Refs().Len(), err)
	}
	secrets := schema.GroupKind{Kind: "Secret"}
	server.ListFails = map[schema.GroupKind]error{secrets: apierrors.NewForbidden(
		schema.GroupResource{Resource: "secrets"}, "", errors.New(
			`User "ann" cannot list resource "secrets" in API group "" in the namespace "shop"`))}
	err := record(o, engine.DryRunNone)
	const want = "delete secrets in namespace shop; " +
		"--history-limit=0 keeps no history"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("without permissions: %v", err)
	}
	server.ListFails[secrets] = &apierrors.StatusError{ErrStatus: metav1.Status{
		Reason: metav1.StatusReasonNotFound, Code: 404,
	}}
	if err := record(o, engine.DryRunNone); err != nil {
		t.Errorf("without a namespace: %v", err)
	}
	if err := record(HistoryOptions{Now: time.Now}, engine.DryRunNone); err != nil {
		t.Errorf("without a history: %v", err)
	}
	server.ListFails[secrets] = errors.New("etcd is away")
	err = record(o, engine.DryRunNone)
	if err == nil || !strings.HasPrefix(err.Error(), "delete the history first: ") {
		t.Errorf("the record goes before its history: %v", err)
	}
}

// A run that may not write any more leaves the history to the run that has taken over.
func TestRecorderWithoutLock(t *testing.T) {
	server := &enginetest.Cluster{}
	store := &history.Store{Cluster: server, Set: historySet, Limit: 9}
	if _, err := store.Write(t.Context(), history.Revision{}); err != nil {
		t.Fatal(err)
	}
	r := NewRecorder(server, recorded(true),
		HistoryOptions{Limit: 1, Now: time.Now})
	lost := errors.New("the lock is lost")
	ctx := cluster.Guard(t.Context(), func(context.Context) error { return lost })
	if _, err := r.Run(ctx, realRun, func(event.Event) {}); !errors.Is(err, lost) {
		t.Errorf("run: %v", err)
	}
	if server.Refs().Len() != 1 {
		t.Errorf("%d Secrets are left", server.Refs().Len())
	}
}

// A revision of a run that failed has evidence without values of Secrets, and all have the rules.
func TestRecorderEvidence(t *testing.T) {
	server := &enginetest.Cluster{}
	web := object.Ref{Group: "apps", Kind: "Deployment", Namespace: "shop", Name: "web"}
	pod := object.Ref{Kind: "Pod", Namespace: "shop", Name: "web-1"}
	op := recorded(false, []event.Event{
		{Kind: event.Acted, Op: plan.Create, Ref: web, Outcome: event.Succeeded},
		{Kind: event.Explained, Ref: web, Causes: []ready.Cause{{
			Object: pod, Count: 2, Message: "CrashLoopBackOff", Container: "app",
			Log: []string{"login with hunter2 or aHVudGVyMg==, x", "pin 4711\x1b"},
		}}},
		{Kind: event.Settled, Ref: web, Outcome: event.TimedOut,
			Status: ready.Status{Message: "0 of 2 pods"}},
	}...)
	op.Basis.Partial = "why"
	r := NewRecorder(server, op, HistoryOptions{
		Limit: 1, Now: time.Now, Describe: func(context.Context) history.Meta { return history.Meta{} },
	})
	if _, err := r.Run(t.Context(), realRun, func(event.Event) {}); err != nil {
		t.Fatal(err)
	}
	if err := r.Record(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	found, err := (&history.Store{Cluster: server, Set: historySet}).Read(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	want := []history.Evidence{{Object: web, State: "0 of 2 pods", Causes: []history.Cause{{
		Object: pod, Count: 2, Message: "CrashLoopBackOff", Container: "app",
		Log: []string{"login with *** or ***, x", "pin ***\uFFFD"},
	}}}}
	if diff := cmp.Diff(want, found.Evidence); diff != "" {
		t.Errorf("evidence (-want +got):\n%s", diff)
	}
	if found.Partial != "why" || len(found.Rules) != 1 || found.Rules[0].Text != "rules: []" {
		t.Errorf("partial %q, rules %v", found.Partial, found.Rules)
	}
}

// TestFailedAfterReplacement has an object that was deleted and could not be created again: the run
// has changed the cluster, although no write succeeded.
func TestFailedAfterReplacement(t *testing.T) {
	for _, want := range []bool{true, false} {
		o := emitting(&plan.Plan{Steps: []plan.Step{{Op: plan.Update}}},
			event.Event{Kind: event.Acted, Op: plan.Update, Outcome: event.Failed, NotRecreated: want},
			event.Event{Kind: event.Settled, Op: plan.Update, Outcome: event.Failed})
		r := NewRecorder(nil, o, HistoryOptions{Now: time.Now})
		if _, err := r.Run(t.Context(), realRun, func(event.Event) {}); err != nil {
			t.Fatal(err)
		}
		if got := r.FailedAfterChanges(); got != want {
			t.Errorf("the run has changed objects: %t, want %t", got, want)
		}
	}
}
