package diff_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

// What a server stores in its own form is stored. What it drops is found, with its place in the
// manifest.
func TestUnstored(t *testing.T) {
	for name, tc := range map[string]struct{ manifest, stored, want string }{
		"feature that is off": {
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2,
			  updateStrategy: {rollingUpdate: {maxUnavailable: 2}}}}`,
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {replicas: 2,
			  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}}`,
			"spec.updateStrategy.rollingUpdate.maxUnavailable",
		},
		"custom resource": {
			`{apiVersion: example.com/v1, kind: Boat, spec: {length: 7, sail: red, idle: false, none: null,
			  empty: {}, list: []}}`,
			`{apiVersion: example.com/v1, kind: Boat, spec: {length: "7"}}`,
			"spec.empty spec.idle spec.sail",
		},
		"zero values of built-in kinds": {
			`{apiVersion: v1, kind: Pod, spec: {automountServiceAccountToken: false, securityContext:
			  {runAsUser: 0}, hostNetwork: false, containers: [{name: a, securityContext:
			  {allowPrivilegeEscalation: false}, envFrom: [{configMapRef: {optional: false}}]}]}}`,
			`{apiVersion: v1, kind: Pod, spec: {securityContext: {}, containers: [{name: a,
			  securityContext: {}, envFrom: [{configMapRef: {}}]}]}}`,
			"spec.automountServiceAccountToken " +
				"spec.containers[0].envFrom[0].configMapRef.optional " +
				"spec.containers[0].securityContext.allowPrivilegeEscalation spec.securityContext.runAsUser",
		},
		"zero values below what is lost": {
			`{apiVersion: v1, kind: Pod, spec: {affinity: {}, containers: [{name: a, securityContext:
			  {privileged: false}}]}}`,
			`{apiVersion: v1, kind: Pod, spec: {containers: [{name: a}]}}`,
			"spec.affinity spec.containers[0].securityContext",
		},
		"token of a service account": {
			`{apiVersion: v1, kind: ServiceAccount, automountServiceAccountToken: false}`,
			`{apiVersion: v1, kind: ServiceAccount}`,
			"automountServiceAccountToken",
		},
		"member of a union that is a map without content": {
			`{apiVersion: example.com/v1, kind: Issuer, metadata: {name: a, labels: {}},
			  spec: {selfSigned: {}, nulls: {none: null}, kept: {}}}`,
			`{apiVersion: example.com/v1, kind: Issuer, metadata: {name: a}, spec: {kept: {}}}`,
			"spec.nulls spec.selfSigned",
		},
		"nulls": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {labels: {a: null}}, data: {a: null, b: c}}`,
			`{apiVersion: v1, kind: ConfigMap, data: {b: c}}`,
			"",
		},
		"nulls of a custom resource": {
			`{apiVersion: example.com/v1, kind: Boat, metadata: {labels: {a: null}}, spec: {a: null, b: 1}}`,
			`{apiVersion: example.com/v1, kind: Boat, spec: {b: 1}}`,
			"",
		},
		"labels": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a: b, c: d},
			  annotations: {example.com/a: b}, creationTimestamp: null, uid: x}, data: {a.b: c}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {a: b}}}`,
			"data metadata.annotations metadata.labels.c",
		},
		"keys with dots": {
			`{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {example.com/a: b, c: d}},
			  data: {a.b: c, d: e}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {annotations: {c: d}}, data: {d: e}}`,
			"data[a.b] metadata.annotations[example.com/a]",
		},
		"forms of values": {
			`{apiVersion: v1, kind: Pod, spec: {hostNetwork: false, priority: 0, nodeName: "", volumes: [],
			  securityContext: {}, tolerations: null, containers: [{name: a, resources: {limits:
			  {cpu: 1000m, memory: 1024Mi}}, ports: [{containerPort: 80, hostPort: 0}]}]}}`,
			`{apiVersion: v1, kind: Pod, spec: {priority: 0, securityContext: {}, containers: [{name: a,
			  resources: {limits: {cpu: "1", memory: 1Gi}}, ports: [{containerPort: 80, protocol: TCP}]}]}}`,
			"",
		},
		"secret": {
			`{apiVersion: v1, kind: Secret, stringData: {a: x, b: z}, data: {c: eg==}}`,
			`{apiVersion: v1, kind: Secret, data: {a: eA==, c: eg==}, type: Opaque}`,
			"data.b",
		},
		"aggregated rules": {
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, rules: [],
			  aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}`,
			`{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole,
			  aggregationRule: {clusterRoleSelectors: [{matchLabels: {a: b}}]}}`,
			"",
		},
		"named items in another order, and beside others": {
			`{apiVersion: v1, kind: Pod, spec: {containers: [{name: a, image: x, tty: true}, {name: b, image: y},
			  {name: c, image: z}]}}`,
			`{apiVersion: v1, kind: Pod, spec: {containers: [{name: proxy, image: p}, {name: b, image: y},
			  {name: a, image: x}]}}`,
			"spec.containers[0].tty spec.containers[2]",
		},
		"items without names": {
			`{apiVersion: v1, kind: Service, spec: {ports: [{port: 53, protocol: UDP, appProtocol: a},
			  {port: 53, protocol: TCP}, {port: 80}]}}`,
			`{apiVersion: v1, kind: Service, spec: {ports: [{port: 1, protocol: TCP, targetPort: 1},
			  {port: 53, protocol: UDP, targetPort: 53}, {port: 53, protocol: TCP, targetPort: 53},
			  {port: 80, protocol: TCP, targetPort: 80}]}}`,
			"spec.ports[0].appProtocol",
		},
		"items that lose all": {
			`{apiVersion: example.com/v1, kind: Boat,
				spec: {masts: [{sail: red}, {sail: blue, height: 3}]}}`,
			`{apiVersion: example.com/v1, kind: Boat, spec: {masts: [{}, {height: 3}]}}`,
			"spec.masts[0].sail spec.masts[1].sail",
		},
		"items that others replaced": {
			`{apiVersion: example.com/v1, kind: Boat, spec: {masts: [{sail: red}], crew: [ann, bob]}}`,
			`{apiVersion: example.com/v1, kind: Boat, spec: {masts: [{sail: blue}], crew: [ann, carl]}}`,
			"",
		},
		"items that are gone": {
			`{apiVersion: example.com/v1, kind: Boat, spec: {masts: [{sail: red}, {sail: blue}],
			  crew: [ann, bob, ann]}}`,
			`{apiVersion: example.com/v1, kind: Boat, spec: {masts: [{sail: blue}], crew: [ann]}}`,
			"spec.crew[1] spec.masts[0]",
		},
		"item that changes and loses a field": {
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {metrics: [{type: Pods, new: x,
			  pods: {target: {averageValue: 1000m}}}]}}`,
			`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, spec: {metrics: [{type: Pods,
			  pods: {target: {averageValue: "1"}}}]}}`,
			"spec.metrics[0].new",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(diff.Unstored(parsed(t, tc.manifest), parsed(t, tc.stored)), " ")
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// Of lists with many items without names, only items in the same place are compared, so that their
// comparison takes no longer for each item. Items with names are found wherever they are.
func TestUnstoredOfLongLists(t *testing.T) {
	const n = 2000
	number := func(i int) any { return map[string]any{"number": int64(i)} }
	name := func(i int) any { return map[string]any{"name": fmt.Sprint("item-", i)} }
	for title, tc := range map[string]struct {
		item   func(int) any
		stored func(int) int // the item that is stored in a place
		length int
		want   string
	}{
		"same":                  {number, func(i int) int { return i }, n, ""},
		"end is lost":           {number, func(i int) int { return i }, n - 1, "spec.items[1999]"},
		"replaced":              {number, func(i int) int { return n + i }, n, ""},
		"other order":           {number, func(i int) int { return n - 1 - i }, n, ""},
		"names in other order":  {name, func(i int) int { return n - 1 - i }, n, ""},
		"lost, in other order":  {name, func(i int) int { return n - 1 - i }, n - 1, "spec.items[0]"},
		"a few in other order":  {number, func(i int) int { return i ^ 1 }, n, ""},
		"a name is another one": {name, func(i int) int { return n - i }, n, "spec.items[0]"},
	} {
		t.Run(title, func(t *testing.T) {
			var sent, stored []any
			for i := range n {
				sent = append(sent, tc.item(i))
			}
			for i := range tc.length {
				stored = append(stored, tc.item(tc.stored(i)))
			}
			boat := func(items []any) *unstructured.Unstructured {
				return &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "example.com/v1", "kind": "Boat", "spec": map[string]any{"items": items},
				}}
			}
			got := strings.Join(diff.Unstored(boat(sent), boat(stored)), " ")
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
