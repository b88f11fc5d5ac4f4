package engine_test

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestKeptFields takes the clusterIP out of the manifest of a Service, which the server keeps: a
// plan and a run say so, and recreate the Service on request.
func TestKeptFields(t *testing.T) {
	const kept = "the server keeps spec.clusterIP, which the manifest no longer has; " +
		"recreate Service"
	for _, tc := range []struct {
		replace   plan.Replacement
		dry       engine.DryRun
		forbidden bool // to create Services
		reason    string
		deletes   bool
	}{
		{"", engine.DryRunClient, false, kept, false},
		{"", engine.DryRunServer, false, kept, false},
		{"", engine.DryRunNone, false, kept, false},
		{plan.ReplaceImmutable, engine.DryRunClient, false,
			"to be recreated: spec.clusterIP cannot be changed", false},
		{plan.ReplaceImmutable, engine.DryRunServer, false,
			"to be recreated: spec.clusterIP cannot be changed", false},
		{plan.ReplaceImmutable, engine.DryRunNone, false,
			"recreated: spec.clusterIP cannot be changed", true},
		{plan.ReplaceImmutable, engine.DryRunServer, true, kept, false},
		{plan.ReplaceImmutable, engine.DryRunNone, true, kept, false},
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
		w.Refuses = func(write cluster.Write) error {
			if !tc.forbidden || write.Method != cluster.Create {
				return nil
			}
			return apierrors.NewForbidden(schema.GroupResource{Resource: "services"}, "",
				errors.New(`User "jane" cannot create resource "services" in API group ""`))
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
