package run

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/view"
)

// TestConflictAdvice: the advice after a conflict names a flag that the run takes, whatever else is
// to be said about the object.
func TestConflictAdvice(t *testing.T) {
	const clientSide, serverSide = "--conflicts=take-all overwrites them",
		"--force-conflicts takes them over"
	conflict := apierrors.NewApplyConflict([]metav1.StatusCause{{
		Type: metav1.CauseTypeFieldManagerConflict, Field: ".spec.replicas", Message: "conflict",
	}}, "conflict")
	obstacle := &plan.ObstacleError{Fields: []diff.ContestedField{{
		Field: ".spec.a", Owners: []diff.FieldOwner{{Manager: "kubectl-edit"}},
	}}}
	for _, whole := range []bool{false, true} {
		for _, reason := range []plan.ReasonCode{"", plan.ReasonServerSide, plan.ReasonAutoscaled} {
			for _, err := range []error{conflict, obstacle} {
				p := &plan.Plan{ServerSide: whole, Steps: []plan.Step{{
					Op: plan.Update, ServerSide: true, ReasonCode: reason,
					Have: &unstructured.Unstructured{Object: map[string]any{}},
				}}}
				e := event.Event{Kind: event.Acted, Op: plan.Update, Outcome: event.Failed, Err: err}
				b := view.NewRunState(p)
				b.Add(e)
				outlooks, _ := view.Outlooks(p, nil, func(sink event.Sink) error {
					sink(e)
					return nil
				})
				want := clientSide
				if whole {
					want = serverSide
				}
				run := wording{}.actedText(b, e)
				planned := strings.Join(changeOf(outlooks[0]).More, "\n")
				for where, text := range map[string]string{"run": run, "plan": planned} {
					last := strings.TrimSpace(text[strings.LastIndex(text, "\n")+1:])
					if last != want {
						t.Errorf("%s, server-side %t, reason %q, obstacle %t: %q, want %q", where, whole, reason,
							errors.As(err, new(*plan.ObstacleError)), last, want)
					}
				}
			}
		}
	}
}
