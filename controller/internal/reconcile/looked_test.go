package reconcile

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster"
	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// TestLooked checks what a comparison says of a Set: it is not ready if an object is gone, and
// ready again if only a comparison said that it was not, and the same revision is applied.
func TestLooked(t *testing.T) {
	web := muster.Object{Kind: "ConfigMap", Namespace: "shop", Name: "web"}
	for _, test := range []struct {
		reason, revision string // of the condition Ready, and of what was compared
		kind             string // of what has drifted
		want             string
	}{
		{"Drifted", "r1", "", "True Applied r1"},
		{reasonNotCompared, "r1", "changed", "True Applied r1"},
		{"Drifted", "r2", "", "False Drifted before"},
		{"Failed", "r1", "", "False Failed before"},
		{"", "r1", "", ""},
		{"Failed", "r1", "deleted", "False Drifted " + web.String() + " was deleted"},
		{"", "r2", "deleted", "False Drifted " + web.String() + " was deleted"},
	} {
		set := &v1alpha1.Set{}
		if test.reason != "" {
			set.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady,
				Status: metav1.ConditionFalse, Reason: test.reason, Message: "before"}}
		}
		set.Status.Revision.Applied = "r1"
		out := &run.Outcome{Task: run.Look, Revision: test.revision}
		if test.kind != "" {
			out.Drifted = []muster.Drifted{{Object: web, Kind: test.kind}}
		}
		conditions{set, &set.Status}.looked(out)
		got := ""
		if ready := readyOf(set); ready != nil {
			got = string(ready.Status) + " " + ready.Reason + " " + ready.Message
		}
		if got != test.want {
			t.Errorf("%+v: %q", test, got)
		}
	}
}
