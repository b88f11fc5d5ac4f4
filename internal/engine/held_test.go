package engine_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestHeldIsNotRecreated has an object of a held kind whose update the server refuses. Whatever
// wants its recreation, it is not deleted unless deletions of its kind are allowed, in plans and
// runs. The error says what would be lost, and which flag allows it.
func TestHeldIsNotRecreated(t *testing.T) {
	gk := schema.GroupKind{Kind: "PersistentVolumeClaim"}
	invalid := apierrors.NewInvalid(gk, "a", field.ErrorList{
		field.Forbidden(field.NewPath("spec", "size"), "field is immutable"),
	})
	claim := func(is string) *unstructured.Unstructured {
		return thing("PersistentVolumeClaim/a", "is="+is)
	}
	for _, mode := range writeModes[:2] {
		for _, in := range []plan.Replacement{
			"", plan.ReplaceAlways, plan.ReplaceInvalid, plan.ReplaceImmutable,
		} {
			for _, dryRun := range []engine.DryRun{
				engine.DryRunNone, engine.DryRunClient, engine.DryRunServer,
			} {
				for _, allow := range []bool{false, true} {
					name := strings.Join([]string{mode.name, string(in), string(dryRun)}, " ")
					each(t, name, func(t *testing.T) {
						if dryRun == engine.DryRunClient && mode.serverSide && in != plan.ReplaceAlways {
							return // the server is not asked
						}
						w := newWorld(&enginetest.Cluster{})
						if _, err := w.apply(t.Context(), policy(), realRun,
							want(claim("old"))...); err != nil {
							t.Fatal(err)
						}
						rules := policy()
						rules.ServerSide, rules.RecreateHint = mode.serverSide, "--recreate KIND does it"
						rules.Held = plan.AllowDelete{"Namespace"}.Held()
						if allow {
							rules.Held = plan.AllowDelete{"*"}.Held()
						}
						rules.Replacement = func(*unstructured.Unstructured) (plan.Replacement, error) {
							return in, nil
						}
						if in != plan.ReplaceAlways {
							w.Answers = map[object.Ref][]error{ref("PersistentVolumeClaim/a"): {invalid}}
						}
						w.Wrote = nil
						var acted event.Event
						w.hear = func(e event.Event) {
							if e.Kind == event.Acted {
								acted = e
							}
						}
						if _, err := w.apply(t.Context(), rules, engine.Options{DryRun: dryRun},
							want(claim("new"))...); err != nil {
							t.Fatal(err)
						}
						deleted := strings.Contains(strings.Join(w.Wrote, "\n"), "delete n/")
						recreates := allow && in != ""
						if deleted != (recreates && dryRun == engine.DryRunNone) {
							t.Errorf("written %q", w.Wrote)
						}
						if (acted.Err == nil) != recreates {
							t.Fatalf("acted %+v", acted)
						}
						if recreates {
							return
						}
						text := acted.Err.Error()
						if !strings.Contains(text, "the data of its volume") ||
							strings.Contains(text, "--allow-delete PersistentVolumeClaim") == allow {
							t.Errorf("error %q", text)
						}
					})
				}
			}
		}
	}
}

// TestClaimsOfStatefulSetAreHeld has a stateful set whose volume claims go with it: it is recreated
// only if claims may be deleted, and the result says what is lost.
func TestClaimsOfStatefulSetAreHeld(t *testing.T) {
	gk := schema.GroupKind{Group: "apps", Kind: "StatefulSet"}
	invalid := apierrors.NewInvalid(gk, "a", field.ErrorList{
		field.Forbidden(field.NewPath("spec", "serviceName"), "field is immutable"),
	})
	set := func(service string) *unstructured.Unstructured {
		obj := thing("StatefulSet/a")
		obj.SetAPIVersion("apps/v1")
		obj.Object["spec"] = map[string]any{"serviceName": service,
			"persistentVolumeClaimRetentionPolicy": map[string]any{"whenDeleted": "Delete"}}
		return obj
	}
	for _, in := range []plan.Replacement{"", plan.ReplaceAlways, plan.ReplaceImmutable} {
		for _, allow := range []bool{false, true} {
			each(t, string(in), func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				if _, err := w.apply(t.Context(), policy(), realRun, want(set("old"))...); err != nil {
					t.Fatal(err)
				}
				rules := policy()
				rules.RecreateHint = "--recreate KIND does it"
				rules.Held = plan.AllowDelete{}.Held()
				if allow {
					rules.Held = plan.AllowDelete{"PersistentVolumeClaim"}.Held()
				}
				rules.Replacement = func(*unstructured.Unstructured) (plan.Replacement, error) {
					return in, nil
				}
				if in != plan.ReplaceAlways {
					w.Answers = map[object.Ref][]error{object.RefOf(set("")): {invalid}}
				}
				w.Wrote, w.lines = nil, nil
				if _, err := w.apply(t.Context(), rules, engine.Options{DryRun: engine.DryRunServer},
					want(set("new"))...); err != nil {
					t.Fatal(err)
				}
				lines := strings.Join(w.lines, "\n")
				const loss = "the data of its volume claims would be lost"
				if failed := strings.Contains(lines, "failed"); failed == (allow && in != "") ||
					!strings.Contains(lines, loss) ||
					!allow && !strings.Contains(lines, "--allow-delete PersistentVolumeClaim") {
					t.Errorf("allowed %t: %s", allow, lines)
				}
			})
		}
	}
}
