package cluster_test

import (
	"errors"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
)

// TestRefusalOf has answers of a server, also behind the text of an error.
func TestRefusalOf(t *testing.T) {
	forbidden := func(name, text string) error {
		return apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "deployments"}, name,
			errors.New(text))
	}
	status := func(reason metav1.StatusReason, code int32, text string) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Reason: reason, Code: code, Message: text,
		}}
	}
	const policy = "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: "
	for _, tc := range []struct {
		err  error
		want cluster.Refusal
	}{
		{nil, ""},
		{errors.New("no answer"), ""},
		{apierrors.NewConflict(schema.GroupResource{}, "a", errors.New("changed")), ""},
		{apierrors.NewNotFound(schema.GroupResource{}, "a"), ""},
		{apierrors.NewInvalid(schema.GroupKind{}, "a", nil), cluster.ByContent},
		{apierrors.NewBadRequest(`v1 "a" cannot be handled as a ConfigMap: x`), cluster.ByContent},
		{apierrors.NewBadRequest("no"), ""},
		{forbidden("a", `User "ann" cannot patch resource "deployments" in API group "apps" in the `+
			`namespace "n"`), cluster.ByRights},
		{forbidden("", `User "ann" cannot list resource "deployments" in API group "apps" at the `+
			`cluster scope: RBAC: role.rbac.authorization.k8s.io "a" not found`), cluster.ByRights},
		{apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(`User "a" cannot get path "/"`)),
			cluster.ByRights},
		{status(metav1.StatusReasonForbidden, 403, "no"), cluster.ByRights},
		{forbidden("a", `user "ann" (groups=["a"]) is attempting to grant RBAC permissions not `+
			`currently held:`), cluster.ByGrant},
		{forbidden("a", policy+`User "ann" cannot patch resource "x"`), cluster.ByPolicy},
		{status(metav1.StatusReasonInvalid, 422, `pods "a" is forbidden: `+policy+"x"), cluster.ByPolicy},
		{status(metav1.StatusReasonUnauthorized, 401, `pods "a" is forbidden: `+policy+"x"),
			cluster.ByPolicy},
		{forbidden("a", "exceeded quota: q"), cluster.ByQuota},
		{forbidden("a", `violates PodSecurity "baseline:latest": x`), cluster.ByPolicy},
		{forbidden("a", "only dynamically provisioned pvc can be resized"), cluster.ByPolicy},
		{status(metav1.StatusReasonForbidden, 403,
			`admission webhook "w" denied the request: x is forbidden: User "a" cannot get resource "b"`),
			cluster.ByWebhook},
		{status("", 400, `admission webhook "w" denied the request without explanation`),
			cluster.ByWebhook},
		{status(metav1.StatusReasonInvalid, 422, `admission webhook "w" denied the request: x`),
			cluster.ByContent},
	} {
		if got := cluster.RefusalOf(tc.err); got != tc.want {
			t.Errorf("%v: %q, want %q", tc.err, got, tc.want)
		}
		if tc.err != nil {
			if got := cluster.RefusalOf(fmt.Errorf("write it: %w", tc.err)); got != tc.want {
				t.Errorf("wrapped %v: %q, want %q", tc.err, got, tc.want)
			}
		}
	}
}
