package ready

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// pods returns the judge of pods.
func pods(kind schema.GroupKind) judge {
	if kind == (schema.GroupKind{Kind: "Pod"}) {
		return pod
	}
	return nil
}

func pod(obj *unstructured.Unstructured) Status {
	switch phase := text(obj, "status", "phase"); phase {
	case "":
		return inProgress("PodNotObserved", "Pod phase not available")
	case "Succeeded":
		return current("Pod has completed successfully")
	case "Failed":
		return failed(
			"PodFailed",
			join("Pod has completed, but not successfully", text(obj, "status", "reason"),
				text(obj, "status", "message")),
		)
	case "Pending":
		return pendingPod(obj)
	case "Running":
		return runningPod(obj)
	default:
		return Status{State: Unknown, Message: fmt.Sprintf("Pod phase %q is not known", phase)}
	}
}

func pendingPod(obj *unstructured.Unstructured) Status {
	if c := ConditionOf(obj, "PodScheduled"); c.isFalse() {
		switch c.Reason {
		case "Unschedulable":
			return inProgress("PodUnschedulable", join("Pod has not been scheduled", c.Message))
		case "SchedulingGated":
			return inProgress("PodSchedulingGated", join("Pod has not been scheduled", c.Message))
		}
	}
	if s := byContainers(obj); s.State != "" {
		return s
	}
	return inProgress("PodPending", "Pod is in the Pending phase")
}

func runningPod(obj *unstructured.Unstructured) Status {
	if ConditionOf(obj, "Ready").isTrue() {
		return current("Pod is Ready")
	}
	if s := byContainers(obj); s.State != "" {
		return s
	}
	return inProgress("PodRunningNotReady", "Pod is running but is not Ready")
}

// byContainers returns the status of a pod with containers that crash or cannot start, for example
// for lack of an image or a ConfigMap. The latter is not a failure: the missing object may still be
// created.
func byContainers(obj *unstructured.Unstructured) Status {
	var crashing []string
	var stuck Status
	for _, c := range containers(obj) {
		switch reason := str(c, "state", "waiting", "reason"); reason {
		case "CrashLoopBackOff":
			crashing = append(crashing, str(c, "name"))
		case "ErrImagePull",
			"ImagePullBackOff",
			"InvalidImageName",
			"ErrImageNeverPull",
			"RegistryUnavailable",
			"CreateContainerConfigError",
			"CreateContainerError",
			"RunContainerError":
			if stuck.State == "" {
				stuck = inProgress(reason, waitingFor(c))
			}
		}
	}
	if len(crashing) > 0 {
		return failed(CrashLooping,
			"Containers in CrashLoop state: "+strings.Join(crashing, ","))
	}
	return stuck
}

// containers returns the statuses of all containers, in the order in which they start.
func containers(obj *unstructured.Unstructured) []map[string]any {
	return append(
		list(obj, "status", "initContainerStatuses"),
		list(obj, "status", "containerStatuses")...)
}

// waitingFor names a container and the kubelet's reason why it waits.
func waitingFor(container map[string]any) string {
	why := str(container, "state", "waiting", "message")
	if why == "" {
		why = str(container, "state", "waiting", "reason")
	}
	return fmt.Sprintf("Container %s is waiting: %s", str(container, "name"), why)
}
