package engine_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/engine/enginetest"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestKeptFields takes the clusterIP out of the manifest of a Service, which the server keeps: a
// plan and a run say so, and recreate the Service on request.
func TestKeptFields(t *testing.T) {
	const kept = "the server keeps spec.clusterIP, which the manifest no longer has; " +
		"recreate Service"
	for _, tc := range []struct {
		replace plan.Replacement
		dry     engine.DryRun
		reason  string
		deletes bool
	}{
		{"", engine.DryRunClient, kept, false},
		{"", engine.DryRunServer, kept, false},
		{"", engine.DryRunNone, kept, false},
		{plan.ReplaceImmutable, engine.DryRunClient,
			"to be recreated: spec.clusterIP cannot be changed", false},
		{plan.ReplaceImmutable, engine.DryRunServer,
			"to be recreated: spec.clusterIP cannot be changed", false},
		{plan.ReplaceImmutable, engine.DryRunNone,
			"recreated: spec.clusterIP cannot be changed", true},
	} {
		service := func(ip string) *unstructured.Unstructured {
			spec := map[string]any{"selector": map[string]any{"app": "web"}}
			if ip != "" {
				spec["clusterIP"] = ip
			}
			return &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Service", "spec": spec,
				"metadata": map[string]any{"namespace": "n", "name": "web"},
			}}
		}
		w := newWorld(&enginetest.Cluster{})
		some := policy()
		some.RecreateHint = "recreate KIND"
		if _, err := w.apply(t.Context(), some, realRun, want(service("None"))...); err != nil {
			t.Fatal(err)
		}
		w.Stores = func(obj *unstructured.Unstructured) {
			_ = unstructured.SetNestedField(obj.Object, "None", "spec", "clusterIP")
		}
		some.Replacement = func(*unstructured.Unstructured) (plan.Replacement, error) {
			return tc.replace, nil
		}
		reason := ""
		w.hear = func(e event.Event) {
			if e.Kind == event.Acted {
				reason = e.Reason
			}
		}
		w.Wrote = nil
		_, err := w.apply(t.Context(), some, engine.Options{DryRun: tc.dry}, want(service(""))...)
		deletes := strings.Contains(strings.Join(w.Wrote, ", "), "delete n/service/web")
		if err != nil || reason != tc.reason || deletes != tc.deletes {
			t.Errorf("%q, %s: %q, %v, %v", tc.replace, tc.dry, reason, w.Wrote, err)
		}
	}
}
