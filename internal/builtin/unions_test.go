package builtin

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// noUnions are the types with several optional structs that may be beside each other, without their
// versions.
var noUnions = strings.Fields(`
	admissionregistration.MatchResources admissionregistration.MutatingAdmissionPolicyBindingSpec
	admissionregistration.MutatingAdmissionPolicySpec admissionregistration.MutatingWebhook
	admissionregistration.ValidatingAdmissionPolicyBindingSpec
	admissionregistration.ValidatingAdmissionPolicySpec admissionregistration.ValidatingWebhook
	apiextensions.CustomResourceDefinitionVersion apiextensions.CustomResourceSubresources
	apiextensions.JSONSchemaProps apps.DeploymentSpec apps.StatefulSetSpec authorization.ResourceAttributes
	autoscaling.HorizontalPodAutoscalerBehavior autoscaling.MetricStatus batch.JobSpec
	core.Affinity core.CSIPersistentVolumeSource core.Container core.ContainerStatus
	core.EphemeralContainer core.Event core.Lifecycle core.NodeConfigStatus core.NodeStatus
	core.PersistentVolumeClaimSpec core.PodAffinityTerm core.PodSecurityContext core.PodSpec
	core.PodStatus core.SecurityContext discovery.Endpoint events.Event extensions.DeploymentSpec
	node.RuntimeClass node.RuntimeClassSpec
	scheduling.PodGroupSpec storage.VolumeAttachmentStatus`)

// TestUnions checks the table of unions: its types and members exist, each union of the server's
// schema for server-side apply is in it, and each type with several optional structs is a union or
// known to be none.
func TestUnions(t *testing.T) {
	fields := map[string]map[string]bool{} // of all versions
	structs := map[string]int{}
	names := slices.Collect(maps.Keys(table().types))
	for _, name := range slices.AppendSeq(names, maps.Keys(extensionTable().types)) {
		of := withoutVersion(name)
		if fields[of] == nil {
			fields[of] = map[string]bool{}
		}
		optional := 0
		for _, f := range typeNamed(name).structFields() {
			fields[of][f.name] = true
			if f.kind == "ptr" && f.elem.kind == "struct" && f.special == nil && f.elem.special == nil {
				optional++
			}
		}
		structs[of] = max(structs[of], optional)
	}
	known := map[string]union{}
	for _, u := range unions() {
		for _, name := range u.Types {
			known[name] = u
			for _, member := range append(u.members(), u.Discriminator) {
				if member != "" && !fields[name][member] {
					t.Errorf("%s has no field %s", name, member)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(structs)) {
		_, isUnion := known[name]
		isNone := slices.Contains(noUnions, name)
		if structs[name] > 1 && !isUnion && !isNone || isNone && (isUnion || structs[name] < 2) {
			t.Errorf("%s has %d optional structs: is it a union? %v, none? %v", name, structs[name],
				isUnion, isNone)
		}
	}
	for name, atom := range schemaTypes(t) {
		if atom.Map == nil || table().types[name] == "" {
			continue
		}
		for _, u := range atom.Map.Unions {
			for _, f := range u.Fields {
				got := known[withoutVersion(name)]
				if len(u.Fields)+len(got.Members) > 1 && !slices.Contains(got.members(), f.FieldName) {
					t.Errorf("%s lacks the member %s", name, f.FieldName)
				}
				if u.Discriminator != nil && got.Discriminator != *u.Discriminator {
					t.Errorf("the discriminator of %s is %s", name, *u.Discriminator)
				}
			}
		}
	}
}

// TestRivals looks for the live members of unions that cannot be beside the desired ones.
func TestRivals(t *testing.T) {
	type fields = map[string]any
	none := fields{}
	for _, tc := range []struct {
		name, of   string
		want, live fields
		rivals     []string
	}{
		{"a value for a source", "core/v1.EnvVar", fields{"name": "a", "valueFrom": none},
			fields{"name": "a", "value": "x"}, []string{"value"}},
		{"nothing wanted", "core/v1.EnvVar", fields{"name": "a"}, fields{"name": "a", "value": "x"},
			nil},
		{"both wanted", "core/v1.EnvVar", fields{"value": "a", "valueFrom": none},
			fields{"value": "x", "valueFrom": none}, nil},
		{"null", "core/v1.EnvVar", fields{"value": nil, "valueFrom": none}, fields{"value": "x"}, nil},
		{"probe", "core/v1.Probe", fields{"httpGet": none, "periodSeconds": int64(1)},
			fields{"grpc": none, "tcpSocket": none, "periodSeconds": int64(2), "timeoutSeconds": int64(1)},
			[]string{"grpc", "tcpSocket"}},
		{"named", "apps/v1.DeploymentStrategy", fields{"type": "Recreate"},
			fields{"type": "RollingUpdate", "rollingUpdate": none}, []string{"rollingUpdate"}},
		{"allowed", "apps/v1.DeploymentStrategy", fields{"type": "RollingUpdate"},
			fields{"type": "RollingUpdate", "rollingUpdate": none}, nil},
		{"unknown name", "apps/v1.DeploymentStrategy", fields{"type": "New"},
			fields{"type": "RollingUpdate", "rollingUpdate": none}, nil},
		{"the name is in the way", "apps/v1.DeploymentStrategy", fields{"rollingUpdate": none},
			fields{"type": "Recreate"}, []string{"type"}},
		{"peers together", "networking/v1.NetworkPolicyPeer", fields{"podSelector": none},
			fields{"namespaceSelector": none}, nil},
		{"peers", "networking/v1.NetworkPolicyPeer", fields{"podSelector": none},
			fields{"ipBlock": none}, []string{"ipBlock"}},
		{"old backend", "networking/v1beta1.IngressBackend", fields{"resource": none},
			fields{"serviceName": "a", "servicePort": int64(1)}, []string{"serviceName", "servicePort"}},
		{"metric", "autoscaling/v2.MetricSpec", fields{"type": "Pods", "pods": none},
			fields{"type": "Resource", "resource": none}, []string{"resource"}},
		{"no union", "core/v1.Affinity", fields{"podAffinity": none}, fields{"nodeAffinity": none}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, name := range []string{tc.of, "*" + tc.of} {
				got := Rivals(patchMetaLookup{typeNamed(name)}, tc.want, tc.live)
				if diff := cmp.Diff(tc.rivals, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}
