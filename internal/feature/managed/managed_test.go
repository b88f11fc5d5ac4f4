package managed

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// server has Sets, and answers with an error if it has one.
type server struct {
	cluster.Writer
	sets  []*unstructured.Unstructured
	err   error
	lists []string // the namespaces that were listed
}

func (s *server) List(
	_ context.Context, _ schema.GroupKind, namespace string, _ map[string]string,
) ([]*unstructured.Unstructured, error) {
	s.lists = append(s.lists, namespace)
	return s.sets, s.err
}

// setOf returns a Set with a spec.
func setOf(name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": "n", "name": name}, "spec": spec,
	}}
}

// A Set has the record of its grammar and name, unless it is suspended.
func TestCheckOwner(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "sets"}, "", errors.New("no"))
	s := &server{sets: []*unstructured.Unstructured{
		setOf("shop", map[string]any{"mode": "Apply"}),
		setOf("web", map[string]any{"format": App, "app": map[string]any{"name": "store"}}),
		setOf("db", map[string]any{"format": App}),
		setOf("off", map[string]any{"suspend": true}),
		setOf("far", map[string]any{"cluster": map[string]any{
			"kubeconfigSecretRef": map[string]any{"name": "prod"},
		}}),
	}}
	for record, want := range map[Record]string{
		{Package, "n", "shop"}: "set/shop",
		{App, "n", "shop"}:     "",
		{App, "n", "store"}:    "set/web",
		{App, "n", "web"}:      "",
		{Package, "n", "web"}:  "",
		{App, "n", "db"}:       "set/db",
		{Package, "n", "off"}:  "",
		{Package, "n", "far"}:  "",
	} {
		unknown, err := CheckOwner(t.Context(), s, record)
		got, owned := "", (*OwnedError)(nil)
		if errors.As(err, &owned) {
			got = owned.Set.Title()
		}
		if got != want || unknown != nil || err != nil && owned == nil {
			t.Errorf("%v belongs to %q, want %q (%v, %v)", record, got, want, unknown, err)
		}
	}
	gone := apierrors.NewNotFound(schema.GroupResource{}, "")
	for _, test := range []struct {
		err             error
		unknown, failed bool
	}{
		{err: &cluster.UnknownKindError{GroupKind: Kind.GroupKind()}},
		{err: gone},
		{err: forbidden, unknown: true},
		{err: &cluster.UnknownKindError{Cause: errors.New("down")}, unknown: true},
		{err: errors.New("down"), failed: true},
	} {
		s.err = test.err
		unknown, err := CheckOwner(t.Context(), s, Record{Package, "n", "shop"})
		if (unknown != nil) != test.unknown || (err != nil) != test.failed {
			t.Errorf("a list that ends with %v: unknown %v, error %v", test.err, unknown, err)
		}
	}
	for _, namespace := range s.lists {
		if namespace != "n" {
			t.Errorf("listed the Sets in namespace %q", namespace)
		}
	}
}

