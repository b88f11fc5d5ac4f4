package ready

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// admission returns the judge of a kind of admission control or certificates.
func admission(kind schema.GroupKind) judge {
	switch kind {
	case schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}:
		return validatingPolicy
	case schema.GroupKind{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest"}:
		return signingRequest
	}
	return nil
}

// validatingPolicy reports the warnings of the type checker. It never waits: a policy is in force
// before it is checked.
func validatingPolicy(obj *unstructured.Unstructured) Status {
	warnings := list(obj, "status", "typeChecking", "expressionWarnings")
	switch {
	case len(warnings) > 0:
		return currentWith(fmt.Sprintf("Type checking gave warnings: %d, the first about %s: %s",
			len(warnings), str(warnings[0], "fieldRef"), str(warnings[0], "warning")))
	case field(obj, "status", "observedGeneration") == nil:
		return notReported("ValidatingAdmissionPolicy has not been checked yet")
	}
	return current("ValidatingAdmissionPolicy has been checked")
}

// signingRequest waits for the certificate, however the request was approved.
func signingRequest(obj *unstructured.Unstructured) Status {
	for _, kind := range [...]string{"Denied", "Failed"} {
		if c := ConditionOf(obj, kind); c.isTrue() {
			return failed(kind, join("CertificateSigningRequest is "+kind, c.Reason, c.Message))
		}
	}
	switch {
	case text(obj, "status", "certificate") != "":
		return current("CertificateSigningRequest has a certificate")
	case ConditionOf(obj, "Approved").isTrue():
		return inProgress("NotIssued", "CertificateSigningRequest is approved and waits for its "+
			"certificate")
	}
	return inProgress("NotApproved", "CertificateSigningRequest waits for approval")
}
