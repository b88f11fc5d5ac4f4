package diff

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

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
		{name: "conversion of a definition", kind: "apiextensions.k8s.io/v1 CustomResourceDefinition",
			recorded: "{conversion: {strategy: None}}", want: "{conversion: {strategy: None}}",
			live:   "{conversion: {strategy: Webhook, webhook: {conversionReviewVersions: [v1]}}}",
			result: "{conversion: {strategy: None}}"},
		{name: "address of a converter", kind: "apiextensions.k8s.io/v1 CustomResourceDefinition",
			want: "{conversion: {webhook: {clientConfig: {url: u}}}}",
			live: "{conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: c, " +
				"service: {name: s}}}}}",
			result: "{conversion: {strategy: Webhook, webhook: {clientConfig: {caBundle: c, url: u}}}}"},
		{name: "insecure API service", kind: "apiregistration.k8s.io/v1 APIService",
			want:   "{insecureSkipTLSVerify: true}",
			live:   "{insecureSkipTLSVerify: false, caBundle: c, group: g}",
			result: "{insecureSkipTLSVerify: true, group: g}"},
		{name: "API service with an authority", kind: "apiregistration.k8s.io/v1 APIService",
			want: "{caBundle: c}", live: "{insecureSkipTLSVerify: true}", result: "{caBundle: c}"},
		{name: "injected authority", kind: "apiregistration.k8s.io/v1 APIService",
			want:   "{insecureSkipTLSVerify: false, group: h}",
			live:   "{insecureSkipTLSVerify: false, caBundle: c, group: g}",
			result: "{insecureSkipTLSVerify: false, caBundle: c, group: h}"},
		{name: "member of a variable that is there twice", kind: "v1 Pod",
			want: "{containers: [{name: a, env: [{name: E, value: x}, {name: F, value: y}, " +
				"{name: E, value: z}]}]}",
			live: "{containers: [{name: a, env: [{name: E, valueFrom: {}}, {name: F, value: y}, " +
				"{name: E, value: z}]}]}",
			result: "{containers: [{name: a, env: [{name: E, value: x}, {name: F, value: y}, " +
				"{name: E, value: z}]}]}"},
		{name: "member of the second of two variables", kind: "v1 Pod",
			recorded: "{containers: [{name: a, env: [{name: E, value: x}, {name: E, value: z}]}]}",
			want:     "{containers: [{name: a, env: [{name: E, value: x}, {name: E, value: z}]}]}",
			live: "{containers: [{name: a, env: [{name: E, value: x}, {name: E, valueFrom: " +
				"{fieldRef: {fieldPath: y}}}]}]}",
			result: "{containers: [{name: a, env: [{name: E, value: x}, {name: E, value: z}]}]}"},
		{name: "source of the second of two variables", kind: "v1 Pod",
			want: "{containers: [{name: a, env: [{name: E}, {name: E, valueFrom: {fieldRef: " +
				"{fieldPath: y}}}]}]}",
			live: "{containers: [{name: a, env: [{name: E, value: x}, {name: E, valueFrom: " +
				"{secretKeyRef: {name: s, key: k}}}]}]}",
			result: "{containers: [{name: a, env: [{name: E, value: x}, {name: E, valueFrom: " +
				"{fieldRef: {fieldPath: y}}}]}]}"},
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
		{name: "one of two with one key", kind: "v1 Service",
			recorded: "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}",
			want:     "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}",
			live: "{ports: [{name: u, port: 54, protocol: UDP}, {name: t, port: 53, " +
				"protocol: TCP}]}",
			result: "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53, " +
				"protocol: TCP}]}"},
		{name: "names that have moved", kind: "v1 Service",
			recorded: "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}",
			want:     "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}",
			live: "{ports: [{name: u, port: 53, protocol: SCTP}, {name: t, port: 53, " +
				"protocol: UDP}]}",
			result: "{ports: [{name: u, port: 53, protocol: UDP}, {name: t, port: 53}]}"},
		{name: "port of the node", kind: "v1 Pod",
			want: "{containers: [{name: a, ports: [{containerPort: 53, hostPort: 65}]}]}",
			live: "{containers: [{name: a, ports: [{containerPort: 72, hostPort: 65, " +
				"protocol: TCP, name: x}, {containerPort: 7, hostPort: 65, protocol: UDP}]}]}",
			result: "{containers: [{name: a, ports: [{containerPort: 7, hostPort: 65, " +
				"protocol: UDP}, {containerPort: 53, hostPort: 65}]}]}"},
	} {
		t.Run(tc.name, tc.check)
	}
}

