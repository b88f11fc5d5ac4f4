package engine_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// boats returns the definition of boats with some fields.
func boats(fields ...string) *unstructured.Unstructured {
	properties := map[string]any{}
	for _, field := range fields {
		properties[field] = map[string]any{"type": "string"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{
			"name": "boats.example.com", "annotations": map[string]any{"owner": "me"},
		},
		"spec": map[string]any{
			"group": "example.com", "names": map[string]any{"kind": "Boat", "plural": "boats"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "properties": properties},
			}}},
		},
		"status": map[string]any{"conditions": []any{
			map[string]any{"type": "Established", "status": "True"},
			map[string]any{"type": "NamesAccepted", "status": "True"},
		}},
	}}
}

// boat returns a boat with a field.
func boat(field string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Boat",
		"metadata": map[string]any{"namespace": "n", "name": "nelly"}, field: "x",
	}}
}

// lagging takes up a definition some time after it was written: until then it refuses boats.
type lagging struct {
	*enginetest.Cluster
	lag     time.Duration
	written *time.Time
	fields  *[]string // how fields of boats are validated
}

func (l lagging) Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error) {
	switch w.Object.GetKind() {
	case "CustomResourceDefinition":
		*l.written = time.Now()
	case "Boat":
		*l.fields = append(*l.fields, w.FieldValidation)
		if time.Since(*l.written) < l.lag {
			return nil, apierrors.NewBadRequest(
				`Boat in version "v1" cannot be handled as a Boat: strict decoding error: unknown field "sail"`)
		}
	}
	return l.Cluster.Write(ctx, w)
}

// A server may take up the fields that a definition gets after it has answered its write.
func TestFieldsOfADefinitionOfTheRun(t *testing.T) {
	both := []*unstructured.Unstructured{boats("length", "sail"), boat("sail")}
	for name, tc := range map[string]struct {
		lag     time.Duration
		desired []*unstructured.Unstructured
		failed  int
	}{
		"taken up soon":  {3 * time.Second, both, 0},
		"never taken up": {time.Hour, both, 1},
		"of another run": {3 * time.Second, []*unstructured.Unstructured{boat("sail")}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				w.Put(boats("length"))
				written, fields := time.Now(), []string(nil)
				e := &engine.Engine{
					Cluster: lagging{w.Cluster, tc.lag, &written, &fields}, Records: w.store,
				}
				p, err := e.Plan(t.Context(), engine.Request{Desired: want(tc.desired...), Policy: policy()})
				if err != nil {
					t.Fatal(err)
				}
				summary, err := e.Apply(t.Context(), p, engine.Options{
					DryRun:          engine.DryRunNone,
					Retry:           engine.Retry{For: limit.After(30 * time.Second)},
					FieldValidation: cluster.FieldsStrict,
				}, func(event.Event) {})
				if err != nil || summary.Failures() != tc.failed {
					t.Errorf("%+v, %v", summary, err)
				}
				for _, how := range fields {
					if how != cluster.FieldsStrict {
						t.Errorf("fields are validated %q", how)
					}
				}
			})
		})
	}
}

// A dry run cannot ask the server about objects whose definition the run changes.
func TestDryRunOfADefinitionThatChanges(t *testing.T) {
	for _, changes := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			w.Put(boats("length"))
			definition := boats("length")
			definition.SetLabels(map[string]string{"a": "b"})
			if changes {
				definition = boats("length", "sail")
			}
			_, err := w.apply(t.Context(), policy(), engine.Options{DryRun: engine.DryRunServer},
				want(definition, boat("sail"))...)
			if err != nil {
				t.Fatal(err)
			}
			reason := "not validated by the server: customresourcedefinition.apiextensions.k8s.io/" +
				"boats.example.com would be changed by the same run"
			if got := strings.Contains(strings.Join(w.lines, "\n"), reason); got != changes {
				t.Errorf("changes %t:\n%s", changes, strings.Join(w.lines, "\n"))
			}
		})
	}
}
