package kubelet

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Prefix starts the annotations with which a pod asks to misbehave.
const Prefix = "local.muster.dev/"

// RealNode is the label of a node that has a kubelet of its own: the simulation leaves the node and
// its pods alone if the value is "true".
const RealNode = Prefix + "real"

// Annotations of a pod. Durations are read by the stages.
const (
	Behaviour    = Prefix + "behaviour"     // one of the behaviours below
	Container    = Prefix + "container"     // the one that misbehaves; absent: every main container
	ReadyAfter   = Prefix + "ready-after"   // how long a running container takes to become ready
	ExitCode     = Prefix + "exit-code"     // the container ends with this code
	ExitAfter    = Prefix + "exit-after"    // how long a container that ends runs
	StopAfter    = Prefix + "stop-after"    // how long a deleted pod takes to stop
	Events       = Prefix + "events"        // "normal": the events of a start that succeeds, too
	Logs         = Prefix + "logs"          // the log; Logs + "." + container: of one container
	PreviousLogs = Prefix + "previous-logs" // the log of the previous run
)

// Behaviours of a pod.
const (
	ImagePullError = "image-pull-error" // the image cannot be pulled
	CrashLoop      = "crash-loop"       // the container ends again and again
	LivenessKill   = "liveness-kill"    // the liveness probe fails, and the kubelet ends the container
	StartError     = "start-error"      // the container cannot be started
	HookError      = "hook-error"       // the postStart hook fails
	Evicted        = "evicted"          // the kubelet evicts the pod some time after it starts
	NeverReady     = "never-ready"      // the readiness probe fails
	Pending        = "pending"          // the kubelet does not act
)

// wishes is what the annotations of a pod ask for.
type wishes struct {
	behaviour string
	container string
	slow      bool // becomes ready later
	exits     bool
	code      int32
	stop      time.Duration
}

func read(pod *corev1.Pod) wishes {
	notes := pod.Annotations
	w := wishes{
		behaviour: notes[Behaviour],
		container: notes[Container],
		slow:      notes[ReadyAfter] != "",
	}
	if stop, err := time.ParseDuration(notes[StopAfter]); err == nil {
		w.stop = stop
	}
	if text, ok := notes[ExitCode]; ok {
		w.exits = true
		if code, err := strconv.ParseInt(text, 10, 32); err == nil {
			w.code = int32(code)
		} else {
			w.code = 1
		}
	}
	switch owner := metav1.GetControllerOf(pod); {
	case w.behaviour == CrashLoop && !w.exits:
		w.exits, w.code = true, 1
	case w.behaviour == LivenessKill:
		w.exits = true
	case w.behaviour == "" && !w.exits && owner != nil && owner.Kind == "Job":
		w.exits = true
	}
	return w
}

// hits reports whether a container is one of those that misbehave.
func (w wishes) hits(name string, main bool) bool {
	if w.container == "" {
		return main
	}
	return w.container == name
}

// passes reports whether a container is ready as soon as it runs. One that has a probe, and ends
// soon, ends before the probe succeeds.
func (w wishes) passes(c *corev1.Container) bool {
	if w.slow || w.behaviour == NeverReady {
		return false
	}
	return !w.exits || c.ReadinessProbe == nil && c.StartupProbe == nil
}
