package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// storage returns the judge of a kind that holds data. A ConfigMap or Secret is always ready.
func storage(kind schema.GroupKind) judge {
	switch kind {
	case schema.GroupKind{Kind: "PersistentVolumeClaim"}:
		return volumeClaim
	case schema.GroupKind{Kind: "PersistentVolume"}:
		return volume
	case schema.GroupKind{Kind: "ConfigMap"}, schema.GroupKind{Kind: "Secret"}:
		return alwaysReady
	}
	return nil
}

// volumeClaim waits for a volume. FirstConsumer handles claims that wait for a pod.
func volumeClaim(obj *unstructured.Unstructured) Status {
	phase := text(obj, "status", "phase")
	if phase == "" {
		phase = "unknown"
	}
	message := "PVC is not Bound. phase: " + phase
	switch phase {
	case "Bound":
		return current("PVC is Bound")
	case "Lost":
		return failed("Lost",
			fmt.Sprintf("%s: its volume %q is gone", message, text(obj, "spec", "volumeName")))
	}
	if by := provisioner(obj); by != "" {
		message += ": waiting for a volume of " + by
	}
	return inProgress("NotBound", message)
}

// provisioner returns the provisioner of the claim's volume, once the controller has requested one.
func provisioner(obj *unstructured.Unstructured) string {
	if by := annotation(obj, "volume.kubernetes.io/storage-provisioner"); by != "" {
		return by
	}
	return annotation(obj, "volume.beta.kubernetes.io/storage-provisioner")
}

// FirstConsumer returns a rule that makes unused claims current. Such a claim has a storage class
// with the binding mode WaitForFirstConsumer, and no selected node, since no pod with the claim was
// scheduled. delayed reports whether the class of a name has that mode. A claim with a volume name
// is bound at once and not affected.
func FirstConsumer(delayed func(class string) bool) Rule {
	return Rule{
		schema.GroupKind{Kind: "PersistentVolumeClaim"},
		func(obj *unstructured.Unstructured) Status {
			switch {
			case text(obj, "status", "phase") != "Pending",
				text(obj, "spec", "volumeName") != "",
				annotation(obj, "volume.kubernetes.io/selected-node") != "",
				!delayed(text(obj, "spec", "storageClassName")):
				return Status{}
			}
			return current("PVC is waiting for its first consumer")
		},
	}
}

// volume judges a volume, whether or not a claim uses it.
func volume(obj *unstructured.Unstructured) Status {
	switch phase := text(obj, "status", "phase"); phase {
	case "Available", "Bound", "Released":
		return current("PV is " + phase)
	case "Failed":
		return failed("VolumeFailed",
			join("PV is Failed", text(obj, "status", "reason"), text(obj, "status", "message")))
	case "":
		return inProgress("NotAvailable", "PV phase not available")
	default:
		return inProgress("NotAvailable", "PV is "+phase)
	}
}

func alwaysReady(*unstructured.Unstructured) Status {
	return current("Resource is always ready")
}
