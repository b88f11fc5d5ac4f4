package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// What others have added stays where the desired object drops a whole map or list that was applied.
func TestWithAdded(t *testing.T) {
	parse := func(text string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	const (
		pod    = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {"
		thing  = "{apiVersion: example.com/v1, kind: Thing, metadata: {"
		config = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a"
	)
	// theirs returns metadata with a field of others.
	theirs := func(fields string) string {
		return "managedFields: [{manager: me, operation: Update, fieldsV1: {'f:spec': " +
			"{'f:own': {}}}}, {manager: o, operation: Update, fieldsV1: {'f:spec': " + fields + "}}]"
	}
	theirPod := func(fields string) string {
		return strings.Replace(pod, "name: a", "name: a, "+theirs(fields), 1)
	}
	for name, tc := range map[string]struct{ want, applied, live, result string }{
		"maps and lists": {
			config + "}}",
			config + ", labels: {m: x}, finalizers: [m]}, data: {m: x}}",
			config + ", labels: {m: x, o: z}, finalizers: [m, o]}, data: {m: x, o: z}}",
			config + ", labels: {o: z}, finalizers: [o]}, data: {o: z}}",
		},
		"items by key": {
			pod + "}}", pod + "volumes: [{name: m}], tolerations: [{key: m}]}}",
			pod + "volumes: [{name: m}, {name: o}], tolerations: [{key: m}, {key: o}]}}",
			pod + "volumes: [{name: o}]}}",
		},
		"items by two keys": {
			pod + "containers: [{name: a}]}}",
			pod + "containers: [{name: a, ports: [{containerPort: 1}]}]}}",
			pod + "containers: [{name: a, ports: [{containerPort: 1, protocol: TCP}, " +
				"{containerPort: 1, protocol: UDP}]}]}}",
			pod + "containers: [{name: a, ports: [{containerPort: 1, protocol: UDP}]}]}}",
		},
		"maps with any keys in items": {
			pod + "containers: [{name: a}]}}",
			pod + "nodeSelector: {m: x}, containers: [{name: a, resources: {limits: {m: x}}}]}}",
			pod + "nodeSelector: {m: x, o: z}, containers: [{name: a, " +
				"resources: {limits: {m: x, o: z}}}]}}",
			pod + "nodeSelector: {o: z}, containers: [{name: a, resources: {limits: {o: z}}}]}}",
		},
		"defaults": {
			pod + "containers: [{name: a}]}}",
			pod + "containers: [{name: a, startupProbe: {exec: {command: [m]}}}]}}",
			pod + "containers: [{name: a, startupProbe: {exec: {command: [m]}, periodSeconds: 9}}]}}",
			"",
		},
		"fields of others": {
			pod + "}}", pod + "securityContext: {runAsUser: 1}}}",
			theirPod("{'f:securityContext': {'f:fsGroup': {}}}") +
				"securityContext: {runAsUser: 1, fsGroup: 2, runAsGroup: 3}}}",
			pod + "securityContext: {fsGroup: 2}}}",
		},
		"no handler": {
			pod + "containers: [{name: a}]}}",
			pod + "containers: [{name: a, startupProbe: {exec: {command: [m]}}}]}}",
			theirPod("{'f:containers': {'k:{\"name\":\"a\"}': {'f:startupProbe': "+
				"{'f:periodSeconds': {}}}}}") +
				"containers: [{name: a, startupProbe: {exec: {command: [m]}, periodSeconds: 9}}]}}",
			"",
		},
		"another member": {
			pod + "volumes: [{name: a, emptyDir: {}}]}}",
			pod + "volumes: [{name: a, configMap: {name: m}}]}}",
			theirPod("{'f:volumes': {'k:{\"name\":\"a\"}': {'f:configMap': {'f:optional': {}}}}}") +
				"volumes: [{name: a, configMap: {name: m, optional: true}}]}}",
			"",
		},
		"lists of a custom resource": {
			thing + "}}", thing + "}, spec: {keyed: [{name: m}], set: [m], other: [m]}}",
			thing + theirs("{'f:keyed': {'k:{\"name\":\"o\"}': {}}, 'f:set': {'v:\"o\"': {}}}") +
				"}, spec: {keyed: [{name: m}, {name: o}], set: [m, o], other: [m, o]}}",
			thing + "}, spec: {keyed: [{name: o}], set: [o]}}",
		},
		"finalizers of a custom resource": {
			thing + "finalizers: [n]}}", thing + "finalizers: [m]}}",
			thing + "finalizers: [m, o]}}", thing + "finalizers: [n, o]}}",
		},
		"described ones":   {"{data: {n: x}, kind: Secret}", "{data: {m: x}}", "{data: {o: x}}", ""},
		"nothing added":    {"{kind: Secret}", "{data: {m: x}}", "{data: {m: y}}", ""},
		"never applied":    {"{kind: Secret}", "{}", "{data: {m: y}}", ""},
		"data of a custom": {"{kind: Thing}", "{data: {m: x}}", "{data: {m: x, o: y}}", ""},
	} {
		want := parse(tc.want)
		got, err := WithAdded(want, parse(tc.applied), parse(tc.live), Setter{Manager: "me"})
		if err != nil {
			t.Fatal(err)
		}
		if tc.result == "" {
			if got != want {
				t.Errorf("%s: %v", name, got.Object)
			}
		} else if diff := cmp.Diff(parse(tc.result).Object, got.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Who has applied something else with kubectl is not one of the managers of a set.
func TestAppliedPartOfOthers(t *testing.T) {
	live := &unstructured.Unstructured{}
	err := live.UnmarshalJSON([]byte(`{"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": {"name": "a", "annotations": {"mark": "1", "applied": "{}"}, "managedFields": [
			{"manager": "muster", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": {
				"f:data": {"f:ours": {}}, "f:metadata": {"f:annotations": {"f:mark": {}}}}},
			{"manager": "kubectl-client-side-apply", "operation": "Update", "fieldsType": "FieldsV1",
				"fieldsV1": {"f:data": {"f:theirs": {}},
					"f:metadata": {"f:annotations": {"f:applied": {}}}}}]},
		"data": {"ours": "1", "theirs": "1"}}`))
	if err != nil {
		t.Fatal(err)
	}
	part, err := AppliedPart(live, live, Setter{
		Manager: "muster", Field: "annotations", Key: "mark", Annotations: []string{"applied"},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"ours": "1"}
	if diff := cmp.Diff(want, part.Object["data"]); diff != "" {
		t.Errorf("data (-want +got):\n%s", diff)
	}
}
