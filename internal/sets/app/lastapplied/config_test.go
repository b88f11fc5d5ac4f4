package lastapplied

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// rules are the built-in rules.
var rules = config.Default()

// failing returns rules that fail for every object, since a kind has no fields.
func failing(t *testing.T) *config.Config {
	t.Helper()
	document := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "kapp.k14s.io/v1alpha1", "kind": "Config",
		"rebaseRules": []any{map[string]any{
			"path": []any{"kind", "field"}, "type": "copy", "sources": []any{"new"},
			"resourceMatchers": []any{map[string]any{"allMatcher": map[string]any{}}},
		}},
	}}
	_, conf, err := config.Extract([]resource.Resource{{Unstructured: document}}, "0.64.0")
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// isRuleError reports whether err is an error of those rules that names an object.
func isRuleError(err error, description string) bool {
	return err != nil && strings.Contains(err.Error(), "non-map") &&
		strings.Contains(err.Error(), description)
}