// Only a status about the spec and the request counts.
func TestOutcome(t *testing.T) {
	for _, test := range []struct {
		name                 string
		condition            string
		observed             int64
		requested, handled   string
		suspend, planWaiting bool
		held                 bool
		want                 Outcome
	}{
		{"ready", "Ready", 2, "b", "b", false, false, false, Succeeded},
		{"stalled", "Stalled", 2, "b", "b", false, false, false, Stopped},
		{"still running", "Reconciling", 2, "b", "b", false, false, false, Pending},
		{"of an earlier spec", "Ready", 1, "b", "b", false, false, false, Pending},
		{"of an earlier request", "Ready", 2, "b", "a", false, false, false, Pending},
		{"of a later request", "Ready", 2, "c", "c", false, false, false, Succeeded},
		{"a later request is not handled", "Ready", 2, "c", "a", false, false, false, Pending},
		{"suspended", "Ready", 2, "b", "a", true, false, false, Idle},
		{"waits for an approval", "Reconciling", 2, "b", "b", false, true, false, Waiting},
		{"waits for a window", "Reconciling", 2, "b", "b", false, false, true, Held},
		{"waits for both", "Reconciling", 2, "b", "b", false, true, true, Waiting},
	} {
		s := Set{Generation: 2, Requested: test.requested}
		s.Spec.Suspend, s.Status.ObservedGeneration = test.suspend, test.observed
		s.Status.LastHandledReconcileAt = test.handled
		s.Status.Conditions = []metav1.Condition{{Type: test.condition, Status: metav1.ConditionTrue}}
		if test.held {
			s.Status.Conditions = append(s.Status.Conditions, metav1.Condition{
				Type: "Ready", Status: metav1.ConditionFalse, Reason: "WaitingForWindow",
			})
		}
		if test.planWaiting {
			s.Spec.Mode, s.Status.Plan = ModePlan, Plan{Digest: "sha256:1", State: PlanWaiting}
		}
		if got := s.Outcome("b"); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestParseName(t *testing.T) {
	for argument, want := range map[string]string{
		"shop": "shop", "set/shop": "shop", "sets/shop": "shop", "mset/shop": "shop",
		"sets.muster.dev/shop": "shop", "Set/shop": "shop",
		"": "", "set/": "", "deployment/shop": "", "set/a/b": "",
	} {
		got, err := ParseName(argument)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v", argument, got, err)
		}
	}
}

func TestIsName(t *testing.T) {
	for argument, want := range map[string][2]bool{
		"set/shop": {true, false}, "Sets/shop": {true, false}, "mset/shop": {true, false},
		"set.muster.dev/shop": {true, true}, "sets.muster.dev/shop": {true, true},
		"shop": {}, "set/": {}, "set/a/b": {}, "./set/shop": {}, "deployment/shop": {},
	} {
		if is, full := IsName(argument); is != want[0] || full != want[1] {
			t.Errorf("%q: got %v, %v", argument, is, full)
		}
	}
}

// The state is the word of the condition that counts, for the present spec.
func TestState(t *testing.T) {
	is := func(kind, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Message: message}
	}
	not := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Message: "why"}
	for _, test := range []struct {
		conditions    []metav1.Condition
		late, deleted bool
		want, reason  string
	}{
		{nil, false, false, StateUnknown, "the controller has not looked at it yet"},
		{[]metav1.Condition{is("Ready", "v1")}, false, false, StateReady, "v1"},
		{[]metav1.Condition{is("Ready", "v1"), is("Reconciling", "x")}, false, false, StateReady, "v1"},
		{[]metav1.Condition{not, is("Stalled", "x")}, false, false, StateStalled, "why"},
		{[]metav1.Condition{not, is("Reconciling", "x")}, false, false, StateReconciling, "x"},
		{[]metav1.Condition{not}, false, false, StateNotReady, "why"},
		{[]metav1.Condition{is("Ready", "v1")}, true, false, StateUnknown,
			"the controller has not seen its last change yet"},
		{[]metav1.Condition{is("Ready", "v1")}, true, true, StateTerminating, ""},
	} {
		s := Set{Generation: 2, Deleted: test.deleted}
		if s.Status.ObservedGeneration = 2; test.late {
			s.Status.ObservedGeneration = 1
		}
		s.Status.Conditions = test.conditions
		if state, reason := s.State(); state != test.want || reason != test.reason {
			t.Errorf("%v: got %q, %q, want %q, %q", test.conditions, state, reason, test.want, test.reason)
		}
	}
}

// watched is a server whose watches report what a test says.
type watched struct {
	set, events func(cluster.ObjectEvent)
	fails       error // of the list of Events
}

func (w *watched) Watch(_ context.Context, _ []object.Ref, handle func(cluster.ObjectEvent)) {
	w.set = handle
}

func (w *watched) WatchQuery(_ context.Context, _ cluster.Query, h func(cluster.ObjectEvent)) {
	w.events = h
	if w.fails == nil {
		h(eventOf("old", "1"))
	}
	h(cluster.ObjectEvent{Listed: true, Err: w.fails})
}

// eventOf returns the state of an Event.
func eventOf(name, version string) cluster.ObjectEvent {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": name, "resourceVersion": version}, "reason": name + version,
	}}
	return cluster.ObjectEvent{Ref: object.Ref{Kind: "Event", Name: name}, Object: obj}
}

// Only Events are reported that come after the beginning, each once, however often they are listed.
func TestWatchEvents(t *testing.T) {
	server, set := &watched{}, &Set{Namespace: "n", Name: "shop", UID: "1"}
	w, unseen := NewWatch(t.Context(), server, set)
	if unseen != nil {
		t.Fatal(unseen)
	}
	go func() { // it ends with the last event, which ends the wait
		for _, e := range []cluster.ObjectEvent{
			eventOf("old", "1"), eventOf("new", "2"), eventOf("new", "2"), eventOf("old", "3"),
			{Ref: object.Ref{Kind: "Event", Name: "new"}}, eventOf("last", "4"),
		} {
			server.events(e)
		}
	}()
	var got []string
	ctx, stop := context.WithCancel(t.Context())
	_, outcome, gone, err := w.Wait(ctx, "v", Seen{Event: func(h Happening) {
		if got = append(got, h.Reason); h.Reason == "last4" {
			stop()
		}
	}})
	if want := []string{"new2", "old3", "last4"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if outcome != Pending || gone || !errors.Is(err, context.Canceled) {
		t.Errorf("the wait ended with %v, %v, %v", outcome, gone, err)
	}
	if _, unseen = NewWatch(t.Context(), &watched{fails: errors.New("no")}, set); unseen == nil {
		t.Error("Events that may not be read are not reported")
	}
}
