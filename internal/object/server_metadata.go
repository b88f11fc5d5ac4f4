package object

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// serverMetadata are the fields of metadata that only the server writes, sorted.
var serverMetadata = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "resourceVersion", "selfLink", "uid",
}

// serverAnnotations are the annotations that the server and its controllers write again whenever
// others set them, by kind.
var serverAnnotations = map[schema.GroupKind][]string{
	{Group: "apps", Kind: "Deployment"}: {"deployment.kubernetes.io/revision"},
	{Group: "apps", Kind: "ReplicaSet"}: {
		"deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas",
		"deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history",
	},
	{Group: "apps", Kind: "DaemonSet"}: {"deprecated.daemonset.template.generation"},
	{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}: {
		"autoscaling.alpha.kubernetes.io/conditions",
		"autoscaling.alpha.kubernetes.io/current-metrics",
	},
	{Kind: "Endpoints"}: {"endpoints.kubernetes.io/last-change-trigger-time"},
}

// ServerMetadata returns the fields of metadata that only the server writes, sorted.
func ServerMetadata() []string { return slices.Clone(serverMetadata) }

// ServerAnnotations returns the annotations of a kind that the server and its controllers write
// again whenever others set them, sorted.
func ServerAnnotations(kind schema.GroupKind) []string {
	return slices.Clone(serverAnnotations[kind])
}

// WithoutServerAnnotations returns an object without the annotations that ServerAnnotations
// returns: the object itself if it has none of them, which may be nil.
func WithoutServerAnnotations(obj *unstructured.Unstructured) *unstructured.Unstructured {
	if obj == nil {
		return nil
	}
	keys := serverAnnotations[obj.GroupVersionKind().GroupKind()]
	all := AnnotationsOf(obj)
	if !slices.ContainsFunc(keys, func(key string) bool { return all[key] != nil }) {
		return obj
	}
	return WithMetadata(obj, func(metadata map[string]any) {
		DeleteAnnotations(metadata, keys...)
	})
}

// DeleteAnnotations deletes annotations in the metadata of an object, and the map if it has no
// others.
func DeleteAnnotations(metadata map[string]any, keys ...string) {
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, key := range keys {
		delete(annotations, key)
	}
	if annotations != nil && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
}
