package builtin_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/builtin"
)

func TestImmutableChanges(t *testing.T) {
	for _, tc := range []struct{ kind, live, want, fields string }{
		{"batch/v1 Job", "spec: {template: {spec: {restartPolicy: Never}}}",
			"spec: {template: {spec: {restartPolicy: OnFailure}}}", "spec.template"},
		{"batch/v1 Job", "spec: {suspend: true, template: {spec: {restartPolicy: Never}}}",
			"spec: {suspend: true, template: {spec: {restartPolicy: OnFailure}}}", ""},
		{"batch/v1 Job", "spec: {completions: 2, parallelism: 1}",
			"spec: {completions: 3, parallelism: 2}", "spec.completions"},
		{"apps/v1 StatefulSet", "spec: {replicas: 1, serviceName: a, podManagementPolicy: Parallel}",
			"spec: {replicas: 2, serviceName: b, podManagementPolicy: Parallel}", "spec.serviceName"},
		{"v1 PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce], storageClassName: a, " +
			"resources: {requests: {storage: 1Gi}}, volumeName: v}",
			"spec: {accessModes: [ReadWriteMany], resources: {requests: {storage: 2Gi}}, volumeName: v}",
			"spec.accessModes spec.storageClassName"},
		{"v1 ConfigMap", "data: {a: b}", "data: {a: c}", ""},
		{"v1 ConfigMap", "{immutable: true, data: {a: b}}", "{immutable: true, data: {a: c}}", "data"},
		{"v1 Service", "spec: {clusterIP: 10.0.0.1}", "spec: {clusterIP: None}", "spec.clusterIP"},
		{"v1 Service", "spec: {clusterIP: 10.0.0.1}",
			"spec: {clusterIP: 10.0.0.1, type: NodePort}", ""},
		{"rbac.authorization.k8s.io/v1 RoleBinding", "roleRef: {kind: Role, name: a}",
			"roleRef: {kind: Role, name: b}", "roleRef"},
		{"storage.k8s.io/v1 StorageClass",
			"{provisioner: a, parameters: {b: c}, allowVolumeExpansion: true}",
			"{provisioner: a}", "parameters"},
		{"example.com/v1 Widget", "spec: {selector: a}", "spec: {selector: b}", ""},
	} {
		read := func(text string) map[string]any {
			object := map[string]any{}
			if err := yaml.Unmarshal([]byte(text), &object); err != nil {
				t.Fatal(err)
			}
			object["apiVersion"], object["kind"], _ = strings.Cut(tc.kind, " ")
			return object
		}
		got := builtin.ImmutableChanges(read(tc.live), read(tc.want))
		if strings.Join(got, " ") != tc.fields {
			t.Errorf("%s: %v; want %s", tc.kind, got, tc.fields)
		}
	}
}
