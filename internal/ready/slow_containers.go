package ready

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// slowDelay is how long a container may run without being ready before that is worth printing.
const slowDelay = 30 * time.Second

// slowCauses returns which containers of a pod run without being ready, or run before the others
// may start, and the probe that has not succeeded. Without any it returns why the pod is not ready.
func slowCauses(pod *unstructured.Unstructured) []Cause {
	var causes []Cause
	for _, part := range [...]struct{ specs, statuses string }{
		{"initContainers", "initContainerStatuses"}, {"containers", "containerStatuses"},
	} {
		specs := map[string]map[string]any{}
		for _, spec := range list(pod, "spec", part.specs) {
			specs[str(spec, "name")] = spec
		}
		for _, status := range list(pod, "status", part.statuses) {
			_, crashed := containerCause(pod, status)
			if !isRunning(status) || status["ready"] == true || crashed {
				continue // a crash explains more
			}
			init := part.specs == "initContainers"
			message := slowMessage(specs[str(status, "name")], status, init)
			causes = append(causes, slowCause(pod, str(status, "state", "running", "startedAt"), message))
		}
	}
	if c := ConditionOf(pod, "Ready"); len(causes) == 0 && c.isFalse() && c.Message != "" &&
		text(pod, "status", "phase") == "Running" {
		causes = append(causes, slowCause(pod, c.time, join(c.Reason, oneLine(c.Message))))
	}
	return causes
}

// slowCause returns a cause that counts when it has lasted since a time for slowDelay.
func slowCause(pod *unstructured.Unstructured, since, message string) Cause {
	c := cause(pod, "%s", message)
	if began, err := time.Parse(time.RFC3339, since); err == nil {
		c.begins = began.Add(slowDelay)
	} else {
		c.Delay = slowDelay
	}
	return c
}

// slowMessage describes a container that runs and is not ready. The specification is nil if it is
// not known.
func slowMessage(spec, status map[string]any, init bool) string {
	title := "container " + str(status, "name")
	switch sidecar := str(spec, "restartPolicy") == "Always"; {
	case init && !sidecar:
		return "init " + title + " is still running; the containers after it wait for its end"
	case sidecar && init:
		title = "sidecar " + title
	}
	message, kind := title+" runs, but is not ready", "readiness"
	if status["started"] == false && member(spec, "startupProbe") != nil {
		message, kind = title+" runs, but is not started", "startup"
	}
	if probe := probeText(member(spec, kind+"Probe")); probe != "" {
		message += fmt.Sprintf(": its %s probe (%s) has not succeeded", kind, probe)
	}
	return message
}

// probeText returns what a probe does; empty for a probe of an unknown kind.
func probeText(probe any) string {
	get, tcp := member(probe, "httpGet"), member(probe, "tcpSocket")
	call, exec := member(probe, "grpc"), member(probe, "exec")
	switch {
	case get != nil:
		scheme := str(get, "scheme")
		if scheme == "" {
			scheme = "HTTP"
		}
		return scheme + " GET " + address(get) + str(get, "path")
	case tcp != nil:
		return "TCP " + address(tcp)
	case call != nil:
		if service := str(call, "service"); service != "" {
			return "gRPC " + address(call) + " service " + service
		}
		return "gRPC " + address(call)
	case exec != nil:
		return "exec " + commandText(member(exec, "command"))
	}
	return ""
}

// address returns the host, if there is one, and the port of a probe.
func address(action any) string {
	return fmt.Sprintf("%s:%v", str(action, "host"), member(action, "port"))
}

// maxCommand is how many bytes of a command of a probe are printed.
const maxCommand = 100

// commandText returns a command on one line. Scripts in probes may be long.
func commandText(command any) string {
	words, _ := command.([]any)
	parts := make([]string, len(words))
	for i, word := range words {
		parts[i] = fmt.Sprint(word)
	}
	line := oneLine(strings.Join(parts, " "))
	if len(line) > maxCommand {
		line = strings.ToValidUTF8(line[:maxCommand], "") + " …"
	}
	return line
}
