package livetree

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/ready"
)

var (
	podKind        = schema.GroupKind{Kind: "Pod"}
	jobKind        = schema.GroupKind{Group: "batch", Kind: "Job"}
	replicaSetKind = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
)

// operated are the built-in kinds that controllers of custom resources create. Secrets are not
// searched: their lists hold their values.
var operated = []schema.GroupKind{
	{Group: "apps", Kind: "Deployment"},
	{Group: "apps", Kind: "StatefulSet"},
	{Group: "apps", Kind: "DaemonSet"},
	replicaSetKind,
	jobKind,
	{Group: "batch", Kind: "CronJob"},
	podKind,
	{Kind: "Service"},
	{Group: "discovery.k8s.io", Kind: "EndpointSlice"},
	{Kind: "ConfigMap"},
	{Kind: "PersistentVolumeClaim"},
	{Group: "networking.k8s.io", Kind: "Ingress"},
}

// maxRelatives is how many kinds of related groups are searched for a custom resource. Groups with
// more, as those of clouds, hold kinds that users create.
const maxRelatives = 25

// OwnedKinds returns the kinds of which controllers may own objects for an object of a kind, what
// these own included. For a custom resource these are the built-in kinds that controllers usually
// create, and the kinds of its own group, of those below it and of the one above.
func OwnedKinds(gk schema.GroupKind, served []cluster.ListableKind) []schema.GroupKind {
	if known := ready.ChildKinds(gk); known != nil {
		return known
	}
	if gk == (schema.GroupKind{Group: "batch", Kind: "CronJob"}) {
		return []schema.GroupKind{jobKind, podKind}
	}
	if !isCustom(gk.Group) {
		return nil
	}
	var relatives []schema.GroupKind
	for _, kind := range served {
		if kind.Namespaced && kind.GroupKind != gk && isRelated(kind.Group, gk.Group) {
			relatives = append(relatives, kind.GroupKind)
		}
	}
	if len(relatives) > maxRelatives {
		relatives = nil
	}
	return slices.Concat(operated, relatives)
}

// isCustom reports whether the kinds of a group may have controllers that are not of Kubernetes, as
// gateways have.
func isCustom(group string) bool {
	return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") ||
		strings.HasSuffix(group, ".x-k8s.io") || group == "gateway.networking.k8s.io"
}

// isRelated reports whether one of two groups is the other one, or below it.
func isRelated(a, b string) bool {
	return a == b || strings.HasSuffix(a, "."+b) || strings.HasSuffix(b, "."+a)
}
