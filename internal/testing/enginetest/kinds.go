package enginetest

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/object"
)

// The kinds that differ from others. TestContract compares these tables with a server.
var (
	// createdByReplace are the kinds whose objects the server creates when a missing one is replaced,
	// unless the request names a UID: see AllowCreateOnUpdate of their strategies.
	createdByReplace = kinds(`
		Endpoints Event Event.events.k8s.io LimitRange Service
		Lease.coordination.k8s.io LeaseCandidate.coordination.k8s.io RuntimeClass.node.k8s.io
		ClusterRole.rbac.authorization.k8s.io ClusterRoleBinding.rbac.authorization.k8s.io
		Role.rbac.authorization.k8s.io RoleBinding.rbac.authorization.k8s.io`)

	// replacedByVersion are the built-in kinds whose objects are replaced only with a resource
	// version, as those of all custom kinds: see AllowUnconditionalUpdate.
	replacedByVersion = kinds(`
		PodDisruptionBudget.policy Lease.coordination.k8s.io CSIDriver.storage.k8s.io
		RuntimeClass.node.k8s.io ValidatingWebhookConfiguration.admissionregistration.k8s.io
		MutatingWebhookConfiguration.admissionregistration.k8s.io
		ValidatingAdmissionPolicy.admissionregistration.k8s.io
		ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io`)

	// ungenerated are the kinds whose objects have no generation.
	ungenerated = kinds(`
		ConfigMap Endpoints Event LimitRange Namespace PersistentVolume PersistentVolumeClaim
		ResourceQuota Secret Service ServiceAccount ControllerRevision.apps
		HorizontalPodAutoscaler.autoscaling Lease.coordination.k8s.io Event.events.k8s.io
		RuntimeClass.node.k8s.io ClusterRole.rbac.authorization.k8s.io
		ClusterRoleBinding.rbac.authorization.k8s.io Role.rbac.authorization.k8s.io
		RoleBinding.rbac.authorization.k8s.io CSIDriver.storage.k8s.io StorageClass.storage.k8s.io`)

	// leaves are the kinds of which the answer to a deletion is the object, even if it is removed.
	leaves = kinds(`
		Namespace PersistentVolume PersistentVolumeClaim Pod PodTemplate ResourceQuota Service
		ServiceAccount CSIDriver.storage.k8s.io StorageClass.storage.k8s.io`)

	// generatedBy are the fields of metadata whose changes increment the generation, too.
	generatedBy = map[schema.GroupKind]string{
		{Group: "apps", Kind: "Deployment"}:                "annotations",
		{Group: "discovery.k8s.io", Kind: "EndpointSlice"}: "labels",
	}
)

// kinds returns the set of the kinds of a text.
func kinds(text string) map[schema.GroupKind]bool {
	found := map[schema.GroupKind]bool{}
	for word := range strings.FieldsSeq(text) {
		found[schema.ParseGroupKind(word)] = true
	}
	return found
}

// isCustom reports whether a kind is not built in.
func isCustom(gvk schema.GroupVersionKind) bool {
	_, builtIn := builtin.TypeMeta(gvk)
	return !builtIn
}

// hasStatus reports whether the status of a kind is written through its own subresource: if it has
// a definition, whether that has the subresource.
func (c *Cluster) hasStatus(gvk schema.GroupVersionKind) bool {
	version := c.definitionOf(gvk)
	if version == nil {
		return true
	}
	_, found, _ := unstructured.NestedFieldNoCopy(version, "subresources", "status")
	return found
}

// mergesByKeys reports whether the definition of a kind has lists whose items have keys.
func (c *Cluster) mergesByKeys(gvk schema.GroupVersionKind) bool {
	return strings.Contains(fmt.Sprint(c.definitionOf(gvk)["schema"]), "x-kubernetes-list-map-keys")
}

// definitionOf returns the version of a definition that defines a kind, nil if there is none.
func (c *Cluster) definitionOf(gvk schema.GroupVersionKind) map[string]any {
	for ref, crd := range c.objects {
		if ref.Kind != "CustomResourceDefinition" {
			continue
		}
		group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
		kind, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "kind")
		if group != gvk.Group || kind != gvk.Kind {
			continue
		}
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, version := range versions {
			if fields, _ := version.(map[string]any); fields["name"] == gvk.Version {
				return fields
			}
		}
	}
	return nil
}

// convertible returns an error unless an object is stored in a version of its kind; empty is any.
func convertible(obj *unstructured.Unstructured, version string) error {
	stored := obj.GroupVersionKind().Version
	if version == "" || version == stored {
		return nil
	}
	return fmt.Errorf("%s is stored in %s: a cluster in memory converts no objects to %s",
		object.RefOf(obj), stored, version)
}

func resourceOf(ref object.Ref) schema.GroupResource {
	return schema.GroupResource{Group: ref.Group, Resource: ref.Kind}
}
