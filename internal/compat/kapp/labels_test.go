package kapp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Annotations that hold copies of Secrets are counted without them.
func TestAnnotationsOfSecrets(t *testing.T) {
	const annotations = `metadata: {annotations: {a: b, kapp.k14s.io/original: hidden, ` +
		`kubectl.kubernetes.io/last-applied-configuration: hidden}}`
	for kind, value := range map[string]string{"Secret": "<-- value not shown",
		"Service": "hidden"} {
		want := map[string]string{
			"a":                     "b",
			"kapp.k14s.io/original": value,
			"kubectl.kubernetes.io/last-applied-configuration": value,
		}
		if diff := cmp.Diff(want, annotationsOf(liveOf(t,
			"apiVersion: v1\nkind: "+kind+"\n"+annotations))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
}
