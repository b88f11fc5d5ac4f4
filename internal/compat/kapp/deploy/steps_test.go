package deploy

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// TestStepsAreDiscreet checks that masked values are redacted in messages of the server.
func TestStepsAreDiscreet(t *testing.T) {
	rules := resource.Resource{Unstructured: liveOf(t, `
apiVersion: kapp.k14s.io/v1alpha1
kind: Config
diffMaskRules:
- {path: [data], resourceMatchers: [{kindNamespaceNameMatcher: {kind: ConfigMap, namespace: demo, name: tokens}}]}`)}
	_, conf, err := config.Extract([]resource.Resource{rules}, Version)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		object   string
		mask     bool
		discreet bool
	}{
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: tokens, namespace: demo}}", true, true},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: tokens, namespace: demo}}", false, false},
		{"{apiVersion: v1, kind: ConfigMap, metadata: {name: other, namespace: demo}}", true, false},
		{"{apiVersion: v1, kind: Secret, metadata: {name: other, namespace: demo}}", true, true},
	} {
		changes, err := change.Calculate(nil, []liveObject{liveOf(t, tc.object)}, conf, change.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := &Run{config: conf, options: RunOptions{Mask: tc.mask}}
		if step, err := r.step(changes[0]); err != nil || step.Sensitive != tc.discreet {
			t.Errorf("%s, masked %t: discreet %t, %v", tc.object, tc.mask, step.Sensitive, err)
		}
	}
}

func liveOf(t *testing.T, text string) liveObject {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
