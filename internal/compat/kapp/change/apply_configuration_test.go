package change

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
)

// TestDeclared asks for what a server is to merge into a live object.
func TestDeclared(t *testing.T) {
	existing := decode(
		t,
		`{apiVersion: v1, kind: Service, metadata: {name: s, namespace: n, uid: u, resourceVersion: '3', finalizers: [a],
  annotations: {kapp.k14s.io/identity: v1;n//Service/s;v1, kapp.k14s.io/original: '{}', theirs: x}},
  spec: {clusterIP: 10.0.0.1, sessionAffinity: None, ports: [{port: 80, protocol: TCP}], selector: {app: one}}}`,
	)
	const described = `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: n, ` +
		`annotations: {ours: x}}, spec: {ports: [{port: 80}], selector: {app: one}}}`
	for _, tc := range []struct {
		name string
		copy string // paths that are copied from the live object
		want string
	}{
		{"as described", "", `{apiVersion: v1, kind: Service, metadata: {name: s, namespace: n, ` +
			`annotations: {ours: x}}, spec: {ports: [{port: 80}], selector: {app: one}}}`},
		{"without what is only taken over", "[spec, clusterIP], [spec, sessionAffinity]",
			`{apiVersion: v1, kind: Service, metadata: {name: s, namespace: n, annotations: {ours: x}}, ` +
				`spec: {ports: [{port: 80}], selector: {app: one}}}`},
		{"with what a rule makes of it", "[spec, ports]",
			`{apiVersion: v1, kind: Service, metadata: {name: s, namespace: n, annotations: {ours: x}}, ` +
				`spec: {ports: [{port: 80, protocol: TCP}], selector: {app: one}}}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			conf := config.Default()
			if tc.copy != "" {
				conf = configOf(t, `{apiVersion: kapp.k14s.io/v1alpha1, kind: Config, rebaseRules: [`+
					`{resourceMatchers: [{allMatcher: {}}], type: copy, sources: [existing], paths: [`+
					tc.copy+`]}]}`)
			}
			changes, err := Calculate(existing, decode(t, described), conf, Options{})
			if err != nil || len(changes) != 1 || changes[0].Op != Update {
				t.Fatalf("%v: %v", changes, err)
			}
			got, err := changes[0].ApplyConfiguration()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decode(t, tc.want)[0].Object, got.Object); diff != "" {
				t.Errorf("declared (-want +got):\n%s", diff)
			}
		})
	}
}
