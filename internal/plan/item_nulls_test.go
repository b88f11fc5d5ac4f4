package plan_test

import (
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/plan"
)

// TestNullsOfItems applies a custom resource again whose list items have nulls: it was created
// without them, and the list is not written again, nor with them if it changes. A null in a map
// deletes the live value.
func TestNullsOfItems(t *testing.T) {
	const manifest = `{"apiVersion": "example.com/v1", "kind": "Machine",
		"metadata": {"name": "a", "namespace": "demo"}, "spec": {"disks": [
		{"metadata": {"name": "x", "creationTimestamp": null}, "spec": {"parts": [{"size": null}]}}]}}`
	policy := largePolicy()
	_, created := buildOne(t, policy, documents(t, manifest)[0], nil)
	for _, tc := range []struct {
		name, want, patch string
	}{
		{"the same", manifest, ""},
		{"a changed list", strings.Replace(manifest, `"x"`, `"y"`, 1),
			`"spec":{"disks":[{"metadata":{"name":"y"},"spec":{"parts":[{}]}}]}`},
		{"a null in a map", strings.Replace(manifest, `"spec": {`, `"spec": {"mode": null, `, 1),
			`"spec":{"mode":null}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			live := liveOf(created, "Update", "")
			live.Object["spec"].(map[string]any)["mode"] = "fast"
			_, step := buildOne(t, policy, documents(t, tc.want)[0], live)
			patch := string(step.Patch.Data)
			switch {
			case tc.patch == "" && step.Op != plan.Unchanged:
				t.Errorf("%s, %s", step.Op, patch)
			case !strings.Contains(patch, tc.patch):
				t.Errorf("the patch is %s, want %s", patch, tc.patch)
			}
		})
	}
}
