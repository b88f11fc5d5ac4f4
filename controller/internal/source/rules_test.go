package source

import (
	"slices"
	"testing"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// TestRules: errors name ConfigMap and key, and rules that are wrong are no reason to try again.
func TestRules(t *testing.T) {
	f, cluster := newFetcher(t)
	set := setOf(v1alpha1.Source{})
	if got, err := f.Rules(t.Context(), set); got != nil || err != nil {
		t.Errorf("a Set without rules: got %v, %v", got, err)
	}
	ref := &v1alpha1.RulesSpec{ConfigMapRef: v1alpha1.RulesReference{Name: "waits"}}
	set.Spec.Wait.Rules = ref
	_, err := f.Rules(t.Context(), set)
	checkText(t, err, false, "spec.wait.rules: key ready-rules.yaml: read ConfigMap team-a/waits: ",
		"not found")
	cluster.put("waits", configMap("rules", "- {group: '', kind: Job, currant: 'true'}"))
	_, err = f.Rules(t.Context(), set)
	checkText(t, err, true, "spec.wait.rules: ConfigMap team-a/waits has no key ready-rules.yaml")
	ref.ConfigMapRef.Key = "rules"
	_, err = f.Rules(t.Context(), set)
	checkText(t, err, true, "spec.wait.rules: ConfigMap waits/rules:1: ", "currant")
	const text = "- {group: '', kind: Job, current: 'true'}"
	cluster.put("waits", configMap("rules", text))
	want := []muster.RuleFile{{Name: "ConfigMap waits/rules", Text: text}}
	if got, err := f.Rules(t.Context(), set); !slices.Equal(got, want) || err != nil {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}
