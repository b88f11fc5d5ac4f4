package lock

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FuzzHolder looks for Leases that panic, or whose holder is described by nothing.
func FuzzHolder(f *testing.F) {
	f.Add("", "")
	f.Add(`{"user": "ann", "host": "laptop", "since": "2026-01-01T00:00:00Z"}`, "ann@laptop/1/run")
	f.Add(`{"since": 1}`, "a/b")
	f.Fuzz(func(t *testing.T, annotation, identity string) {
		lease := &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{annotationHolder: annotation}},
			"spec":     map[string]any{"holderIdentity": identity},
		}}
		if holderOf(lease).Describe(time.Unix(0, 0)) == "" {
			t.Errorf("the holder of %q, %q has no description", annotation, identity)
		}
		if who := holderOf(lease).String(); strings.ContainsRune(who, '/') && annotation == "" {
			t.Errorf("the holder of %q is %q", identity, who)
		}
	})
}
