package diff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// merged is a three-way merge of objects of a kind, of which only the spec is given: the texts are
// YAML in flow style. Recorded may be empty.
type mergedSpec struct {
	name, kind           string // kind as apps/v1 Deployment
	recorded, want, live string
	result               string
	unchanged            bool // nothing is sent
}

func (m mergedSpec) object(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	if spec == "" {
		return nil
	}
	version, kind, _ := strings.Cut(m.kind, " ")
	return objectOf(t, "apiVersion: "+version+"\nkind: "+kind+"\nmetadata: {name: a}\nspec: "+spec)
}

func (m mergedSpec) check(t *testing.T) {
	t.Helper()
	want, live := m.object(t, m.want), m.object(t, m.live)
	patch, result, err := ThreeWay(
		WithFormerNames(m.object(t, m.recorded), want, live), want, live,
	)
	if err != nil {
		t.Fatal(err)
	}
	if (len(patch.Data) == 0) != m.unchanged {
		t.Errorf("patch %s", patch.Data)
	}
	spec := m.object(t, m.result).Object["spec"]
	if diff := cmp.Diff(spec, result.Object["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s\npatch %s", diff, patch.Data)
	}
}

// TestRepeatedKeys merges lists that have a key more than once, side by side and not.
func TestRepeatedKeys(t *testing.T) {
	const dns = "{clusterIP: 10.0.0.1, ports: [" +
		"{name: u, port: 53, protocol: UDP, targetPort: 53, nodePort: 30053}, " +
		"{name: web, port: 80, protocol: TCP, targetPort: 80, nodePort: 30080}, " +
		"{name: t, port: 53, protocol: TCP, targetPort: 53, nodePort: 30054}]}"
	for _, tc := range []mergedSpec{
		{name: "service ports", kind: "v1 Service",
			recorded: "{ports: [{name: u, port: 53, protocol: UDP}, {name: web, port: 80}, " +
				"{name: t, port: 53}]}",
			want: "{ports: [{name: u, port: 53, protocol: UDP, targetPort: 5353}, " +
				"{name: web, port: 80, targetPort: 8080}, {name: t, port: 53, targetPort: 5354}]}",
			live: dns,
			result: "{clusterIP: 10.0.0.1, ports: [" +
				"{name: u, port: 53, protocol: UDP, targetPort: 5353, nodePort: 30053}, " +
				"{name: web, port: 80, protocol: TCP, targetPort: 8080, nodePort: 30080}, " +
				"{name: t, port: 53, protocol: TCP, targetPort: 5354, nodePort: 30054}]}"},
		{name: "service ports, unchanged", kind: "v1 Service",
			recorded: "{ports: [{name: u, port: 53, protocol: UDP}, {name: web, port: 80}, " +
				"{name: t, port: 53}]}",
			want: "{ports: [{name: u, port: 53, protocol: UDP}, {name: web, port: 80}, " +
				"{name: t, port: 53}]}",
			live: dns, result: dns, unchanged: true},
		{name: "nothing recorded", kind: "v1 Service",
			want: "{ports: [{name: u, port: 53, protocol: UDP}, {name: web, port: 80}, " +
				"{name: t, port: 53}]}",
			live: "{ports: [{name: other, port: 53, protocol: TCP, targetPort: 9}]}",
			result: "{ports: [{name: u, port: 53, protocol: UDP}, {name: web, port: 80}, " +
				"{name: t, port: 53, protocol: TCP, targetPort: 9}]}"},
		{name: "one of them removed", kind: "v1 Service",
			recorded: "{ports: [{name: u, port: 53, protocol: UDP}, {name: web, port: 80}, " +
				"{name: t, port: 53}]}",
			want: "{ports: [{name: web, port: 80}, {name: t, port: 53}]}",
			live: dns,
			result: "{clusterIP: 10.0.0.1, ports: [" +
				"{name: web, port: 80, protocol: TCP, targetPort: 80, nodePort: 30080}, " +
				"{name: t, port: 53, protocol: TCP, targetPort: 53, nodePort: 30054}]}"},
		{name: "one of others stays", kind: "v1 Service",
			recorded: "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}",
			want:     "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53, targetPort: 1}]}",
			live: "{ports: [{name: x, port: 9, protocol: TCP}, {name: u, port: 53, protocol: UDP}, " +
				"{name: t, port: 53, protocol: TCP}]}",
			result: "{ports: [{name: u, port: 53, protocol: UDP}, " +
				"{name: t, port: 53, protocol: TCP, targetPort: 1}, {name: x, port: 9, protocol: TCP}]}"},
		{name: "container ports", kind: "apps/v1 Deployment",
			recorded: "{template: {spec: {containers: [{name: b, image: j}, {name: a, ports: " +
				"[{containerPort: 53, protocol: UDP}, {containerPort: 80}, {containerPort: 53}]}]}}}",
			want: "{template: {spec: {containers: [{name: b, image: j}, {name: a, ports: " +
				"[{containerPort: 53, protocol: UDP, name: u}, {containerPort: 80, name: w}, " +
				"{containerPort: 53, name: t}]}]}}}",
			live: "{template: {spec: {containers: [{name: b, image: j}, {name: a, ports: " +
				"[{containerPort: 53, protocol: UDP}, {containerPort: 80, protocol: TCP}, " +
				"{containerPort: 53, protocol: TCP}]}]}}}",
			result: "{template: {spec: {containers: [{name: b, image: j}, {name: a, ports: " +
				"[{containerPort: 53, protocol: UDP, name: u}, {containerPort: 80, protocol: TCP, " +
				"name: w}, {containerPort: 53, protocol: TCP, name: t}]}]}}}"},
		{name: "variables", kind: "v1 Pod",
			recorded: "{containers: [{name: a, env: [{name: A, value: x}, {name: B, value: y}, " +
				"{name: A, value: z}]}]}",
			want: "{containers: [{name: a, env: [{name: A, value: x}, {name: B, value: new}, " +
				"{name: A, value: last}]}]}",
			live: "{containers: [{name: a, env: [{name: A, value: x}, {name: B, value: y}, " +
				"{name: A, value: z}]}]}",
			result: "{containers: [{name: a, env: [{name: A, value: x}, {name: B, value: new}, " +
				"{name: A, value: last}]}]}"},
		{name: "variables of a container that is first in the patch", kind: "v1 Pod",
			recorded: "{containers: [{name: a, env: [{name: A, value: x}, {name: B}, {name: A, " +
				"value: z}]}, {name: b, image: i}]}",
			want: "{containers: [{name: a, env: [{name: A, value: x}, {name: B}, {name: A, " +
				"value: last}]}, {name: b, image: j}]}",
			live: "{containers: [{name: a, env: [{name: A, value: x}, {name: B}, {name: A, " +
				"value: z}]}, {name: b, image: i}]}",
			result: "{containers: [{name: a, env: [{name: A, value: x}, {name: B}, {name: A, " +
				"value: last}]}, {name: b, image: j}]}"},
		{name: "live items without the key", kind: "v1 Pod",
			want:   "{containers: [{name: a, image: j}], imagePullSecrets: [{name: s}]}",
			live:   "{containers: [{name: a, image: i}], imagePullSecrets: [{}]}",
			result: "{containers: [{name: a, image: j}], imagePullSecrets: [{name: s}, {}]}"},
	} {
		t.Run(tc.name, tc.check)
	}
}

// TestFailedMerge merges manifests with values of other types than their fields have.
func TestFailedMerge(t *testing.T) {
	for _, tc := range []struct{ name, want, err string }{
		{"a map as the name of a container", "{containers: [{name: {a: b}}]}",
			".spec.containers: the object is malformed"},
		{"a list as the name of a variable", "{containers: [{name: a, env: [{name: [a]}]}]}",
			".spec.containers[name=a].env: the object is malformed"},
		{"a list in a list", "{containers: [[1]]}", ".spec.containers: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := mergedSpec{kind: "v1 Pod"}
			live := "{containers: [{name: a, image: i, env: [{name: A}]}]}"
			_, _, err := ThreeWay(m.object(t, live), m.object(t, tc.want), m.object(t, live))
			if err == nil || !strings.Contains(err.Error(), tc.err) {
				t.Errorf("error %v, want it to contain %q", err, tc.err)
			}
		})
	}
}
