package run

import (
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
	m := newWrittenObjects()
	m.add(muster.Event{Type: muster.Written, Object: web, Outcome: muster.Succeeded})
	m.add(muster.Event{Type: muster.Written, Object: db, Outcome: muster.Failed})
	m.add(muster.Event{Type: muster.Ended, Object: db, Outcome: muster.Succeeded})
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
		if got := m.changed(&muster.Plan{Steps: []muster.Step{test.step}}); got != test.want {
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
	r.asked, r.compared = false, true
	if !r.Compared(false) || !r.Compared(true) {
		t.Error("it was compared after the last write")
	}
}

// A run waits as long as the Set says, less what runs before it have waited.
func TestTimeout(t *testing.T) {
	for _, test := range []struct{ timeout, waited, want time.Duration }{
		{10 * time.Minute, 0, 10 * time.Minute},
		{10 * time.Minute, 4 * time.Minute, 6 * time.Minute},
		{10 * time.Minute, time.Hour, leastWait},
		{10 * time.Second, time.Hour, 10 * time.Second},
		{0, time.Hour, 0},
	} {
		set := &v1alpha1.Set{}
		set.Spec.Wait.Timeout = &metav1.Duration{Duration: test.timeout}
		j := &job{set: set, run: &Run{waited: test.waited}}
		if got := j.timeout(); got != test.want {
			t.Errorf("%s after %s: got %s, want %s", test.timeout, test.waited, got, test.want)
		}
	}
}
