package builtin

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"testing"

	"sigs.k8s.io/yaml"
)

func TestKnows(t *testing.T) {
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {a: b}}\n"
	for text, want := range map[string]bool{
		pod: true,
		pod + `spec:
  terminationGracePeriodSeconds: 5
  containers:
  - name: c
    resources: {limits: {cpu: 1, memory: 64Mi}}
    livenessProbe: {httpGet: {port: http}}
    readinessProbe: {httpGet: {port: 80}}
    env: [{name: A, value: b}]
    command: null
`: true,
		pod + "spec: {contaners: []}":                                                false,
		pod + "spec: {containers: [{name: c, env: [{name: A, value: true}]}]}":       false,
		pod + "spec: {containers: {name: c}}":                                        false,
		pod + "spec: {terminationGracePeriodSeconds: '5'}":                           false,
		pod + "spec: {terminationGracePeriodSeconds: 1.5}":                           false,
		pod + "spec: {overhead: {cpu: much}}":                                        false,
		"apiVersion: v1\nkind: Pod\nmetadata: {name: p, lables: {}}":                 false,
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: YQ==}":         true,
		"apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: '?'}":          false,
		"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata: {a: 1}":         false,
		"apiVersion: v2\nkind: Pod\nmetadata: {name: p}":                             false,
		"apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: b}":                false,
		"apiVersion: storage.k8s.io/v1beta1\nkind: CSIStorageCapacity\nmetadata: {}": false,
	} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			t.Fatal(err)
		}
		if got := Knows(object); got != want {
			t.Errorf("Knows is %v, want %v:\n%s", got, want, text)
		}
	}
	if names := MetadataFields(); !slices.Contains(names, "labels") {
		t.Errorf("fields of metadata: %q", names)
	}
}

// TestNewest fails when the types are those of another release: another kind is its newest then.
func TestNewest(t *testing.T) {
	if _, ok := table().kinds[Newest]; !ok {
		t.Errorf("the table does not have %s", Newest)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	release := fmt.Sprintf(`(?m)^\tk8s\.io/api v0\.%d\.`, Minor)
	if !regexp.MustCompile(release).Match(mod) {
		t.Errorf("the table has the types of another release than 1.%d: set Newest to a kind that "+
			"the release serves first, in a stable version", Minor)
	}
}
