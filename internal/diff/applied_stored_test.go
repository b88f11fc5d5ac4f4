package diff

import "testing"

// TestAppliedAsStored checks that an object is unchanged if its live state is what the server
// stores for it: without empty values, with defaults, and with quantities in another form.
func TestAppliedAsStored(t *testing.T) {
	const policy = "admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy"
	for _, tc := range []struct {
		name, kind, owned, want, live string
		changed                       bool
	}{
		{name: "empty list in an item", kind: "networking.k8s.io/v1 NetworkPolicy",
			owned: `{"f:egress": {}}`, want: "{egress: [{to: []}]}", live: "{egress: [{}]}"},
		{name: "defaults of an atomic list", kind: policy,
			owned: `{"f:matchConstraints": {"f:resourceRules": {}}, "f:variables": {}}`,
			want: "{matchConstraints: {resourceRules: [{apiGroups: [a], apiVersions: [v1], " +
				"operations: [CREATE], resources: [things]}]}, variables: []}",
			live: "{failurePolicy: Fail, matchConstraints: {matchPolicy: Equivalent, " +
				"namespaceSelector: {}, objectSelector: {}, " +
				"resourceRules: [{apiGroups: [a], apiVersions: [v1], operations: [CREATE], " +
				"resources: [things], scope: '*'}]}}"},
		{name: "zero values", kind: "apiextensions.k8s.io/v1 CustomResourceDefinition",
			owned: `{"f:group": {}, "f:preserveUnknownFields": {}, "f:versions": {}}`,
			want: "{group: a, preserveUnknownFields: false, versions: [{name: v1, served: true, " +
				"storage: true, deprecated: false}]}",
			live: "{group: a, versions: [{name: v1, served: true, storage: true}]}"},
		{name: "quantity", kind: "v1 ResourceQuota", owned: `{"f:hard": {"f:cpu": {}}}`,
			want: "{hard: {cpu: 1000m}}", live: "{hard: {cpu: '1'}}"},
		{name: "another value", kind: "networking.k8s.io/v1 NetworkPolicy",
			owned: `{"f:egress": {}}`, want: "{egress: [{to: []}]}",
			live: "{egress: [{to: [{podSelector: {}}]}]}", changed: true},
		{name: "another default", kind: policy,
			owned: `{"f:matchConstraints": {"f:resourceRules": {}}}`,
			want: "{matchConstraints: {resourceRules: [{apiGroups: [a], apiVersions: [v1], " +
				"operations: [CREATE], resources: [things]}]}}",
			live: "{matchConstraints: {resourceRules: [{apiGroups: [a], apiVersions: [v1], " +
				"operations: [CREATE], resources: [things], scope: Cluster}]}}", changed: true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := mergedSpec{kind: tc.kind}.object(t, tc.want)
			live := mergedSpec{kind: tc.kind}.object(t, tc.live)
			entry := objectOf(t, "{manager: me, operation: Apply, fieldsType: FieldsV1, "+
				"fieldsV1: {\"f:spec\": "+tc.owned+"}}").Object
			entry["apiVersion"] = live.GetAPIVersion()
			live.Object["metadata"].(map[string]any)["managedFields"] = []any{entry}
			same, err := AppliedBy(want, live, "me")
			if err != nil || same == tc.changed {
				t.Errorf("unchanged: %t, %v", same, err)
			}
		})
	}
}
