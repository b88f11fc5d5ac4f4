package ready

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var (
	podKind           = schema.GroupKind{Kind: "Pod"}
	replicaSetKind    = schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	endpointSliceKind = schema.GroupKind{Group: "discovery.k8s.io", Kind: "EndpointSlice"}
)

// childKinds maps a kind to the kinds of its child objects.
var childKinds = map[schema.GroupKind][]schema.GroupKind{
	{Group: "apps", Kind: "Deployment"}:  {replicaSetKind, podKind},
	{Group: "apps", Kind: "ReplicaSet"}:  {podKind},
	{Group: "apps", Kind: "StatefulSet"}: {podKind},
	{Group: "apps", Kind: "DaemonSet"}:   {podKind},
	{Group: "batch", Kind: "Job"}:        {podKind},
	{Kind: "ReplicationController"}:      {podKind},
	{Kind: "Service"}:                    {endpointSliceKind},
}

// ChildKinds returns the kinds of the objects that controllers create and own for objects of a
// kind, grandchildren included, parents first. It returns nil for a kind without child objects.
// The caller must not change the result. Objects that controllers create and do not own, such as
// the claims of a StatefulSet, are not child objects.
func ChildKinds(kind schema.GroupKind) []schema.GroupKind { return childKinds[kind] }

// RunsPods reports whether the controllers of Kubernetes create pods for objects of a kind, perhaps
// by objects of other kinds.
func RunsPods(kind schema.GroupKind) bool {
	return slices.Contains(childKinds[kind], podKind) ||
		kind == schema.GroupKind{Group: "batch", Kind: "CronJob"}
}
