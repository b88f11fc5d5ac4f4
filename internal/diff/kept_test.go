package diff

import (
	"strings"
	"testing"
)

// TestKept finds the fields that a server keeps although an update has removed them.
func TestKept(t *testing.T) {
	for _, tc := range []struct{ name, before, sent, stored, kept string }{
		{"kept", "{clusterIP: None}", "{}", "{clusterIP: None}", "spec.clusterIP"},
		{"another value", "{clusterIP: 10.0.0.1}", "{}", "{clusterIP: 10.0.0.2}", ""},
		{"removed", "{selector: {a: b, c: d}}", "{selector: {a: b}}", "{selector: {a: b}}", ""},
		{"a default", "{sessionAffinity: None}", "{}", "{sessionAffinity: None}", ""},
		{"never sent", "{clusterIP: None}", "{clusterIP: None}", "{clusterIP: None}", ""},
		{"in an item", "{ports: [{port: 80, nodePort: 30080}, {port: 81, nodePort: 30081}]}",
			"{ports: [{port: 81}]}", "{ports: [{port: 81, nodePort: 30081}]}", "spec.ports[0].nodePort"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := func(spec string) string {
				return "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: " + spec + "}"
			}
			got := Kept(objectOf(t, of(tc.before)), objectOf(t, of(tc.sent)), objectOf(t, of(tc.stored)))
			if strings.Join(got, " ") != tc.kept {
				t.Errorf("%v, want %s", got, tc.kept)
			}
		})
	}
	custom := "{apiVersion: example.com/v1, kind: X, metadata: {name: a}, spec: {a: 1}}"
	if got := Kept(objectOf(t, custom), objectOf(t, "{apiVersion: example.com/v1, kind: X}"),
		objectOf(t, custom)); got != nil {
		t.Errorf("of a custom resource, whose defaults are not known: %v", got)
	}
}
