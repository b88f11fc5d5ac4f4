package cmd

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestSizeHint names --server-side for an object whose last-applied annotation would be too long,
// and not for one whose own annotations are.
func TestSizeHint(t *testing.T) {
	const hint = "--server-side stores none"
	for _, kind := range []string{"ConfigMap", "Secret"} {
		step := &plan.Step{Want: &unstructured.Unstructured{Object: map[string]any{}}}
		refusal := func(at string) error {
			return cluster.Redact(apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "large",
				field.ErrorList{field.TooLong(field.NewPath("metadata", at), "", 262144)}), kind == "Secret")
		}
		if text := failureText(step, refusal("annotations")); !strings.Contains(text, hint) {
			t.Errorf("%s: %s", kind, text)
		}
		if text := failureText(step, refusal("name")); strings.Contains(text, hint) {
			t.Errorf("%s with a long name: %s", kind, text)
		}
		step.Want.SetAnnotations(map[string]string{"own": strings.Repeat("x", 300_000)})
		if text := failureText(step, refusal("annotations")); strings.Contains(text, hint) {
			t.Errorf("%s with long annotations: %s", kind, text)
		}
	}
}