// TestItemsOfOthers merges lists that lack a desired item, and have one that is like it: nobody
// knows whether somebody has renamed the item or has added another one, and both can be beside each
// other.
func TestItemsOfOthers(t *testing.T) {
	const (
		volume = "{containers: [{name: a}], volumes: [{name: tmp, emptyDir: {}}]}"
		env    = `{containers: [{name: a, env: [{name: A, value: "true"}]}]}`
		mount  = "{containers: [{name: a, volumeMounts: [{mountPath: /a, name: v}]}]}"
		ports  = "{containers: [{name: a, ports: [{containerPort: 80}]}]}"
		main   = "{containers: [{name: a, image: i}]}"
		spread = "{topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: ScheduleAnyway, " +
			"maxSkew: 1}]}"
	)
	for _, tc := range []mergedSpec{
		{name: "volume of an injector", recorded: volume, want: volume,
			live: "{containers: [{name: a}], volumes: [{name: token, secret: {secretName: s}}]}",
			result: "{containers: [{name: a}], volumes: [{name: tmp, emptyDir: {}}, " +
				"{name: token, secret: {secretName: s}}]}"},
		{name: "volume of the same type", recorded: volume, want: volume,
			live: "{containers: [{name: a}], volumes: [{name: theirs, emptyDir: {}}]}",
			result: "{containers: [{name: a}], volumes: [{name: tmp, emptyDir: {}}, " +
				"{name: theirs, emptyDir: {}}]}"},
		{name: "variable with the same value", recorded: env, want: env,
			live: `{containers: [{name: a, env: [{name: THEIRS, value: "true"}, {name: F}]}]}`,
			result: `{containers: [{name: a, env: [{name: A, value: "true"}, ` +
				`{name: THEIRS, value: "true"}, {name: F}]}]}`},
		{name: "mount of the same volume", recorded: mount, want: mount,
			live: "{containers: [{name: a, volumeMounts: [{mountPath: /b, name: v}]}]}",
			result: "{containers: [{name: a, volumeMounts: [{mountPath: /a, name: v}, " +
				"{mountPath: /b, name: v}]}]}"},
		{name: "port of a container", recorded: ports, want: ports,
			live: "{containers: [{name: a, ports: [{containerPort: 81, protocol: TCP}]}]}",
			result: "{containers: [{name: a, ports: [{containerPort: 80}, " +
				"{containerPort: 81, protocol: TCP}]}]}"},
		{name: "container with the same image", recorded: main, want: main,
			live:   "{containers: [{name: b, image: i}]}",
			result: "{containers: [{name: a, image: i}, {name: b, image: i}]}"},
		{name: "constraint", recorded: spread, want: spread,
			live: "{topologySpreadConstraints: [{topologyKey: b, whenUnsatisfiable: ScheduleAnyway, " +
				"maxSkew: 1}]}",
			result: "{topologySpreadConstraints: [{topologyKey: a, whenUnsatisfiable: ScheduleAnyway, " +
				"maxSkew: 1}, {topologyKey: b, whenUnsatisfiable: ScheduleAnyway, maxSkew: 1}]}"},
	} {
		tc.kind = "v1 Pod"
		t.Run(tc.name, func(t *testing.T) {
			tc.check(t)
			in := Comparison{Base: tc.object(t, tc.recorded), Want: tc.object(t, tc.want),
				Live: tc.object(t, tc.live), Manager: "me", Operation: "Apply"}
			if found, err := Obstacles(in); err != nil || len(found) > 0 {
				t.Errorf("in the way: %+v, %v", found, err)
			}
		})
	}
}

