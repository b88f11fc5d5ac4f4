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

// TestNullsServerSide applies built-in kinds with nulls, and a manifest that was read from a
// server: neither nulls nor the configuration that was applied last are sent.
func TestNullsServerSide(t *testing.T) {
	policy := largePolicy()
	policy.ServerSide = true
	for manifest, without := range map[string]string{
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "demo"},
			"data": {"a": "x", "gone": null}}`: "gone",
		`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a", "namespace": "demo"},
			"spec": {"selector": {"app": "web", "gone": null}}}`: "gone",
		`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "demo",
			"annotations": {"` + policy.LastApplied + `": "{}"}}}`: policy.LastApplied,
	} {
		_, step := buildOne(t, policy, documents(t, manifest)[0], nil)
		text, err := step.Want.MarshalJSON()
		if err != nil || strings.Contains(string(text), without) {
			t.Errorf("%s is sent (%v)", text, err)
		}
	}
}

// TestNullsOfAtomicLists applies a built-in kind again that has nulls in a list which is replaced
// as a whole.
func TestNullsOfAtomicLists(t *testing.T) {
	const manifest = `{"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
		"metadata": {"name": "a", "namespace": "demo"}, "spec": {"podSelector": {}, "ingress": [
		{"from": [{"podSelector": {"matchLabels": {"app": "web", "gone": null}}}]}]}}`
	policy := largePolicy()
	_, created := buildOne(t, policy, documents(t, manifest)[0], nil)
	_, step := buildOne(t, policy, documents(t, manifest)[0], liveOf(created, "Update", ""))
	if step.Op != plan.Unchanged {
		t.Errorf("%s, %s", step.Op, step.Patch.Data)
	}
}
