package ready

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// LikeKstatus returns a rule for programs that relied on kstatus: it waits for no object that
// kstatus would not wait for, except of the kinds that kstatus has a function for. Those have a
// native function that is stricter in a few states. The rule belongs behind all others.
func LikeKstatus() Rule {
	return Rule{schema.GroupKind{Group: wildcard, Kind: wildcard}, likeKstatus}
}

// kstatusKinds are the kinds that kstatus has a function for.
var kstatusKinds = map[schema.GroupKind]bool{
	{Kind: "ConfigMap"}:                                               true,
	{Kind: "PersistentVolumeClaim"}:                                   true,
	{Kind: "Pod"}:                                                     true,
	{Kind: "Secret"}:                                                  true,
	{Kind: "Service"}:                                                 true,
	{Group: "apps", Kind: "DaemonSet"}:                                true,
	{Group: "apps", Kind: "Deployment"}:                               true,
	{Group: "apps", Kind: "ReplicaSet"}:                               true,
	{Group: "apps", Kind: "StatefulSet"}:                              true,
	{Group: "batch", Kind: "CronJob"}:                                 true,
	{Group: "batch", Kind: "Job"}:                                     true,
	{Group: "extensions", Kind: "DaemonSet"}:                          true,
	{Group: "extensions", Kind: "Deployment"}:                         true,
	{Group: "extensions", Kind: "ReplicaSet"}:                         true,
	{Group: "policy", Kind: "PodDisruptionBudget"}:                    true,
	{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}: true,
}

// likeKstatus judges by generations and the conditions Reconciling, Stalled and Ready alone.
// Without any of them an object is current. If it is natively, too, it has that message.
func likeKstatus(obj *unstructured.Unstructured) Status {
	for _, judge := range [...]judge{ByGeneration, byProgress} {
		if s := judge(obj); s.State != "" {
			return s
		}
	}
	kind := kindOf(obj)
	switch {
	case kind == (schema.GroupKind{Group: "apps", Kind: "StatefulSet"}) && isOnDelete(obj):
		return userUpdated()
	case kstatusKinds[kind]:
		return Status{}
	}
	if s := byReady(obj); s.State != "" {
		return s
	}
	var s Status
	if judge := builtin(kind); judge != nil {
		s = judge(obj)
	}
	if s.State == "" {
		s = byConvention(kind, obj)
	}
	if s.State != Current {
		return current("Resource is current")
	}
	return s
}
