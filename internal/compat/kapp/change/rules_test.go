package change

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// testRules complement kapp's own: the field ref of any object may name a ConfigMap, and a Thing
// with a phase is ready in the phase Ready.
const testRules = `
apiVersion: kapp.k14s.io/v1alpha1
kind: Config
templateRules:
- resourceMatchers:
  - apiVersionKindMatcher: {apiVersion: v1, kind: ConfigMap}
  affectedResources:
    objectReferences:
    - resourceMatchers: [{allMatcher: {}}]
      path: [ref]
waitRules:
- resourceMatchers:
  - andMatcher:
      matchers:
      - apiVersionKindMatcher: {apiVersion: example.com/v1, kind: Thing}
      - notMatcher: {matcher: {emptyFieldMatcher: {path: [status, phase]}}}
  ytt:
    funcContractV1:
      resource.star: |
        def is_done(resource):
          phase = resource.status.phase
          ready = phase == "Ready"
          return {"done": ready, "successful": ready, "message": "phase is " + phase}
        end
`

// configOf returns kapp's own rules with those of Config documents.
func configOf(t testing.TB, documents string) *config.Config {
	t.Helper()
	var all []resource.Resource
	for _, obj := range decode(t, documents) {
		all = append(all, resource.Resource{Unstructured: obj})
	}
	_, conf, err := config.Extract(all, "")
	if err != nil {
		t.Fatal(err)
	}
	return conf
}

// lastApplied returns Options.LastApplied for objects that carry what was applied last, which holds
// if their sum is "valid".
func lastApplied(
	conf *config.Config,
) func(*unstructured.Unstructured) (*unstructured.Unstructured, bool) {
	return func(live *unstructured.Unstructured) (*unstructured.Unstructured, bool) {
		if live.GetAnnotations()[resource.AnnOriginalDiffMD5] != "valid" {
			return nil, false
		}
		original := &unstructured.Unstructured{}
		text := live.GetAnnotations()[resource.AnnOriginal]
		if err := original.UnmarshalJSON([]byte(text)); err != nil {
			return nil, false
		}
		base, err := conf.Rebase(live, original)
		if err == nil {
			removeRecord(base)
		}
		return base, err == nil
	}
}
