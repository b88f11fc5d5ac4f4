package ready

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// byConvention judges an object without a rule by the first convention that applies. Built-in
// groups follow the condition Ready only, since their kinds have functions of their own.
func byConvention(kind schema.GroupKind, obj *unstructured.Unstructured) Status {
	if isBuiltinGroup(kind.Group) {
		if s := byReady(obj); s.State != "" {
			return s
		}
		return current("Resource is current")
	}
	for _, judge := range [...]judge{bySynced, byReady, byAvailable, byAcceptance, byPhase} {
		if s := judge(obj); s.State != "" {
			return s
		}
	}
	if !HasStatus(obj) {
		return notReported("Resource is current")
	}
	return current("Resource is current")
}

// HasStatus reports whether an object has a status that is not empty.
func HasStatus(obj *unstructured.Unstructured) bool {
	status := field(obj, "status")
	fields, isMap := status.(map[string]any)
	return status != nil && (!isMap || len(fields) > 0)
}

// isBuiltinGroup reports whether the API server itself serves a group. Groups without a dot are
// reserved for it.
func isBuiltinGroup(group string) bool {
	switch group {
	case "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io",
		"authentication.k8s.io", "authorization.k8s.io", "certificates.k8s.io",
		"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "flowcontrol.apiserver.k8s.io",
		"internal.apiserver.k8s.io", "networking.k8s.io", "node.k8s.io",
		"rbac.authorization.k8s.io", "resource.k8s.io", "scheduling.k8s.io", "storage.k8s.io",
		"storagemigration.k8s.io":
		return true
	}
	return !strings.Contains(group, ".")
}

// bySynced reads the condition Synced, which Crossplane writes beside Ready: both must be true. The
// reason ReconcileError is no failure: Crossplane retries forever, and also reports missing
// dependencies by it. While reconciling is paused only Ready counts.
func bySynced(obj *unstructured.Unstructured) Status {
	synced, ready := ConditionOf(obj, "Synced"), ConditionOf(obj, "Ready")
	switch {
	case synced.Reason == "ReconcilePaused" && ready.Type == "":
		return current("Reconciliation is paused")
	case synced.Reason == "ReconcilePaused":
		return Status{}
	case synced.Status == "False" || synced.Status == "Unknown":
		return synced.pending()
	case synced.isTrue() && ready.Type == "":
		return current("Resource is Synced")
	}
	return Status{}
}

// byAvailable reads the condition Available.
func byAvailable(obj *unstructured.Unstructured) Status {
	switch c := ConditionOf(obj, "Available"); c.Status {
	case "True":
		return current("Resource is Available")
	case "False", "Unknown":
		return c.pending()
	}
	return Status{}
}

// byAcceptance reads the conditions Accepted and Programmed of the Gateway API. Not all controllers
// write both.
func byAcceptance(obj *unstructured.Unstructured) Status {
	said := ""
	for _, kind := range [...]string{"Accepted", "Programmed"} {
		switch c := ConditionOf(obj, kind); c.Status {
		case "True":
			said = kind
		case "False", "Unknown":
			return c.pending()
		}
	}
	if said == "" {
		return Status{}
	}
	return current("Resource is " + said)
}

// byPhase reads status.phase or status.state, the weakest convention. It ignores case, and words
// that have different meanings in different APIs.
func byPhase(obj *unstructured.Unstructured) Status {
	phase := text(obj, "status", "phase")
	if phase == "" {
		phase = text(obj, "status", "state")
	}
	message := fmt.Sprintf("Resource is in phase %s", phase)
	switch strings.ToLower(phase) {
	case "ready", "running", "active", "available", "bound", "healthy", "succeeded", "success",
		"complete", "completed", "deployed", "established", "synced":
		return current(message)
	case "pending", "creating", "provisioning", "initializing", "progressing", "inprogress",
		"in progress", "reconciling", "updating", "upgrading", "deploying", "installing",
		"configuring", "scaling", "starting", "waiting", "notready":
		return inProgress("Phase", message)
	case "failed", "error":
		return failed("Phase", join(message, text(obj, "status", "message")))
	}
	return Status{}
}
