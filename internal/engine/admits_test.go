package engine

import (
	"testing"

	"github.com/muster-deploy/muster/internal/object"
)

// TestAdmits checks of which objects a server looks at which others when it admits them.
func TestAdmits(t *testing.T) {
	claim := object.Ref{Kind: "PersistentVolumeClaim", Namespace: "n", Name: "a"}
	pod := object.Ref{Kind: "Pod", Namespace: "n", Name: "a"}
	for _, tc := range []struct {
		by      object.Ref
		ref     object.Ref
		admits  bool
		because string
	}{
		{object.Ref{Kind: "Namespace", Name: "n"}, pod, true, "its namespace"},
		{object.Ref{Kind: "Namespace", Name: "m"}, pod, false, "another namespace"},
		{object.Ref{Kind: "ResourceQuota", Namespace: "n"}, pod, true, "a quota of its namespace"},
		{object.Ref{Kind: "ResourceQuota", Namespace: "m"}, pod, false, "a quota of another namespace"},
		{object.Ref{Kind: "LimitRange", Namespace: "n"}, pod, true, "a limit of its namespace"},
		{object.Ref{Group: "storage.k8s.io", Kind: "StorageClass"}, claim, true, "a class of claims"},
		{object.Ref{Group: "storage.k8s.io", Kind: "StorageClass"}, pod, false, "no class of pods"},
		{object.Ref{Group: "storage.k8s.io", Kind: "StorageClass"},
			object.Ref{Group: "example.com", Kind: claim.Kind}, false, "a claim of another group"},
		{object.Ref{Group: "admissionregistration.k8s.io", Kind: "ValidatingAdmissionPolicy"}, pod, true,
			"a policy"},
		{object.Ref{Kind: "ConfigMap", Namespace: "n"}, pod, false, "no rule"},
	} {
		if got := admits(tc.by, tc.ref); got != tc.admits {
			t.Errorf("%s admits %s: %t; it is %s", tc.by, tc.ref, got, tc.because)
		}
	}
}
