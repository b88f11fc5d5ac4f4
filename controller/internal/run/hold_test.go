package run

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// newSet returns a Set that was applied once, with a window from four to five o'clock.
func newSet(change func(*v1alpha1.Set)) *v1alpha1.Set {
	inline := "a"
	set := &v1alpha1.Set{Spec: v1alpha1.SetSpec{
		Source:  v1alpha1.Source{Inline: &inline},
		Windows: []v1alpha1.Window{{Cron: "0 4 * * *", Duration: metav1.Duration{Duration: time.Hour}}},
	}}
	set.Status.Revision.Attempted = "1"
	set.Status.Revision.Applied, set.Status.Revision.SpecDigest = "1", SpecDigest(set)
	change(set)
	return set
}

// What is new waits for a window, and what others changed does not.
func TestHeldUntil(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	opens := time.Date(2026, 1, 2, 4, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name     string
		change   func(*v1alpha1.Set)
		revision string
		now      time.Time
		want     bool
	}{
		{"the applied revision", func(*v1alpha1.Set) {}, "1", now, false},
		{"another one", func(*v1alpha1.Set) {}, "2", now, true},
		{"another one in the window", func(*v1alpha1.Set) {}, "2", opens, false},
		{"another one, and a clock that was set back", func(*v1alpha1.Set) {}, "2",
			opens.Add(-time.Minute), true},
		{"nothing was applied", func(s *v1alpha1.Set) {
			s.Status.Revision = v1alpha1.RevisionStatus{}
		}, "1", now, true},
		{"the way to write", func(s *v1alpha1.Set) { s.Spec.ServerSide = true }, "1", now, true},
		{"the folder", func(s *v1alpha1.Set) { s.Spec.Source.Path = "prod" }, "1", now, true},
		{"what is pruned", func(s *v1alpha1.Set) { s.Spec.Prune.Disabled = true }, "1", now, true},
		{"what is ignored", func(s *v1alpha1.Set) {
			s.Spec.Ignore = []v1alpha1.IgnoreRule{{Paths: []v1alpha1.FieldPath{"/spec/replicas"}}}
		}, "1", now, true},
		{"what happens with drift", func(s *v1alpha1.Set) {
			s.Spec.Drift = v1alpha1.DriftReport
		}, "1", now, false},
		{"another revision is pinned", func(s *v1alpha1.Set) { s.Spec.Pin = 2 }, "revision 2", now, true},
		{"a source that does not count", func(s *v1alpha1.Set) {
			s.Spec.Pin = 2
			s.Status.Revision.Attempted = "revision 2"
			s.Status.Revision.Applied, s.Status.Revision.SpecDigest = "revision 2", SpecDigest(s)
			s.Spec.Source = v1alpha1.Source{}
		}, "revision 2", now, false},
		{"when objects are ready", func(s *v1alpha1.Set) {
			s.Spec.Wait.Rules = &v1alpha1.RulesSpec{}
		}, "1", now, false},
		{"another revision was tried, and may be applied in part", func(s *v1alpha1.Set) {
			s.Status.Revision.Attempted = "2"
		}, "1", now, true},
		{"it was suspended", func(s *v1alpha1.Set) { s.Spec.Suspend = true }, "1", now, false},
		{"the windows", func(s *v1alpha1.Set) { s.Spec.Windows[0].TimeZone = "UTC" }, "1", now, false},
	} {
		j := &job{set: newSet(test.change), run: &Run{}}
		until, held := j.heldUntil(test.revision, test.now)
		if held != test.want || held && !until.Equal(opens) {
			t.Errorf("%s: held %v until %v, want %v", test.name, held, until, test.want)
		}
		j.run.waited = time.Second
		if _, held := j.heldUntil(test.revision, test.now); held {
			t.Errorf("%s: a run that continues an earlier one is held", test.name)
		}
	}
}
