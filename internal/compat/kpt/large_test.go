package kpt

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestTooLong names --server-side for an object whose last-applied annotation is too long, and not
// for one whose own annotations are.
func TestTooLong(t *testing.T) {
	const hint = "--server-side stores none"
	for _, kind := range []string{"ConfigMap", "Secret"} {
		refusal := func(at string) error {
			return cluster.Redact(apierrors.NewInvalid(schema.GroupKind{Kind: kind}, "large",
				field.ErrorList{field.TooLong(field.NewPath("metadata", at), "", 262144)}), kind == "Secret")
		}
		for _, test := range []struct {
			key, at    string
			serverSide bool
			hint       bool
		}{
			{key: "last", at: "annotations", hint: true},
			{key: "last", at: "name"},
			{key: "own", at: "annotations"},
			{key: "last", at: "annotations", serverSide: true},
		} {
			want := &unstructured.Unstructured{Object: map[string]any{}}
			want.SetAnnotations(map[string]string{
				"last": "{}", test.key: strings.Repeat("x", 300_000),
			})
			p := &plan.Plan{LastApplied: "last", Steps: []plan.Step{
				{Want: want, ServerSide: test.serverSide, Source: "map.yaml"},
			}}
			text := liveFailure(p, event.Event{Op: plan.Create, Err: refusal(test.at)})
			if strings.Contains(text, hint) != test.hint {
				t.Errorf("%s: %s of %s: %s", kind, test.at, test.key, text)
			}
		}
	}
}
