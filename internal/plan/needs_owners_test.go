package plan_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/plan"
)

// TestNeedsOwnersOf checks of which objects the owners of the fields are read.
func TestNeedsOwnersOf(t *testing.T) {
	obj := func(size int) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{
			"kind": "ConfigMap", "data": map[string]any{"a": strings.Repeat("x", size)},
		}}
	}
	client := plan.Policy{LastApplied: "last", Conflicts: plan.ConflictsIgnored}
	for name, tc := range map[string]struct {
		change       func(*plan.Policy)
		small, large bool
	}{
		"client-side":      {func(*plan.Policy) {}, false, true},
		"client-side only": {func(p *plan.Policy) { p.OnlyClientSide = true }, false, false},
		"not recorded":     {func(p *plan.Policy) { p.LastApplied = "" }, false, false},
		"neither": {
			func(p *plan.Policy) { p.OnlyClientSide, p.LastApplied = true, "" }, false, false},
		"noted conflicts": {func(p *plan.Policy) { p.Conflicts = plan.NoteConflicts }, false, true},
		"conflicts":       {func(p *plan.Policy) { p.Conflicts = "fail" }, true, true},
		"server-side":     {func(p *plan.Policy) { p.ServerSide = true }, true, true},
	} {
		p := client
		tc.change(&p)
		if got := p.NeedsOwnersOf(obj(1000)); got != tc.small {
			t.Errorf("%s: of a small object: %t", name, got)
		}
		if got := p.NeedsOwnersOf(obj(200_000)); got != tc.large {
			t.Errorf("%s: of a large object: %t", name, got)
		}
	}
}
