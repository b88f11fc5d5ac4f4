package changegraph

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// parseConfig returns a configuration with the built-in bindings and those of lines of the forms
// "group NAME: KIND", "rule: KIND: TEXT" and "optional: KIND: TEXT; TEXT". The kinds are in v1.
func parseConfig(t *testing.T, text string) *config.Config {
	t.Helper()
	var groups, rules []any
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		kind, texts, _ := strings.Cut(rest, ": ")
		matchers := []any{map[string]any{
			"apiVersionKindMatcher": map[string]any{"apiVersion": "v1", "kind": kind},
		}}
		if name, ok := strings.CutPrefix(word, "group "); ok {
			groups = append(groups, map[string]any{"name": name, "resourceMatchers": matchers})
			continue
		}
		var list []any
		for rule := range strings.SplitSeq(texts, "; ") {
			list = append(list, rule)
		}
		rules = append(rules, map[string]any{
			"rules": list, "resourceMatchers": matchers, "ignoreIfCyclical": word == "optional",
		})
	}
	document := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kapp.k14s.io/v1alpha1", "kind": "Config",
		"changeGroupBindings": groups, "changeRuleBindings": rules,
	}}
	_, conf, err := config.Extract([]resource.Resource{{Unstructured: document}}, "0.64.0")
	if err != nil {
		t.Fatal(err)
	}
	return conf
}
