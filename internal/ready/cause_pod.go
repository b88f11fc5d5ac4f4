package ready

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// schedulingPatience is how long a pod may be unschedulable before it counts as stuck.
const schedulingPatience = 10 * time.Second

// podCauses returns why a pod is not scheduled, or why its containers do not run.
func podCauses(pod *unstructured.Unstructured) []Cause {
	if c := ConditionOf(pod, "PodScheduled"); c.Status == "False" {
		unscheduled := cause(pod, "cannot be scheduled: %s", oneLine(c.Message))
		// A pod without a volume is not stuck: the volume may be provisioned.
		unscheduled.Stuck = c.Reason == "Unschedulable" &&
			!strings.Contains(c.Message, "PersistentVolumeClaims")
		unscheduled.Patience = schedulingPatience
		unscheduled.Delay = claimDelay(c.Message)
		return []Cause{unscheduled}
	}
	var causes []Cause
	for _, container := range containers(pod) {
		if c, ok := containerCause(pod, container); ok && !isRunning(container) {
			causes = append(causes, c)
		}
	}
	if message := text(pod, "status", "message"); len(causes) == 0 && message != "" {
		causes = append(causes, cause(pod, "%s", oneLine(message)))
	}
	return causes
}

// isEnded reports whether all containers of a pod have ended for good.
func isEnded(pod *unstructured.Unstructured) bool {
	phase := text(pod, "status", "phase")
	return phase == "Failed" || phase == "Succeeded"
}

// isRunning reports whether a container runs, which it may after a failure.
func isRunning(container map[string]any) bool {
	return member(member(container, "state"), "running") != nil
}

// lastRunCauses returns the failures of containers that have been restarted.
func lastRunCauses(pod *unstructured.Unstructured) []Cause {
	var causes []Cause
	for _, container := range containers(pod) {
		if c, ok := containerCause(pod, container); ok && isRunning(container) {
			causes = append(causes, c)
		}
	}
	return causes
}

// pendingCauses returns an idle cause for a pod that has a node and no known error.
func pendingCauses(obj *unstructured.Unstructured) []Cause {
	if text(obj, "status", "phase") != "Pending" || text(obj, "spec", "nodeName") == "" {
		return nil
	}
	idle := cause(obj, "being started by node %s", text(obj, "spec", "nodeName"))
	idle.Idle = true
	return []Cause{idle}
}

// containerCause returns why one container does not run. A container that starts has no cause. Nor
// has one that runs without being ready: the events about its probes explain more.
func containerCause(pod *unstructured.Unstructured, container map[string]any) (Cause, bool) {
	name, reason := str(container, "name"), str(container, "state", "waiting", "reason")
	message := oneLine(str(container, "state", "waiting", "message"))
	switch reason {
	case "", "CrashLoopBackOff":
		return terminationCause(pod, container, reason != "")
	case "ContainerCreating", "PodInitializing":
		return Cause{}, false
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		c := cause(pod, "container %s: image %q: %s",
			name, str(container, "image"), pullMessage(reason, message))
		c.Stuck = reason != "ErrImagePull" // the kubelet retries
		c.Certain = reason == "InvalidImageName"
		c.Once = c.Certain // a name that cannot be parsed stays so
		return c, true
	default:
		c := cause(pod, "container %s: %s", name, join(reason, message))
		c.grade(reason, message)
		return c, true
	}
}

// terminationCause describes a container that failed, in its current or last run. The message is
// the same in all states of a crash loop, so that its pods share one cause.
func terminationCause(
	pod *unstructured.Unstructured, container map[string]any, crashes bool,
) (Cause, bool) {
	ended, bad := termination(container, "state")
	previous := false
	if !bad && container["ready"] != true {
		ended, previous = termination(container, "lastState")
		bad = previous
	}
	if !bad && !crashes {
		return Cause{}, false
	}
	verb := ""
	if crashes || text(pod, "spec", "restartPolicy") != "Never" {
		verb = "crashes: it "
	}
	c := cause(pod, "container %s %s%s", str(container, "name"), verb, ended)
	c.Container, c.Previous, c.Stuck = str(container, "name"), previous || crashes, crashes
	return c, true
}

// pullMessage returns the message of a failed pull without the image. ErrImagePull and
// ImagePullBackOff, which alternate, thus have the same message.
func pullMessage(reason, message string) string {
	if _, detail, ok := strings.Cut(message, "ErrImagePull: "); ok {
		return detail
	}
	if message == "" {
		return reason
	}
	return message
}

// termination describes the termination in one of a container's states, and reports whether it was
// a failure.
func termination(container map[string]any, state string) (string, bool) {
	terminated, _ := member(member(container, state), "terminated").(map[string]any)
	code, ok := terminated["exitCode"]
	if !ok {
		return "ended", false
	}
	words := fmt.Sprintf("ended with exit code %v", code)
	reason := str(terminated, "reason")
	if reason != "Error" && reason != "Completed" && reason != "" {
		words += " (" + reason + ")"
	}
	if message := oneLine(str(terminated, "message")); message != "" {
		words += ": " + message
	}
	return words, fmt.Sprint(code) != "0"
}
