package plan_test

import (
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/plan"
)

// TestFormerNames takes the name of a service account out of manifests. The server has it under a
// former name as well, which goes with it, so that it does not come back: not in an apply as that
// of kpt live, and not where admission sets the same value again.
func TestFormerNames(t *testing.T) {
	const deployment, job, pod = `{"apiVersion": "apps/v1", "kind": "Deployment", META,
		"spec": {"template": {"spec": {ACCOUNT "restartPolicy": "Never"}}}}`,
		`{"apiVersion": "batch/v1", "kind": "Job", META,
		"spec": {"template": {"spec": {ACCOUNT "restartPolicy": "Never"}}}}`,
		`{"apiVersion": "v1", "kind": "Pod", META, "spec": {ACCOUNT "restartPolicy": "Never"}}`
	for _, tc := range []struct {
		name, manifest, account string
		strict, removed         bool
	}{
		{"Deployment", deployment, "a", false, true},
		{"default", deployment, "default", false, true},
		{"Deployment, strict", deployment, "a", true, false},
		{"Job, strict", job, "a", true, false},
		{"Pod", pod, "a", false, true},
		{"Pod, default", pod, "default", false, false},
		{"Pod, strict", pod, "a", true, false},
	} {
		text := strings.ReplaceAll(tc.manifest, "META",
			`"metadata": {"name": "a", "namespace": "demo"}`)
		with := func(account string) string { return strings.ReplaceAll(text, "ACCOUNT", account) }
		name := `"serviceAccountName": "` + tc.account + `",`
		for _, serverSide := range []bool{false, true} {
			policy := largePolicy()
			policy.OnlyClientSide, policy.ServerSide = tc.strict, serverSide
			_, created := buildOne(t, policy, documents(t, with(name))[0], nil)
			live := documents(t, with(name+`"serviceAccount": "`+tc.account+`",`))[0]
			live.SetUID("1")
			live.SetResourceVersion("7")
			live.SetAnnotations(created.Want.GetAnnotations())
			if serverSide {
				entries := liveOf(created, "Apply", "").GetManagedFields()
				path := `{"f:restartPolicy":{},"f:serviceAccountName":{}}`
				if tc.manifest != pod {
					path = `{"f:template":{"f:spec":` + path + `}}`
				}
				entries[0].APIVersion = live.GetAPIVersion()
				entries[0].FieldsV1.SetRawBytes([]byte(
					`{"f:metadata":{"f:annotations":{"f:owner":{}}},"f:spec":` + path + `}`))
				live.SetManagedFields(entries)
			}
			_, step := buildOne(t, policy, documents(t, with(""))[0], live)
			removed := strings.Contains(string(step.Patch.Data), `"serviceAccount":null`) ||
				len(step.Obstacles) == 1 && strings.HasSuffix(step.Obstacles[0].Field, ".serviceAccount")
			if step.Op != plan.Update || removed != tc.removed {
				t.Errorf("%s, server-side %t: %s, %s, %+v", tc.name, serverSide, step.Op,
					step.Patch.Data, step.Obstacles)
			}
		}
	}
}
