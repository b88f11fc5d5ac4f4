package reconcile

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// now is the time of the tests.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// ended returns the state after a run with an outcome for the key "a".
func ended(out muster.Outcome) *state {
	return &state{key: "a", last: &run.Outcome{
		Task: run.Deploy, Ended: now.Add(-time.Minute), Result: &muster.Result{Outcome: out},
	}}
}

// windows returns a window of half an hour in UTC.
func windows(cron string) []v1alpha1.Window {
	return []v1alpha1.Window{{Cron: cron, Duration: metav1.Duration{Duration: 30 * time.Minute}}}
}

func TestDecide(t *testing.T) {
	dirty := ended(muster.Succeeded)
	dirty.touch(now.Add(-time.Second), false)
	fresh := ended(muster.Succeeded)
	fresh.touch(now, false)
	failed := ended(muster.Failed)
	failed.retryAt = now.Add(3 * time.Second)
	due := ended(muster.Failed)
	due.retryAt = now.Add(-time.Second)
	old := ended(muster.Succeeded)
	old.last.Ended = now.Add(-2 * time.Hour)
	look := ended(muster.Failed)
	look.last.Task, look.retryAt = run.Look, now.Add(-time.Second)
	other := ended(muster.Succeeded)
	other.stale = true
	never := &metav1.Duration{}
	held := ended(muster.Succeeded)
	held.held = true
	touched := ended(muster.Succeeded)
	touched.held = true
	touched.touch(now.Add(-time.Second), false)
	closed, open := windows("0 4 * * *"), windows("0 3 * * *") // it is 3:04:05
	soon := windows("5 3 * * *")
	for _, test := range []struct {
		name string
		spec v1alpha1.SetSpec
		s    *state
		key  string
		want decision
	}{
		{"new", v1alpha1.SetSpec{}, &state{}, "a", decision{task: run.Deploy}},
		{"another revision", v1alpha1.SetSpec{}, ended(muster.Succeeded), "b",
			decision{task: run.Deploy}},
		{"another revision after a failure", v1alpha1.SetSpec{}, failed, "b",
			decision{task: run.Deploy}},
		{"unchanged", v1alpha1.SetSpec{}, ended(muster.Succeeded), "a",
			decision{after: 59 * time.Minute}},
		{"unchanged without interval", v1alpha1.SetSpec{Interval: never}, ended(muster.Succeeded), "a",
			decision{}},
		{"failed", v1alpha1.SetSpec{}, failed, "a", decision{after: 3 * time.Second}},
		{"to be repeated", v1alpha1.SetSpec{}, due, "a", decision{task: run.Deploy}},
		{"a comparison to be repeated", v1alpha1.SetSpec{Drift: v1alpha1.DriftReport}, look, "a",
			decision{task: run.Look}},
		{"a comparison with another revision", v1alpha1.SetSpec{Drift: v1alpha1.DriftReport}, other,
			"a", decision{task: run.Deploy}},
		{"interval is over", v1alpha1.SetSpec{}, old, "a", decision{task: run.Deploy, quiet: true}},
		{"changed object", v1alpha1.SetSpec{}, dirty, "a", decision{task: run.Deploy, quiet: true}},
		{"changed a moment ago", v1alpha1.SetSpec{}, fresh, "a", decision{after: settleTime}},
		{"changed object to report", v1alpha1.SetSpec{Drift: v1alpha1.DriftReport}, dirty, "a",
			decision{task: run.Look, quiet: true}},
		{"changed object to ignore", v1alpha1.SetSpec{Drift: v1alpha1.DriftIgnore}, dirty, "a",
			decision{}},
		{"new to observe", v1alpha1.SetSpec{Mode: v1alpha1.ModeObserve}, &state{}, "a",
			decision{task: run.Look}},
		{"new in a window", v1alpha1.SetSpec{Windows: open}, &state{}, "a",
			decision{task: run.Deploy}},
		{"new outside", v1alpha1.SetSpec{Windows: closed}, &state{}, "a", decision{task: run.Deploy}},
		{"held", v1alpha1.SetSpec{Windows: closed}, held, "a",
			decision{after: 59 * time.Minute, opens: time.Minute}},
		{"held until soon", v1alpha1.SetSpec{Windows: soon}, held, "a",
			decision{after: 59 * time.Minute, opens: 55 * time.Second}},
		{"held until the window opens", v1alpha1.SetSpec{Windows: open}, held, "a",
			decision{task: run.Deploy}},
		{"held when the windows are removed", v1alpha1.SetSpec{}, held, "a",
			decision{task: run.Deploy}},
		{"held with a changed object", v1alpha1.SetSpec{Windows: closed}, touched, "a",
			decision{task: run.Deploy, quiet: true}},
		{"held with a changed object to report",
			v1alpha1.SetSpec{Windows: closed, Drift: v1alpha1.DriftReport}, touched, "a",
			decision{task: run.Deploy, quiet: true}},
		{"held with a changed object to ignore",
			v1alpha1.SetSpec{Windows: closed, Drift: v1alpha1.DriftIgnore}, touched, "a",
			decision{opens: time.Minute}},
		{"changed object outside", v1alpha1.SetSpec{Windows: closed}, dirty, "a",
			decision{task: run.Deploy, quiet: true}},
		{"observed", v1alpha1.SetSpec{Mode: v1alpha1.ModeObserve}, dirty, "a",
			decision{task: run.Look, quiet: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := decide(&v1alpha1.Set{Spec: test.spec}, test.s, test.key, now)
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// A controller that is started again does not put back what is only to be reported.
func TestStartedAgain(t *testing.T) {
	set := &v1alpha1.Set{Spec: v1alpha1.SetSpec{Drift: v1alpha1.DriftReport}}
	set.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "True"}}
	s := &state{}
	if got, want := decide(set, s, "a", now), (decision{task: run.Look, quiet: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	set.Status.Conditions[0].Status = "False"
	if got, want := decide(set, s, "a", now), (decision{task: run.Deploy}); got != want {
		t.Errorf("not ready: got %+v, want %+v", got, want)
	}
	set.Status.Revision = v1alpha1.RevisionStatus{Attempted: "1", Applied: "1"}
	for _, reason := range comparisonReasons {
		set.Status.Conditions[0].Reason = reason
		want := decision{task: run.Look, quiet: true}
		if got := decide(set, s, "a", now); got != want {
			t.Errorf("%s: got %+v, want %+v", reason, got, want)
		}
	}
	set.Status.Revision.Attempted = "2"
	if got, want := decide(set, s, "a", now), (decision{task: run.Deploy}); got != want {
		t.Errorf("another revision was tried: got %+v, want %+v", got, want)
	}
}

// What others changed is not put back because of a source that has another version: it may have the
// same content.
func TestAnotherVersion(t *testing.T) {
	set := &v1alpha1.Set{Spec: v1alpha1.SetSpec{Drift: v1alpha1.DriftReport}}
	set.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "True"}}
	before, s := keyOf(set, "1"), ended(muster.Succeeded)
	s.key = before
	for _, test := range []struct {
		name string
		spec func(*v1alpha1.SetSpec)
		key  string
		want decision
	}{
		{"of the source", func(*v1alpha1.SetSpec) {}, keyOf(set, "2"),
			decision{task: run.Look, quiet: true}},
		{"of what is put back", func(s *v1alpha1.SetSpec) { s.Drift = v1alpha1.DriftCorrect },
			keyOf(set, "2"), decision{task: run.Deploy}},
		{"of the Set", func(*v1alpha1.SetSpec) {},
			keyOf(&v1alpha1.Set{ObjectMeta: metav1.ObjectMeta{Generation: 1}}, "1"),
			decision{task: run.Deploy}},
	} {
		of := set.DeepCopy()
		test.spec(&of.Spec)
		if got := decide(of, s, test.key, now); got != test.want {
			t.Errorf("%s: got %+v, want %+v", test.name, got, test.want)
		}
	}
	s.stale = true
	if got, want := decide(set, s, keyOf(set, "2"), now), (decision{task: run.Deploy}); got != want {
		t.Errorf("another content: got %+v, want %+v", got, want)
	}
}

func TestBackoff(t *testing.T) {
	set := &v1alpha1.Set{}
	for failures, want := range map[int32]time.Duration{
		1: 5 * time.Second, 2: 10 * time.Second, 4: 40 * time.Second, 60: 10 * time.Minute,
	} {
		if got := backoff(set, failures); got != want {
			t.Errorf("after %d failures: %s, want %s", failures, got, want)
		}
	}
}

// A field that somebody else writes again and again is corrected at once, then more and more
// seldom.
func TestFights(t *testing.T) {
	s := ended(muster.Succeeded)
	var pauses []time.Duration
	for range 4 {
		s.fights++
		s.fought = now
		s.dirty = false
		s.touch(now, false)
		pauses = append(pauses, s.notUntil.Sub(now))
	}
	want := []time.Duration{settleTime, time.Second, 2 * time.Second, 4 * time.Second}
	for i := range want {
		if pauses[i] != want[i] {
			t.Errorf("pauses %v, want %v", pauses, want)
		}
	}
}

// Writes that look like the last ones are looked at more and more seldom as long as nothing is
// found, and all others at once.
func TestIdle(t *testing.T) {
	s := ended(muster.Succeeded)
	s.touched = now
	var pauses []time.Duration
	for range 4 {
		s.idle++
		s.dirty = false
		s.touch(now, true)
		pauses = append(pauses, s.notUntil.Sub(now))
	}
	want := []time.Duration{settleTime, 2 * settleTime, 4 * settleTime, 8 * settleTime}
	if !slices.Equal(pauses, want) {
		t.Errorf("pauses %v, want %v", pauses, want)
	}
	s.touch(now, true)
	if got := s.notUntil.Sub(now); got != 8*settleTime {
		t.Errorf("another write of the same: in %v, want no change", got)
	}
	s.touch(now, false)
	if got := s.notUntil.Sub(now); got != settleTime {
		t.Errorf("a write of something else: in %v, want %v", got, settleTime)
	}
}

func TestStale(t *testing.T) {
	broken := errors.New("broken")
	for _, test := range []struct {
		name string
		mode v1alpha1.Mode
		out  run.Outcome
		want bool
	}{
		{"as applied", "", run.Outcome{Task: run.Look, Revision: "1"}, false},
		{"another revision", "", run.Outcome{Task: run.Look, Revision: "2"}, true},
		{"another cluster", "", run.Outcome{Task: run.Look, Revision: "1", Absent: true}, true},
		{"not compared", "", run.Outcome{Task: run.Look, Revision: "2", Err: broken}, false},
		{"deployed", "", run.Outcome{Task: run.Deploy, Revision: "2"}, false},
		{"observed", v1alpha1.ModeObserve, run.Outcome{Task: run.Look, Revision: "2"}, false},
	} {
		set := &v1alpha1.Set{Spec: v1alpha1.SetSpec{Mode: test.mode}}
		set.Status.Revision.Applied = "1"
		if got := stale(set, &test.out); got != test.want {
			t.Errorf("%s: got %v", test.name, got)
		}
	}
}
