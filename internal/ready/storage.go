package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// storage are the kinds that keep data: volumes, and the two that keep it in the API server and are ready at once.
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

// volumeClaim waits for a volume. A claim does not tell whether it has none because nobody uses it: see FirstConsumer.
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
		return failed("Lost", fmt.Sprintf("%s: its volume %q is gone", message, text(obj, "spec", "volumeName")))
	}
	if by := provisioner(obj); by != "" {
		message += ": waiting for a volume of " + by
	}
	return inProgress("NotBound", message)
}

// provisioner gives what makes the claim's volume, once the claim's controller has asked for one.
func provisioner(obj *unstructured.Unstructured) string {
	if by := annotation(obj, "volume.kubernetes.io/storage-provisioner"); by != "" {
		return by
	}
	return annotation(obj, "volume.beta.kubernetes.io/storage-provisioner")
}

// FirstConsumer is a rule by which claims that nobody uses are current and not stuck. The fact stands in no field of the
// claim: its storage class has the binding mode WaitForFirstConsumer, which delayed says of a class by its name, and no
// pod that uses it has been scheduled, which would have set the annotation for the selected node. A claim that names its
// volume itself is bound at once.
func FirstConsumer(delayed func(class string) bool) Rule {
	return Rule{schema.GroupKind{Kind: "PersistentVolumeClaim"}, func(obj *unstructured.Unstructured) Status {
		switch {
		case text(obj, "status", "phase") != "Pending",
			text(obj, "spec", "volumeName") != "",
			annotation(obj, "volume.kubernetes.io/selected-node") != "",
			!delayed(text(obj, "spec", "storageClassName")):
			return Status{}
		}
		return current("PVC is waiting for its first consumer")
	}}
}

// volume judges a volume for itself; whether a claim uses it is the claim's business.
func volume(obj *unstructured.Unstructured) Status {
	switch phase := text(obj, "status", "phase"); phase {
	case "Available", "Bound", "Released":
		return current("PV is " + phase)
	case "Failed":
		return failed("VolumeFailed", join("PV is Failed", text(obj, "status", "reason"), text(obj, "status", "message")))
	case "":
		return inProgress("NotAvailable", "PV phase not available")
	default:
		return inProgress("NotAvailable", "PV is "+phase)
	}
}

func alwaysReady(*unstructured.Unstructured) Status {
	return current("Resource is always ready")
}
