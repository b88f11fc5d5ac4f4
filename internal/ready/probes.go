package ready

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The time for which a probe may fail before that is a cause. Programs need a while to start, and
// the settings of their probes say how long, but not all of them with care.
const (
	leastTolerance = 10 * time.Second
	mostTolerance  = 30 * time.Second
)

// probeFailed is the reason of the events that a probe failed. Their messages begin with its kind.
const probeFailed = "Unhealthy"

// tolerancesOf returns how long the probes of a pod may fail, by container and kind of probe.
func tolerancesOf(pod *unstructured.Unstructured) map[string]time.Duration {
	found := map[string]time.Duration{}
	for _, part := range [...]string{"containers", "initContainers"} {
		for _, container := range list(pod, "spec", part) {
			for _, kind := range [...]string{"readiness", "liveness", "startup"} {
				if probe := member(container, kind+"Probe"); probe != nil {
					found[str(container, "name")+" "+kind] = tolerance(probe)
				}
			}
		}
	}
	return found
}

// tolerance returns how long a probe may fail: as long as it does before the kubelet acts, within
// limits.
func tolerance(probe any) time.Duration {
	failures, ok := wholeNumber(member(probe, "failureThreshold"))
	if !ok {
		failures = 3
	}
	period, ok := wholeNumber(member(probe, "periodSeconds"))
	if !ok {
		period = 10
	}
	least, most := int64(leastTolerance/time.Second), int64(mostTolerance/time.Second)
	seconds := min(max(failures, 1), most) * min(max(period, 1), most)
	return time.Duration(min(max(seconds, least), most)) * time.Second
}

// probe returns the kind of the probe that failed according to a warning; empty for others.
func (w *warning) probe() string {
	if w.reason != probeFailed {
		return ""
	}
	kind, _, _ := strings.Cut(w.message, " ")
	return strings.ToLower(kind)
}

// isOver reports whether a warning is about the startup probe of a container that is up.
func (w *warning) isOver(run containerRun) bool { return run.isUp && w.probe() == "startup" }

// toleratedUntil returns the time until which the failures of a probe are part of a start: since
// they began in the present run of the container. It is zero for other warnings, and for a pod that
// was ready before.
func (s *search) toleratedUntil(r *Evidence, w *warning) time.Time {
	kind, run := w.probe(), r.running[w.container]
	if kind == "" || r.Ref.GroupKind() != podKind || run.began != "" && r.changed > run.began {
		return time.Time{}
	}
	first := w.first
	for other := range s.warnings(r.UID) {
		if other.container == w.container && other.probe() == kind && other.time >= r.since(w.container) {
			first = min(first, other.first)
		}
	}
	failing, err := time.Parse(secondsLayout, max(first, run.began))
	if err != nil {
		return time.Time{}
	}
	return failing.Add(max(r.tolerances[w.container+" "+kind], leastTolerance))
}
