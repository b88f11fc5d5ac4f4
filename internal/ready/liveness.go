package ready

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// liveness is the liveness probe of a container without another probe. Such a container is ready
// until the kubelet kills it, however its probe fails.
type liveness struct {
	container string
	period    time.Duration
	failures  int64 // in a row, after which the container is killed
	grace     time.Duration
}

// eventSlack is how long after a probe has failed the event about that may come.
const eventSlack = 2 * time.Second

// livenessOf returns the liveness probes of the containers in a specification that have no other
// probe.
func livenessOf(spec any) (found []liveness) {
	for _, c := range maps(member(spec, "containers")) {
		probe := member(c, "livenessProbe")
		if probe == nil || member(c, "readinessProbe") != nil || member(c, "startupProbe") != nil {
			continue
		}
		number := func(of any, name string, otherwise int64) int64 {
			if n, ok := wholeNumber(member(of, name)); ok && n > 0 {
				return min(n, 3600)
			}
			return otherwise
		}
		grace := number(spec, "terminationGracePeriodSeconds", 30)
		found = append(found, liveness{
			container: str(c, "name"), failures: number(probe, "failureThreshold", 3),
			period: time.Duration(number(probe, "periodSeconds", 10)) * time.Second,
			grace:  time.Duration(number(probe, "terminationGracePeriodSeconds", grace)) * time.Second,
		})
	}
	return found
}

// NeedsEvents reports whether events of pods show more of a workload than the pods.
func (w *Workload) NeedsEvents() bool { return len(w.liveness) > 0 }

// ProbeTrial returns the trial of a workload with pods, not older than its last change, whose
// liveness probe has failed a moment ago according to events; nil if it has none. The trial is over
// when the probe should have failed again. After the last failure that is tolerated it lasts until
// the container should have ended.
func (w *Workload) ProbeTrial(
	pods *PodSet, events *RelatedObjects, changed, now time.Time,
) *Trial {
	var trial *Trial
	for _, p := range pods.of(w) {
		if p.ended || p.leaving || p.Created.Before(changed) {
			continue
		}
		for _, probe := range w.liveness {
			last, failures := events.livenessFailures(p.uid, probe.container)
			until := last.Add(probe.period + eventSlack)
			if failures >= probe.failures {
				until = until.Add(probe.grace)
			}
			// Anybody may write events of another time.
			known := failures > 0 && !last.After(now.Add(eventSlack))
			if !known || !until.After(now) || trial != nil && !until.After(trial.Until) {
				continue
			}
			trial = &Trial{Until: until, Failed: true, Status: inProgress("LivenessProbeFailed", fmt.Sprintf(
				"The liveness probe of container %s of pod %s fails", probe.container, p.Ref.Name))}
		}
	}
	return trial
}

// livenessFailures returns when the liveness probe of a container of a pod has failed last, and how
// often it has, according to events.
func (f *RelatedObjects) livenessFailures(
	pod types.UID, container string,
) (last time.Time, failures int64) {
	for _, related := range f.events[pod] {
		w := related.warning
		if w.container != container || w.probe() != "liveness" {
			continue
		}
		failures += int64(w.count)
		if at, err := time.Parse(secondsLayout, w.time); err == nil && at.After(last) {
			last = at
		}
	}
	return last, failures
}

// livenessOfWorkload returns the liveness probes that decide about a workload, or a pod.
func livenessOfWorkload(obj *unstructured.Unstructured) []liveness {
	if kindOf(obj) == podKind {
		return livenessOf(field(obj, "spec"))
	}
	return livenessOf(member(field(obj, "spec", "template"), "spec"))
}