// TestAloneItems merges lists whose items must be the only ones if they have no name.
func TestAloneItems(t *testing.T) {
	for _, tc := range []mergedSpec{
		{name: "others", kind: "v1 Service", want: "{ports: [{port: 80}]}",
			live:   "{ports: [{name: a, port: 83, protocol: TCP}, {name: b, port: 84, protocol: TCP}]}",
			result: "{ports: [{port: 80}]}"},
		{name: "an edited one, not recorded", kind: "v1 Service", want: "{ports: [{port: 80}]}",
			live:   "{ports: [{port: 83, protocol: TCP}]}",
			result: "{ports: [{port: 80}]}"},
		{name: "the same, named since", kind: "v1 Service",
			want:   "{ports: [{name: a, port: 80}, {name: b, port: 81}]}",
			live:   "{ports: [{port: 83, protocol: TCP}]}",
			result: "{ports: [{name: a, port: 80}, {name: b, port: 81}]}"},
		{name: "the same port", kind: "v1 Service", want: "{ports: [{port: 80}]}",
			live:      "{ports: [{name: a, port: 80, protocol: TCP}, {name: b, port: 84, protocol: TCP}]}",
			result:    "{ports: [{name: a, port: 80, protocol: TCP}, {name: b, port: 84, protocol: TCP}]}",
			unchanged: true},
	} {
		t.Run(tc.name, tc.check)
	}
}

// TestFormerNames merges objects whose live state has a field under its former name as well: both
// are removed, unless somebody has set the former one otherwise.
func TestFormerNames(t *testing.T) {
	const spec = "{template: {spec: {serviceAccountName: s, enableServiceLinks: true}}}"
	for _, tc := range []mergedSpec{
		{name: "removed", kind: "apps/v1 Deployment", recorded: spec,
			want: "{template: {spec: {enableServiceLinks: true}}}",
			live: "{template: {spec: {serviceAccountName: s, serviceAccount: s, " +
				"enableServiceLinks: true}}}",
			result: "{template: {spec: {enableServiceLinks: true}}}"},
		{name: "removed with all", kind: "v1 Pod", recorded: "{serviceAccountName: s}", want: "{}",
			live: "{serviceAccountName: s, serviceAccount: s}", result: "{}"},
		{name: "under the former name", kind: "v1 Pod", recorded: "{serviceAccountName: s}",
			want: "{serviceAccount: s}", live: "{serviceAccountName: s, serviceAccount: s}",
			result: "{serviceAccountName: s, serviceAccount: s}", unchanged: true},
		{name: "changed under the former name", kind: "v1 Pod", recorded: "{serviceAccount: s}",
			want: "{serviceAccount: t}", live: "{serviceAccountName: s, serviceAccount: s}",
			result: "{serviceAccount: t}"},
		{name: "removed under the former name", kind: "v1 Pod", recorded: "{serviceAccount: s}",
			want: "{}", live: "{serviceAccountName: s, serviceAccount: s}", result: "{}"},
		{name: "set to nothing", kind: "apps/v1 Deployment",
			recorded: "{template: {spec: {serviceAccountName: s}}}",
			want:     `{template: {spec: {serviceAccountName: ""}}}`,
			live:     "{template: {spec: {serviceAccountName: s, serviceAccount: s}}}",
			result:   `{template: {spec: {serviceAccountName: ""}}}`},
		{name: "set to nothing, not recorded", kind: "v1 Pod", recorded: "{}",
			want: `{serviceAccountName: ""}`, live: "{serviceAccountName: s, serviceAccount: s}",
			result: `{serviceAccountName: ""}`},
		{name: "set to nothing under the former name", kind: "v1 Pod", recorded: "{}",
			want: `{serviceAccount: ""}`, live: "{serviceAccountName: s, serviceAccount: s}",
			result: `{serviceAccount: ""}`},
		{name: "nothing, in both", kind: "v1 Pod", recorded: "{serviceAccountName: s}",
			want: `{serviceAccountName: ""}`, live: "{}", result: "{}", unchanged: true},
		{name: "not recorded", kind: "v1 Pod", recorded: "{}", want: "{}", unchanged: true,
			live:   "{serviceAccountName: s, serviceAccount: s}",
			result: "{serviceAccountName: s, serviceAccount: s}"},
	} {
		t.Run(tc.name, tc.check)
	}
	live := objectOf(t, `
apiVersion: v1
kind: Pod
metadata:
  name: a
  managedFields:
  - {manager: me, operation: Apply, apiVersion: v1, fieldsType: FieldsV1,
     fieldsV1: {"f:spec": {"f:serviceAccountName": {}}}}
spec: {serviceAccountName: s, serviceAccount: s}`)
	want := objectOf(t, "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}")
	found, err := Obstacles(Comparison{Want: want, Live: live, Manager: "me", Operation: "Apply"})
	if err != nil || len(found) != 1 || found[0].Field != ".spec.serviceAccount" {
		t.Errorf("%+v, %v", found, err)
	}
	_ = unstructured.SetNestedField(want.Object, "t", "spec", "serviceAccount")
	found, err = Obstacles(Comparison{Want: want, Live: live, Manager: "me", Operation: "Apply"})
	if err != nil || len(found) != 0 {
		t.Errorf("%+v, %v: the apply removes what it has applied", found, err)
	}
	unstructured.RemoveNestedField(want.Object, "spec", "serviceAccount")
	entries := live.GetManagedFields()
	entries[0].FieldsV1.SetRawBytes([]byte(`{"f:spec":{"f:serviceAccount":{}}}`))
	live.SetManagedFields(entries)
	found, err = Obstacles(Comparison{Want: want, Live: live, Manager: "me", Operation: "Apply"})
	if err != nil || len(found) != 1 || found[0].Field != ".spec.serviceAccountName" {
		t.Errorf("applied under the former name: %+v, %v", found, err)
	}
}

