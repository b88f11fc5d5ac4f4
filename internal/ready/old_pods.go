package ready

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// rollout is how a StatefulSet or DaemonSet replaces the pods of earlier templates.
type rollout struct {
	revision string // of the current template; empty for other kinds
	onDelete bool   // pods are replaced only if somebody deletes them
	ordered  bool   // pods are replaced only while all are ready
	below    int64  // pods with lower ordinals keep the earlier template
}

// rolloutOf returns how a StatefulSet replaces its pods. The order is the default policy.
func rolloutOf(obj *unstructured.Unstructured) rollout {
	r := rollout{
		revision: text(obj, "status", "updateRevision"),
		onDelete: isOnDelete(obj),
		ordered:  text(obj, "spec", "podManagementPolicy") != "Parallel",
	}
	if p, ok := integer(obj, "spec", "updateStrategy", "rollingUpdate", "partition"); ok && p > 0 {
		r.below = p + count(obj, 0, "spec", "ordinals", "start")
	}
	return r
}

// revisionLabels are the labels of pods that hold the revision of their workload.
var revisionLabels = [...]string{"controller-revision-hash", "pod-template-generation"}

// isOutdated reports whether a child object was created from an earlier template.
func (r *Evidence) isOutdated(child *Evidence) bool {
	known := false
	for _, label := range revisionLabels {
		if child.labels[label] == r.rollout.revision {
			return false
		}
		known = known || child.labels[label] != ""
	}
	return known && r.rollout.revision != ""
}

// ordinal returns the number at the end of the name of a StatefulSet's pod; 0 if there is none.
func (r *Evidence) ordinal() int64 {
	n, _ := strconv.ParseInt(r.Ref.Name[strings.LastIndex(r.Ref.Name, "-")+1:], 10, 64)
	return n
}

// firstOutdated returns the outdated pod for which an ordered rollout waits; nil for none.
func (r *Evidence) firstOutdated(children []*Evidence) *Evidence {
	var first *Evidence
	for _, child := range children {
		waits := r.isOutdated(child) && !child.ended() && child.ordinal() >= r.rollout.below
		if waits && (first == nil || child.ordinal() < first.ordinal()) {
			first = child
		}
	}
	return first
}

// outdatedCause returns why the controller does not replace an outdated pod that is not ready. It
// reports false if the controller is about to replace it. First is the pod for which an ordered
// rollout waits. The cause of another pod in order has no message.
func (r *Evidence) outdatedCause(child, first *Evidence) (Cause, bool) {
	c := Cause{Object: child.Ref, Count: 1}
	switch {
	case child.ended(): // controllers replace ended pods at once
		return Cause{}, false
	case r.rollout.onDelete:
		c.Message = "of the earlier template, not replaced until deleted: " +
			"the update strategy is OnDelete"
		c.Replace = true
	case child.ordinal() < r.rollout.below:
		c.Message = "keeps the earlier template, since its ordinal is below the partition"
	case !r.rollout.ordered:
		return Cause{}, false
	case child == first:
		c.Message = "still has the earlier template, and the controller waits for it; delete the pod"
		c.Replace = true
	}
	return c, true
}

// addOutdated changes the causes of an outdated pod, which are those from an index on. If the
// controller is about to replace the pod, they are not stuck; else it inserts the reason before
// them.
func (s *search) addOutdated(r, child, first *Evidence, index int) {
	if index == len(s.found) {
		return
	}
	reason, waits := r.outdatedCause(child, first)
	if !waits {
		for i := index; i < len(s.found); i++ {
			s.found[i].Stuck, s.found[i].Certain = false, false
		}
		return
	}
	if reason.Message == "" {
		return
	}
	reason.Idle, reason.Delay = true, time.Duration(-1)
	for _, c := range s.found[index:] {
		reason.Idle = reason.Idle && c.Idle
		if reason.Delay < 0 || c.Delay < reason.Delay {
			reason.Delay = c.Delay
		}
	}
	s.found = slices.Insert(s.found, index, reason)
}
