package adopt

import "testing"

// TestKept: what its tool would not delete is kept by the new set, also if only the live object
// says so.
func TestKept(t *testing.T) {
	for mark, kept := range map[string]bool{
		`annotations: {helm.sh/resource-policy: keep}`:                                true,
		`annotations: {kustomize.toolkit.fluxcd.io/prune: disabled}`:                  true,
		`labels: {kustomize.toolkit.fluxcd.io/prune: Disabled}`:                       true,
		`annotations: {kustomize.toolkit.fluxcd.io/prune: enabled}`:                   false,
		`annotations: {kustomize.toolkit.fluxcd.io/reconcile: disabled}`:              true,
		`annotations: {kustomize.toolkit.fluxcd.io/ssa: Ignore}`:                      true,
		`annotations: {kustomize.toolkit.fluxcd.io/ssa: Merge}`:                       false,
		`annotations: {argocd.argoproj.io/sync-options: "Replace=true, Prune=false"}`: true,
		`annotations: {argocd.argoproj.io/sync-options: Delete=false}`:                true,
		`annotations: {argocd.argoproj.io/sync-options: Replace=true}`:                false,
		`labels: {app: web}`: false,
	} {
		live := parse(t, `
apiVersion: v1
kind: ConfigMap
metadata:
  `+mark+`
  name: web
  managedFields: [{manager: x, operation: Apply, apiVersion: v1, fieldsV1: {f:data: {f:a: {}}}}]
data: {a: b}
`)
		for _, manager := range []string{"x", "none"} { // without one the manifest is the live object
			set := &Set{Managers: []string{manager}}
			set.addLive(live)
			got := set.Manifests()[0].GetAnnotations()[KeepOnRemoval]
			if (got == "keep") != kept {
				t.Errorf("%s, applied by x, read as by %s: %q", mark, manager, got)
			}
		}
	}
}
