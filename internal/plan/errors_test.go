package plan_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

func configMap(name string) object.Ref {
	return object.Ref{Kind: "ConfigMap", Namespace: "demo", Name: name}
}

// TestErrorsAreData pins what other wordings are made of: who depends on whom from where, and all
// that cannot be put in order.
func TestErrorsAreData(t *testing.T) {
	_, err := plan.Build(input(t, map[string]string{"desired.yaml": `
{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: demo, annotations: {after: ConfigMap/demo/b}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: demo, annotations: {after: ConfigMap/demo/a}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: demo, annotations: {after: ConfigMap/demo/b ConfigMap/demo/free}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: free, namespace: demo, annotations: {takes: "ConfigMap//x $.a $.b"}}}
`}))
	cycle, external, of := (*plan.CycleError)(
		nil,
	), (*plan.ExternalError)(
		nil,
	), (*plan.ObjectError)(
		nil,
	)
	if !errors.As(err, &cycle) || !errors.As(err, &external) || !errors.As(err, &of) {
		t.Fatalf("error = %v; want one of each sort", err)
	}
	edges := []plan.Edge{
		{
			From:   configMap("a"),
			To:     configMap("b"),
			Source: "a.yaml",
		}, {From: configMap("b"), To: configMap("a"), Source: "b.yaml"},
	}
	blocked := append(
		edges[:2:2],
		plan.Edge{From: configMap("c"), To: configMap("b"), Source: "c.yaml"},
	)
	if diff := cmp.Diff(plan.CycleError{Edges: edges, Blocked: blocked}, *cycle); diff != "" {
		t.Errorf("cycle (-want +got):\n%s", diff)
	}
	want := plan.ExternalError{
		From:       configMap("free"),
		To:         object.Ref{Kind: "ConfigMap", Name: "x"},
		TakesValue: true,
	}
	if diff := cmp.Diff(want, *external); diff != "" {
		t.Errorf("external dependency (-want +got):\n%s", diff)
	}
	if of.Ref != configMap("free") || of.Source != "free.yaml" {
		t.Errorf("the object is %v (%s)", of.Ref, of.Source)
	}
}

// TestReasonsAreData pins the same for what becomes of objects.
func TestReasonsAreData(t *testing.T) {
	files := map[string]string{
		"desired.yaml": `
{apiVersion: v1, kind: ConfigMap, metadata: {name: wanted, namespace: demo, annotations: {after: ConfigMap/demo/needed}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign, namespace: demo}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: unowned, namespace: demo}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: frozen, namespace: demo, annotations: {on-change: ignore}}}
---
{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: e, namespace: demo}}`,
		"live.yaml": `
{apiVersion: v1, kind: ConfigMap, metadata: {name: needed, namespace: demo, annotations: {owner: me}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: foreign, namespace: demo, annotations: {owner: you}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: unowned, namespace: demo}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: frozen, namespace: demo, annotations: {owner: me}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: demo, annotations: {owner: me}}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: other, annotations: {owner: me}}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: retained, namespace: other, annotations: {owner: me, on-remove: keep}}}
---
{apiVersion: v1, kind: Event, metadata: {name: e, namespace: demo, uid: "7", annotations: {owner: me}}}
---
{apiVersion: events.k8s.io/v1, kind: Event, metadata: {name: e, namespace: demo, uid: "7", annotations: {owner: me}}}`,
		"recorded.yaml": `
{apiVersion: v1, kind: ConfigMap, metadata: {name: needed, namespace: demo}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: demo}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: other}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: retained, namespace: other}}
---
{apiVersion: v1, kind: Event, metadata: {name: e, namespace: demo}}
---
{apiVersion: example.com/v1, kind: Gone, metadata: {name: gone, namespace: other}}`,
		"unserved": "Gone",
	}
	p, err := plan.Build(input(t, files))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, step := range p.Steps {
		if step.ReasonCode != "" {
			got[step.Ref.Short()] = string(step.ReasonCode)
			if step.ReasonRef != (object.Ref{}) {
				got[step.Ref.Short()] += " " + step.ReasonRef.Short()
			}
		}
	}
	want := map[string]string{
		"configmap/needed":      "needed configmap/wanted",
		"configmap/foreign":     "foreign",
		"configmap/unowned":     "unowned",
		"configmap/frozen":      "frozen",
		"configmap/retained":    "retained",
		"namespace/demo":        "in use",
		"namespace/other":       "ContainsOrphan configmap/retained",
		"event/e":               "same event.events.k8s.io/e",
		"gone.example.com/gone": "unserved",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}