// TestObstacles finds what is in the way of a server-side apply, with its owners, and makes the
// applier the only one of its appliers.
func TestObstacles(t *testing.T) {
	live := objectOf(t, `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: a
  resourceVersion: "7"
  managedFields:
  - {manager: me, operation: Apply, apiVersion: apps/v1, fieldsType: FieldsV1,
     fieldsV1: {"f:spec": {"f:replicas": {}}}}
  - {manager: edit, operation: Update, apiVersion: apps/v1, fieldsType: FieldsV1,
     fieldsV1: {"f:spec": {"f:paused": {}, "f:strategy": {"f:rollingUpdate": {"f:maxSurge": {}}}}}}
spec: {replicas: 1, paused: true, strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 1}}}`)
	want := objectOf(t, `
apiVersion: apps/v1
kind: Deployment
metadata: {name: a}
spec: {replicas: 1, strategy: {type: Recreate}}`)
	in := Comparison{Want: want, Live: live, Manager: "me", Operation: "Apply"}
	found, err := Obstacles(in)
	if err != nil || len(found) != 1 || found[0].Field != ".spec.strategy.rollingUpdate" ||
		len(found[0].Owners) != 1 || found[0].Owners[0].Manager != "edit" {
		t.Fatalf("%+v, %v", found, err)
	}
	patch, err := ClaimPatch(live, found, "me")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`{"f:spec":{"f:replicas":{},"f:strategy":{"f:rollingUpdate":{".":{},"f:maxSurge":{}}}}}`,
		`{"f:spec":{"f:paused":{}}}`, `"path":"/metadata/resourceVersion","value":"7"`,
	} {
		if !strings.Contains(string(patch.Data), part) {
			t.Errorf("%s lacks %s", patch.Data, part)
		}
	}
	result, err := ApplyResult(want, live, found, Applier{Manager: "me"})
	const sent = `{"spec":{"strategy":` +
		`{"$retainKeys":["type"],"rollingUpdate":null,"type":"Recreate"}}}`
	if err != nil || string(result.Data) != sent {
		t.Errorf("%s, %v", result.Data, err)
	}
}
