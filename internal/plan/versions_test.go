package plan_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// What an autoscaler was given in one version is removed when the manifest has another version
// without it.
func TestAutoscalerVersions(t *testing.T) {
	read := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	const (
		first  = "{apiVersion: autoscaling/v1, kind: HorizontalPodAutoscaler, metadata: {name: a"
		second = "{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: a"
		cpu    = "{type: Resource, resource: {name: cpu, target: {averageUtilization: 50}}}"
		others = "autoscaling.alpha.kubernetes.io/metrics"
		spec   = "}, spec: {maxReplicas: 3"
	)
	for _, tc := range []struct{ was, live, want string }{
		{
			`{"apiVersion":"autoscaling/v1","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},` +
				`"spec":{"maxReplicas":3,"targetCPUUtilizationPercentage":50}}`,
			second + spec + ", metrics: [" + cpu + "]}}", second + spec + "}}",
		},
		{
			`{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"a"},` +
				`"spec":{"maxReplicas":3,"metrics":[{}]}}`,
			first + ", annotations: {" + others + ": x}" + spec + ", " +
				"targetCPUUtilizationPercentage: 50}}", first + spec + "}}",
		},
	} {
		live := read(tc.live)
		annotations := live.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations["last"] = tc.was
		live.SetAnnotations(annotations)
		p, err := plan.Build(plan.Input{
			Desired: []plan.Desired{{Object: read(tc.want)}},
			Live:    map[object.Ref]*unstructured.Unstructured{object.RefOf(live): live},
			Policy:  plan.Policy{LastApplied: "last"},
		})
		if err != nil {
			t.Fatal(err)
		}
		result := p.Steps[0].Want
		_, metric, _ := unstructured.NestedFieldNoCopy(result.Object, "spec", "metrics")
		_, target, _ := unstructured.NestedFieldNoCopy(result.Object, "spec",
			"targetCPUUtilizationPercentage")
		if _, other := result.GetAnnotations()[others]; metric || target || other {
			t.Errorf("%s: becomes %v by %s", tc.want, result.Object, p.Steps[0].Patch.Data)
		}
	}
}
