package engine_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// A refusal that names an object which the run would create says nothing about the run.
func TestDryRunLacksAnObjectOfTheRun(t *testing.T) {
	for account, failed := range map[string]int{"tool": 0, "other": 1} {
		synctest.Test(t, func(t *testing.T) {
			refused := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "tool",
				errors.New(`error looking up service account n/tool: serviceaccount "tool" not found`))
			w := newWorld(&enginetest.Cluster{Fails: map[object.Ref]error{ref("Pod/tool"): refused}})
			summary, err := w.apply(t.Context(), policy(), engine.Options{DryRun: engine.DryRunServer},
				want(thing("ServiceAccount/"+account), thing("Pod/tool"))...)
			lines := strings.Join(w.lines, "\n")
			if err != nil || summary.Failures() != failed {
				t.Errorf("%s: %+v, %v\n%s", account, summary, err, lines)
			}
			reason := "not validated by the server: n/serviceaccount/tool would be created by the same run"
			if got := strings.Contains(lines, reason); got != (failed == 0) {
				t.Errorf("%s:\n%s", account, lines)
			}
		})
	}
}
