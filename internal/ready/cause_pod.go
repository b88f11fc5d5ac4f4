package ready

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// placing is how long the scheduler may find no node for a pod before nobody expects one any more.
const placing = 10 * time.Second

// podCauses says what is wrong with a pod: that it has no node, or what keeps its containers.
func podCauses(pod *unstructured.Unstructured) []Cause {
	if c := ConditionOf(pod, "PodScheduled"); c.Status == "False" {
		unplaced := cause(pod, "cannot be scheduled: %s", oneLine(c.Message))
		// Nodes may be added, and volumes made.
		unplaced.Stuck = c.Reason == "Unschedulable" && !strings.Contains(c.Message, "PersistentVolumeClaims")
		unplaced.Patience = placing
		return []Cause{unplaced}
	}
	var causes []Cause
	for _, container := range containers(pod) {
		if c, ok := containerCause(pod, container); ok && !recovering(container) {
			causes = append(causes, c)
		}
	}
	if message := text(pod, "status", "message"); len(causes) == 0 && message != "" {
		causes = append(causes, cause(pod, "%s", oneLine(message)))
	}
	return causes
}

// recovering says of a container that it ended badly, but runs again. It may have ended long ago, and not be ready for other
// reasons.
func recovering(container map[string]any) bool {
	return member(member(container, "state"), "running") != nil
}

// recoveringCauses are the bad ends of containers that run again and are not ready yet.
func recoveringCauses(pod *unstructured.Unstructured) []Cause {
	var causes []Cause
	for _, container := range containers(pod) {
		if c, ok := containerCause(pod, container); ok && recovering(container) {
			causes = append(causes, c)
		}
	}
	return causes
}

// idleCauses speaks for a pod of which nothing bad is known: it has a node, but its node does nothing.
func idleCauses(obj *unstructured.Unstructured) []Cause {
	if text(obj, "status", "phase") != "Pending" || text(obj, "spec", "nodeName") == "" {
		return nil
	}
	idle := cause(obj, "is being started by node %s", text(obj, "spec", "nodeName"))
	idle.Idle = true
	return []Cause{idle}
}

// containerCause says what keeps one container. One that is merely being started has no cause; nor has one that runs and
// is not ready, of which the events of its probes tell more.
func containerCause(pod *unstructured.Unstructured, container map[string]any) (Cause, bool) {
	name, reason, message := str(container, "name"), str(container, "state", "waiting", "reason"), oneLine(str(container, "state", "waiting", "message"))
	switch reason {
	case "", "CrashLoopBackOff":
		return endingCause(pod, container, reason != "")
	case "ContainerCreating", "PodInitializing":
		return Cause{}, false
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		c := cause(pod, "container %s: image %q: %s", name, str(container, "image"), pulling(reason, message))
		c.Stuck = reason != "ErrImagePull" // it is tried again
		return c, true
	default:
		return cause(pod, "container %s: %s", name, join(reason, message)), true
	}
}

// endingCause speaks of a container that ended badly, now or in its run before. The states between which a container
// changes that crashes again and again read alike, so that its pods are one cause.
func endingCause(pod *unstructured.Unstructured, container map[string]any, crashes bool) (Cause, bool) {
	ended, bad := ending(container, "state")
	previous := false
	if !bad && container["ready"] != true {
		ended, previous = ending(container, "lastState")
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

// pulling shortens the message of a failed pull, which repeats the image, so that the two reasons that take turns read
// alike.
func pulling(reason, message string) string {
	if _, detail, ok := strings.Cut(message, "ErrImagePull: "); ok {
		return detail
	}
	if message == "" {
		return reason
	}
	return message
}

// ending says how a container ended, in its present state or the one before. One that ended well has nothing to say.
func ending(container map[string]any, state string) (string, bool) {
	terminated, _ := member(member(container, state), "terminated").(map[string]any)
	code, ok := terminated["exitCode"]
	if !ok {
		return "ended", false
	}
	words := fmt.Sprintf("ended with exit code %v", code)
	if reason := str(terminated, "reason"); reason != "Error" && reason != "Completed" && reason != "" {
		words += " (" + reason + ")"
	}
	if message := oneLine(str(terminated, "message")); message != "" {
		words += ": " + message
	}
	return words, fmt.Sprint(code) != "0"
}
