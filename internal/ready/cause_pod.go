package ready

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// schedulingPatience is how long a pod may be unschedulable before it counts as stuck.
const schedulingPatience = 10 * time.Second

// podCauses returns why a pod is not scheduled, or why its containers do not run.
func podCauses(pod *unstructured.Unstructured) []Cause {
	if c, ok := ownReason(pod); ok {
		return []Cause{c}
	}
	if c := ConditionOf(pod, "PodScheduled"); c.Status == "False" {
		unscheduled := cause(pod, "cannot be scheduled: %s", oneLine(c.Message))
		// A pod without a volume is not stuck: the volume may be provisioned. Nor is one with a
		// nominated node, which waits for the end of the pods that it has preempted.
		unscheduled.Stuck = c.Reason == "Unschedulable" &&
			!strings.Contains(c.Message, "PersistentVolumeClaims") &&
			text(pod, "status", "nominatedNodeName") == ""
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

// ownReason returns the reason that the status of a pod itself has: it was evicted, rejected or
// preempted, or its node is lost. The ends of its containers follow from that.
func ownReason(pod *unstructured.Unstructured) (Cause, bool) {
	reason, message := text(pod, "status", "reason"), text(pod, "status", "message")
	if c := ConditionOf(pod, "DisruptionTarget"); reason == "" && c.isTrue() &&
		(isEnded(pod) || pod.GetDeletionTimestamp() != nil) {
		reason, message = c.Reason, c.Message
	}
	c := cause(pod, "%s", join(reason, plain(message)))
	c.similarity = reason // the message often has the numbers of the pod
	c.Certain = neverAdmitted.MatchString(reason) && text(pod, "status", "phase") == "Failed"
	c.Stuck, c.own = c.Certain, true
	return c, reason != ""
}

// evicted is the reason of the status of a pod that the kubelet evicts, and of the event about
// that. The event comes first, in the same words: the containers have to end before the status.
const evicted = "Evicted"

// neverAdmitted matches the reasons for which a node rejects a pod for what stands in it. For
// other reasons, such as too little memory, it rejects one pod and may admit the next.
var neverAdmitted = regexp.MustCompile(`Forbidden$|NotSupported$|^AppArmor$|^PodOS`)

// isEnded reports whether all containers of a pod have ended for good.
func isEnded(pod *unstructured.Unstructured) bool {
	return isEndPhase(text(pod, "status", "phase"))
}

func isEndPhase(phase string) bool { return phase == "Failed" || phase == "Succeeded" }

// isRunning reports whether a container runs, which it may after a failure.
func isRunning(container map[string]any) bool {
	return member(member(container, "state"), "running") != nil
}

// lastRunCauses returns the failures of containers that run again.
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
	message := plain(str(container, "state", "waiting", "message"))
	switch reason {
	case "", "CrashLoopBackOff":
		return terminationCause(pod, container, reason != "")
	case "ContainerCreating", "PodInitializing":
		return Cause{}, false
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull":
		c := cause(pod, "container %s: image %q: %s",
			name, str(container, "image"), pullMessage(reason, message, str(container, "image")))
		c.gradePull(reason, message)
		if c.pull = c.Certain && !c.Once; c.pull {
			c.similarity = name + " " + str(container, "image")
		}
		return c, true
	case "RunContainerError":
		c := startCause(pod, name, message)
		c.Stuck = isCrashLoop(pod, container)
		return c, true
	case "PostStartHookError":
		c := cause(pod, "%s", killText(name, postStartHook, hookMessage(message)))
		c.Stuck = isCrashLoop(pod, container)
		c.similarity = name + " " + postStartHook
		return c, true
	default:
		c := cause(pod, "container %s: %s", name, join(reason, message))
		c.grade(reason, message)
		return c, true
	}
}

// startCause returns the cause that the runtime cannot start a container. Whether the container
// waits for that reason or is said to have ended, it has not run and has no log.
func startCause(pod *unstructured.Unstructured, name, message string) Cause {
	c := cause(pod, "%s", join("container "+name+" cannot start", message))
	c.similarity = name + " cannot start"
	return c
}

// postStartHook is the hook that runs when a container starts.
const postStartHook = "postStart hook"

// killText returns the message for a container that was killed because something failed.
func killText(name, failed, why string) string {
	return join("container "+name+" was killed, because its "+failed+" failed", why)
}

// terminationCause describes a container that failed, in its current or last run. The message is
// the same in all states of a crash loop, so that its pods share one cause.
func terminationCause(
	pod *unstructured.Unstructured, container map[string]any, crashes bool,
) (Cause, bool) {
	forever := runsForever(pod, str(container, "name"))
	last, bad := termination(container, "state", forever)
	previous := false
	if !bad && container["ready"] != true {
		last, previous = termination(container, "lastState", forever)
		bad = previous
	}
	if !bad && !crashes {
		return Cause{}, false
	}
	return endCause(pod, container, last, crashes, previous || crashes), true
}

// endCause returns the cause that a container ended, in its previous run or in the current one.
func endCause(
	pod *unstructured.Unstructured, container, last map[string]any, crashes, previous bool,
) Cause {
	name := str(container, "name")
	reason, message := str(last, "reason"), oneLine(str(last, "message"))
	if reason == "StartError" || reason == "ContainerCannotRun" {
		c := startCause(pod, name, plain(message))
		c.Stuck = crashes || isCrashLoop(pod, container)
		c.end = endingOf(pod, container, last)
		return c
	}
	verb := ""
	if crashes || text(pod, "spec", "restartPolicy") != "Never" {
		verb = "crashes: it "
	}
	words := "ended"
	if code, ok := last["exitCode"]; ok {
		words = fmt.Sprintf("ended with exit code %v", code)
	}
	if reason != "Error" && reason != "Completed" && reason != "" {
		words += " (" + reason + ")"
	}
	c := cause(pod, "container %s %s%s", name, verb, join(words, message))
	c.Container, c.Previous, c.Stuck = name, previous, crashes || isCrashLoop(pod, container)
	c.end = endingOf(pod, container, last)
	return c
}

// pullMessage returns the message of a failed pull without the image. ErrImagePull and
// ImagePullBackOff, which alternate, thus have the same message.
func pullMessage(reason, message, image string) string {
	if _, detail, ok := strings.Cut(message, "ErrImagePull: "); ok {
		message = detail
	}
	registry, detail, ok := strings.Cut(message, image+": ")
	if ok && !strings.Contains(registry, " ") {
		message = detail
	}
	return cmp.Or(message, reason)
}

// termination returns the end of a container in one of its states, and reports whether it was a
// failure. A container that is to run forever fails however it ends.
func termination(
	container map[string]any, state string, forever bool,
) (last map[string]any, bad bool) {
	last, _ = member(member(container, state), "terminated").(map[string]any)
	code, ok := last["exitCode"]
	return last, ok && (forever || fmt.Sprint(code) != "0")
}
