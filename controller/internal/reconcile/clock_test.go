package reconcile

import (
	"testing"
	"time"
	"unsafe"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// jumped returns a time that the system gives after its clock was set to another time: time itself,
// which its monotonic part counts, has not passed.
func jumped(t *testing.T, at time.Time, by time.Duration) time.Time {
	t.Helper()
	after := at
	wall := (*uint64)(unsafe.Pointer(&after)) // seconds above the 30 bits of nanoseconds
	*wall += uint64(int64(by/time.Second)) << 30
	if after.Sub(at) != 0 || after.Round(0).Sub(at.Round(0)) != by {
		t.Fatalf("a time of this version of Go cannot be set: %s, %s", at, after)
	}
	return after
}

// jumps are what a clock may be set forward and back.
var jumps = []time.Duration{-5 * time.Hour, -time.Second, time.Minute, 5 * time.Hour}

// at returns the state after a run that has ended at a time.
func at(ended time.Time, out muster.Outcome) *state {
	return &state{key: "a", last: &run.Outcome{
		Task: run.Deploy, Ended: ended, Result: &muster.Result{Outcome: out},
	}}
}

// TestClockIsSet: what is repeated, compared or looked at later is so after the same pause,
// whatever the clock says meanwhile.
func TestClockIsSet(t *testing.T) {
	set, begun := &v1alpha1.Set{}, time.Now()
	failed, changed := at(begun, muster.Failed), at(begun, muster.Succeeded)
	rest := at(begun, muster.Succeeded)
	failed.retryAt = begun.Add(backoff(set, 1))
	changed.touch(begun, false)
	for _, by := range jumps {
		for _, test := range []struct {
			name  string
			s     *state
			pause time.Duration
			then  decision
		}{
			{"a run that failed", failed, defaultFirst, decision{task: run.Deploy}},
			{"a changed object", changed, settleTime, decision{task: run.Deploy, quiet: true}},
			{"the interval", rest, defaultInterval, decision{task: run.Deploy, quiet: true}},
		} {
			early := jumped(t, begun.Add(test.pause-time.Millisecond), by)
			want := decision{after: time.Millisecond}
			if got := decide(set, test.s, "a", early); got != want {
				t.Errorf("%s, clock set by %s: got %+v, want %+v", test.name, by, got, want)
			}
			late := jumped(t, begun.Add(test.pause), by)
			if got := decide(set, test.s, "a", late); got != test.then {
				t.Errorf("%s, clock set by %s: got %+v, want %+v", test.name, by, got, test.then)
			}
		}
	}
}

// TestClockIsSetInFight: pauses between corrections become neither shorter nor longer.
func TestClockIsSetInFight(t *testing.T) {
	begun := time.Now()
	for _, by := range jumps {
		s := at(begun, muster.Succeeded)
		s.fights, s.fought = 3, begun
		s.touch(jumped(t, begun, by), false)
		if pause := s.notUntil.Sub(begun); s.fights != 3 || pause != 2*correctFirst {
			t.Errorf("clock set by %s: %d corrections, pause %s", by, s.fights, pause)
		}
	}
}

// TestClockIsSetWhileHeld: windows open by the clock. A Set that waits for one looks at it every
// minute, so that it misses none however far that was.
func TestClockIsSetWhileHeld(t *testing.T) {
	begun := time.Now()
	opens := begun.UTC().Add(5 * time.Hour)
	set := &v1alpha1.Set{Spec: v1alpha1.SetSpec{Interval: &metav1.Duration{}}}
	set.Spec.Windows = windows(opens.Format("4 15 * * *"))
	s := ended(muster.Succeeded)
	s.held = true
	for _, test := range []struct {
		by   time.Duration
		want decision
	}{
		{0, decision{opens: windowLook}},
		{-5 * time.Hour, decision{opens: windowLook}},
		{-48 * time.Hour, decision{opens: windowLook}},
		{5 * time.Hour, decision{task: run.Deploy}},
		{29 * time.Hour, decision{task: run.Deploy}},
		{6 * time.Hour, decision{opens: windowLook}},
	} {
		if got := decide(set, s, "a", jumped(t, begun, test.by)); got != test.want {
			t.Errorf("clock set by %s: got %+v, want %+v", test.by, got, test.want)
		}
	}
}

// TestPollCountsTime: a registry is asked after the same pause, whatever the clock says.
func TestPollCountsTime(t *testing.T) {
	set := &v1alpha1.Set{}
	set.Spec.Source.OCI = &v1alpha1.OCISource{}
	s := &state{}
	if _, wait := (&Reconciler{}).polled(set, s); wait > defaultPoll || wait < defaultPoll/2 {
		t.Errorf("asks in %s", wait)
	}
	for _, by := range jumps {
		s.poll.at = jumped(t, s.poll.at, by)
		if _, wait := (&Reconciler{}).polled(set, s); wait > defaultPoll || wait < defaultPoll/2 {
			t.Errorf("clock set by %s: asks in %s", by, wait)
		}
	}
}

// TestPausesEnd: after an API server was away for hours, no Set has to wait for long.
func TestPausesEnd(t *testing.T) {
	limiter := pauses()
	for range 1000 {
		if pause := limiter.When(ctrl.Request{}); pause > longestPause {
			t.Fatalf("a pause of %s", pause)
		}
	}
}
