package config_test

import (
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// TestPlainText: an error of a document has words of its own, with the place first.
func TestPlainText(t *testing.T) {
	doc := resource.Resource{Origin: "a.yaml:5", Unstructured: &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": config.DocVersion, "kind": "Config",
			"diffMaskRules": []any{map[string]any{"path": []any{int64(5)}}},
		},
	}}
	_, _, err := config.Extract([]resource.Resource{doc}, "1.0.0")
	plain := (*config.DocumentError)(nil)
	const want = "a.yaml:5: Config: diffMaskRules[0].path[0]: expected a key, {allIndexes: true}, " +
		"{index: N} or {regex: TEXT}, but found 5"
	if !errors.As(err, &plain) || plain.PlainText() != want {
		t.Errorf("the error is %v", err)
	}
}
