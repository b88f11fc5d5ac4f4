package sets

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/openapi"
	"github.com/muster-deploy/muster/internal/plan"
)

// clusterScoped are the built-in kinds whose objects are in no namespace, by group.
var clusterScoped = map[string][]string{
	"": {"ComponentStatus", "Namespace", "Node", "PersistentVolume"},
	"admissionregistration.k8s.io": {"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding",
		"MutatingWebhookConfiguration", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
		"ValidatingWebhookConfiguration"},
	"apiextensions.k8s.io":         {"CustomResourceDefinition"},
	"apiregistration.k8s.io":       {"APIService"},
	"certificates.k8s.io":          {"CertificateSigningRequest", "ClusterTrustBundle"},
	"flowcontrol.apiserver.k8s.io": {"FlowSchema", "PriorityLevelConfiguration"},
	"gateway.networking.k8s.io":    {"GatewayClass"},
	"networking.k8s.io":            {"IPAddress", "IngressClass", "ServiceCIDR"},
	"node.k8s.io":                  {"RuntimeClass"},
	"rbac.authorization.k8s.io":    {"ClusterRole", "ClusterRoleBinding"},
	"resource.k8s.io":              {"DeviceClass", "DeviceTaintRule", "ResourceSlice"},
	"scheduling.k8s.io":            {"PriorityClass"},
	"storage.k8s.io": {"CSIDriver", "CSINode", "StorageClass", "VolumeAttachment",
		"VolumeAttributesClass"},
}

// Offline returns a cluster for the plan of a set that asks no server: it has no objects but the
// namespaces that the set does not describe, and knows all kinds of the set. Assumed are the kinds
// that neither are built in nor have a definition in the set: their objects are taken to have a
// namespace. Only plans may be made with it.
func Offline(set Set) (c cluster.Writer, assumed []schema.GroupKind) {
	o := &offlineCluster{kinds: map[schema.GroupKind]*cluster.Kind{}, described: object.NewSet()}
	defined := map[schema.GroupKind]bool{}
	for _, obj := range set.described() {
		o.described.Insert(object.RefOf(obj.Unstructured))
		o.addVersion(obj.GroupVersionKind())
		if gk, ok := plan.DefinedKind(obj.Unstructured); ok {
			defined[gk] = true
		}
	}
	for gk := range o.kinds {
		if !defined[gk] && !isBuiltin(gk) {
			assumed = append(assumed, gk)
		}
	}
	slices.SortFunc(assumed, func(a, b schema.GroupKind) int {
		return object.Compare(object.Ref{Group: a.Group, Kind: a.Kind},
			object.Ref{Group: b.Group, Kind: b.Kind})
	})
	return o, assumed
}

// isBuiltin reports whether a kind is one of Kubernetes.
func isBuiltin(gk schema.GroupKind) bool {
	_, known := clusterScoped[gk.Group]
	return known || slices.Contains([]string{"apps", "autoscaling", "batch", "coordination.k8s.io",
		"discovery.k8s.io", "events.k8s.io", "policy"}, gk.Group)
}

// offlineCluster is what Offline returns. The methods of the embedded interface are those of writes
// and watches, which no plan calls.
type offlineCluster struct {
	cluster.Writer
	kinds     map[schema.GroupKind]*cluster.Kind
	described *object.Set
}

// addVersion makes a version of a kind known.
func (c *offlineCluster) addVersion(gvk schema.GroupVersionKind) *cluster.Kind {
	gk := gvk.GroupKind()
	kind := c.kinds[gk]
	if kind == nil {
		kind = &cluster.Kind{
			Resource:   gvk.GroupVersion().WithResource(gk.Kind),
			Namespaced: !slices.Contains(clusterScoped[gk.Group], gk.Kind),
		}
		c.kinds[gk] = kind
	}
	if !slices.Contains(kind.Served, gvk.Version) {
		kind.Served = append(kind.Served, gvk.Version)
	}
	return kind
}

// Kind returns a kind. One that is not in the set exists in the version v1.
func (c *offlineCluster) Kind(_ context.Context, gk schema.GroupKind) (cluster.Kind, error) {
	if kind := c.kinds[gk]; kind != nil {
		return *kind, nil
	}
	return *c.addVersion(gk.WithVersion("v1")), nil
}

// LearnKind sets the scope of the kind that a definition defines.
func (c *offlineCluster) LearnKind(_ context.Context, crd *unstructured.Unstructured) error {
	if gk, ok := plan.DefinedKind(crd); ok {
		scope, _, _ := unstructured.NestedString(crd.Object, "spec", "scope")
		c.addVersion(gk.WithVersion("v1")).Namespaced = scope != "Cluster"
	}
	return nil
}

// AwaitKind does nothing: all kinds exist.
func (c *offlineCluster) AwaitKind(context.Context, schema.GroupVersionKind) error { return nil }

// Read returns the namespaces among the targets that the set does not describe.
func (c *offlineCluster) Read(
	_ context.Context, targets []cluster.Target,
) (*cluster.Snapshot, error) {
	found := map[object.Ref]*unstructured.Unstructured{}
	for _, target := range targets {
		if target.Ref.GroupKind() == plan.NamespaceKind && !c.described.Has(target.Ref) {
			found[target.Ref] = &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": target.Ref.Name},
			}}
		}
	}
	return &cluster.Snapshot{
		Objects: found, Unserved: object.NewSet(), NoKind: object.NewSet(),
	}, nil
}

// List returns nothing.
func (c *offlineCluster) List(
	context.Context, schema.GroupKind, string, map[string]string,
) ([]*unstructured.Unstructured, error) {
	return nil, nil
}

// ListMetadata returns nothing.
func (c *offlineCluster) ListMetadata(
	context.Context, schema.GroupKind, string, map[string]string,
) ([]metav1.ObjectMeta, error) {
	return nil, nil
}

// ListSecretMetadata returns nothing.
func (c *offlineCluster) ListSecretMetadata(
	context.Context, string, string, map[string]string,
) ([]metav1.ObjectMeta, error) {
	return nil, nil
}

// Select returns nothing.
func (c *offlineCluster) Select(
	context.Context, cluster.Selection,
) ([]*unstructured.Unstructured, error) {
	return nil, nil
}

// ListableKinds returns none.
func (c *offlineCluster) ListableKinds(
	context.Context,
) ([]cluster.ListableKind, map[schema.GroupVersion]error, error) {
	return nil, nil, nil
}

// WhyHidden returns nil: nothing exists.
func (c *offlineCluster) WhyHidden(context.Context, schema.GroupKind) error { return nil }

// Rediscover does nothing.
func (c *offlineCluster) Rediscover(context.Context) error { return nil }

// DelayedBindingClasses returns none.
func (c *offlineCluster) DelayedBindingClasses(context.Context) (map[string]bool, error) {
	return nil, nil
}

// PublishedSchemas returns nothing: nothing is written.
func (c *offlineCluster) PublishedSchemas(context.Context, string) (string, error) {
	return "", nil
}

// Throttled returns 0.
func (c *offlineCluster) Throttled() int64 { return 0 }

// ClockAhead returns 0.
func (c *offlineCluster) ClockAhead() time.Duration { return 0 }

// Schemas returns nothing.
func (c *offlineCluster) Schemas(
	context.Context, []schema.GroupVersion,
) (map[schema.GroupVersion]*openapi.Document, error) {
	return nil, nil
}

// Host returns nothing.
func (c *offlineCluster) Host() string { return "" }

// User returns nothing.
func (c *offlineCluster) User(context.Context) (string, error) { return "", nil }
