// Package kubelet plays the part of a kubelet for pods that have no containers: it makes the
// statuses and events that a kubelet would write, and serves the logs that a pod's annotations
// hold.
//
// A pod and a step of its life go in (which step, and when, is decided by the stages of a plane);
// the next status or an event comes out. The functions are pure but for the log server, which reads
// pods. The package starts nothing, and knows nothing of volumes, probes, networks or resources.
package kubelet
