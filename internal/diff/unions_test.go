package diff

import "testing"

// TestUnionMembers merges objects whose live state has another member of a union than the manifest:
// the one of the manifest replaces it, whether it was recorded or not.
func TestUnionMembers(t *testing.T) {
	const env = "{containers: [{name: a, env: [{name: E, valueFrom: {fieldRef: {fieldPath: x}}}]}]}"
	for _, tc := range []mergedSpec{
		{name: "value of a variable", kind: "v1 Pod", recorded: env, want: env,
			live: "{containers: [{name: a, image: i, env: [{name: E, value: x}]}]}",
			result: "{containers: [{name: a, image: i, env: [{name: E, valueFrom: " +
				"{fieldRef: {fieldPath: x}}}]}]}"},
		{name: "value of a variable, not recorded", kind: "v1 Pod", want: env,
			live:   "{containers: [{name: a, env: [{name: E, value: x}]}]}",
			result: env},
		{name: "source of a variable", kind: "v1 Pod",
			recorded: env, want: env,
			live: "{containers: [{name: a, env: [{name: E, valueFrom: " +
				"{secretKeyRef: {name: s, key: k}}}]}]}",
			result: env},
		{name: "probe and hook", kind: "apps/v1 Deployment",
			want: "{template: {spec: {containers: [{name: a, livenessProbe: {httpGet: {port: 1}}, " +
				"lifecycle: {preStop: {sleep: {seconds: 1}}}}]}}}",
			live: "{template: {spec: {containers: [{name: a, livenessProbe: {periodSeconds: 5, " +
				"tcpSocket: {port: 1}}, lifecycle: {preStop: {exec: {command: [x]}}}}]}}}",
			result: "{template: {spec: {containers: [{name: a, livenessProbe: {periodSeconds: 5, " +
				"httpGet: {port: 1}}, lifecycle: {preStop: {sleep: {seconds: 1}}}}]}}}"},
		{name: "volume", kind: "v1 Pod", want: "{volumes: [{name: v, configMap: {name: c}}]}",
			live:   "{volumes: [{name: v, emptyDir: {}}, {name: w, emptyDir: {}}]}",
			result: "{volumes: [{name: v, configMap: {name: c}}, {name: w, emptyDir: {}}]}"},
		{name: "strategy of a StatefulSet", kind: "apps/v1 StatefulSet",
			want:   "{updateStrategy: {type: OnDelete}}",
			live:   "{updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}}",
			result: "{updateStrategy: {type: OnDelete}}"},
		{name: "strategy without a type", kind: "apps/v1 StatefulSet",
			want:   "{updateStrategy: {rollingUpdate: {partition: 1}}}",
			live:   "{updateStrategy: {type: OnDelete}}",
			result: "{updateStrategy: {rollingUpdate: {partition: 1}}}"},
		{name: "backend", kind: "networking.k8s.io/v1 Ingress",
			want:   "{defaultBackend: {service: {name: s, port: {number: 80}}}}",
			live:   "{defaultBackend: {service: {name: s, port: {name: http}}}}",
			result: "{defaultBackend: {service: {name: s, port: {number: 80}}}}"},
		{name: "budget", kind: "policy/v1 PodDisruptionBudget",
			recorded: "{minAvailable: 1}", want: "{minAvailable: 1}",
			live: "{maxUnavailable: 1}", result: "{minAvailable: 1}"},
		{name: "member of a variable that is there twice", kind: "v1 Pod",
			want: "{containers: [{name: a, env: [{name: E, value: x}, {name: F, value: y}, " +
				"{name: E, value: z}]}]}",
			live: "{containers: [{name: a, env: [{name: E, valueFrom: {}}, {name: F, value: y}, " +
				"{name: E, value: z}]}]}",
			result: "{containers: [{name: a, env: [{name: E, value: x}, {name: F, value: y}, " +
				"{name: E, value: z}]}]}"},
	} {
		t.Run(tc.name, tc.check)
	}
}

// TestEditedKeys merges lists in which somebody has changed the key of an item: the item of the
// manifest replaces it, and items of others stay.
func TestEditedKeys(t *testing.T) {
	const port = "{ports: [{name: http, port: 80, targetPort: 8080}]}"
	for _, tc := range []mergedSpec{
		{name: "port", kind: "v1 Service", recorded: port, want: port,
			live:   "{ports: [{name: http, port: 83, protocol: TCP, targetPort: 8080}]}",
			result: port},
		{name: "port and its target", kind: "v1 Service", recorded: port, want: port,
			live:   "{ports: [{name: http, port: 83, protocol: TCP, targetPort: 1}]}",
			result: port},
		{name: "port, not recorded", kind: "v1 Service", want: port,
			live: "{ports: [{name: http, port: 83, protocol: TCP, targetPort: 1}, " +
				"{name: other, port: 9}]}",
			result: "{ports: [{name: other, port: 9}, {name: http, port: 80, targetPort: 8080}]}"},
		{name: "protocol", kind: "v1 Service", recorded: port, want: port,
			live:   "{ports: [{name: http, port: 80, protocol: UDP, targetPort: 8080}]}",
			result: port},
		{name: "port without a name", kind: "v1 Service",
			recorded: "{ports: [{port: 80, targetPort: 8080}]}",
			want:     "{ports: [{port: 80, targetPort: 8080}]}",
			live:     "{ports: [{port: 83, protocol: TCP, targetPort: 8080}]}",
			result:   "{ports: [{port: 80, targetPort: 8080}]}"},
		{name: "port of another", kind: "v1 Service", recorded: port, want: port,
			live: "{ports: [{name: http, port: 80, targetPort: 8080}, " +
				"{name: x, port: 81, targetPort: 8080}]}",
			result: "{ports: [{name: http, port: 80, targetPort: 8080}, " +
				"{name: x, port: 81, targetPort: 8080}]}",
			unchanged: true},
		{name: "variable", kind: "v1 Pod",
			recorded: "{containers: [{name: a, env: [{name: E, value: x}]}]}",
			want:     "{containers: [{name: a, env: [{name: E, value: x}]}]}",
			live:     "{containers: [{name: a, env: [{name: EDITED, value: x}, {name: F, value: z}]}]}",
			result:   "{containers: [{name: a, env: [{name: F, value: z}, {name: E, value: x}]}]}"},
		{name: "one of two with one key", kind: "v1 Service",
			recorded: "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}",
			want:     "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}",
			live: "{ports: [{name: u, port: 54, protocol: UDP}, {name: t, port: 53, " +
				"protocol: TCP}]}",
			result: "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53, " +
				"protocol: TCP}]}"},
	} {
		t.Run(tc.name, tc.check)
	}
}
