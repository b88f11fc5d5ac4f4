package run

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// Only objects that the run has written, or found as they should be, count as changed by others.
func TestMembersChanged(t *testing.T) {
	web := muster.Object{Kind: "ConfigMap", Name: "web"}
	db := muster.Object{Kind: "ConfigMap", Name: "db"}
	written := newWrittenObjects()
	written.add(muster.Event{Type: muster.Written, Object: web, Outcome: muster.Succeeded})
	written.add(muster.Event{Type: muster.Written, Object: db, Outcome: muster.Failed})
	written.add(muster.Event{Type: muster.Ended, Object: db, Outcome: muster.Succeeded})
	for _, test := range []struct {
		step muster.Step
		want bool
	}{
		{muster.Step{Object: web, Action: muster.Update}, true},
		{muster.Step{Object: web, Action: muster.Create}, true},
		{muster.Step{Object: web, Action: muster.Unchanged}, false},
		{muster.Step{Object: web, Action: muster.Delete}, false},
		{muster.Step{Object: db, Action: muster.Update}, false},
	} {
		p := &muster.Plan{Steps: []muster.Step{test.step}}
		if got := changes(p, written.now()); got != test.want {
			t.Errorf("%s: got %v", test.step, got)
		}
	}
}

// A run that wrote something, or was asked to compare, is followed by a comparison unless it has
// made one since.
func TestCompared(t *testing.T) {
	r := &Run{compare: make(chan struct{}, 1)}
	if !r.Compared(false) || r.Compared(true) {
		t.Error("a run that nobody asked is compared unless it wrote something")
	}
	r.Compare()
	r.Compare() // does not block
	if r.Compared(false) || r.Compared(true) {
		t.Error("what was asked for is still to be done")
	}
	if err := r.endCompare(r.beginCompare(), nil); err != nil || !r.Compared(false) ||
		!r.Compared(true) {
		t.Error("it was compared after the last write")
	}
	writes := r.beginCompare()
	r.progress.Written++
	if err := r.endCompare(writes, nil); err != nil || r.Compared(true) {
		t.Error("a write during the comparison is still to be compared")
	}
	writes = r.beginCompare()
	r.Compare()
	if err := r.endCompare(writes, nil); err != nil || r.Compared(false) {
		t.Error("what was asked for during the comparison is still to be done")
	}
	broken := errors.New("broken")
	if err := r.endCompare(r.beginCompare(), broken); err != broken || r.Compared(false) {
		t.Error("a comparison that failed is still to be done")
	}
}

// What a run has waited is counted from its last write, and with the runs that it continues.
func TestWaited(t *testing.T) {
	now := time.Now()
	r := &Run{waited: time.Minute}
	if got := r.Waited(now); got != time.Minute {
		t.Errorf("nothing was written: got %s", got)
	}
	r.wrote = now.Add(-time.Second)
	if got := r.Waited(now); got != time.Minute+time.Second {
		t.Errorf("something was written: got %s", got)
	}
}

// A run waits as long as the Set says, less what runs before it have waited.
func TestTimeout(t *testing.T) {
	for _, test := range []struct{ timeout, waited, want time.Duration }{
		{10 * time.Minute, 0, 10 * time.Minute},
		{10 * time.Minute, 4 * time.Minute, 6 * time.Minute},
		{10 * time.Minute, time.Hour, leastWait},
		{10 * time.Second, time.Hour, 10 * time.Second},
		{0, time.Hour, muster.NoLimit},
	} {
		set := &v1alpha1.Set{}
		set.Spec.Wait.Timeout = &metav1.Duration{Duration: test.timeout}
		j := &job{set: set, run: &Run{waited: test.waited}}
		if got := j.timeout(); got != test.want {
			t.Errorf("%s after %s: got %s, want %s", test.timeout, test.waited, got, test.want)
		}
	}
}
