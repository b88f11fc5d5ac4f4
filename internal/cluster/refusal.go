package cluster

import (
	"errors"
	"regexp"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Refusal is what an answer of the server refuses a request for. The zero value is no refusal, or
// one for another reason, such as a conflict.
type Refusal string

// The refusals.
const (
	ByRights  Refusal = "rights"  // the user may not send the request
	ByGrant   Refusal = "grant"   // the user may not grant what a role grants
	ByPolicy  Refusal = "policy"  // a policy, or what else the server admits objects by
	ByQuota   Refusal = "quota"   // a quota is used up
	ByWebhook Refusal = "webhook" // a webhook denies it
	ByContent Refusal = "content" // the object is invalid or unreadable
)

// ByAdmission reports whether the server admits no such object at present.
func (r Refusal) ByAdmission() bool { return r == ByPolicy || r == ByQuota }

// RefusalOf returns what a request was refused for. Servers give the reason Forbidden to refusals
// for the rights of the user and by admission, and policies choose their reasons, so that the text
// has to tell them apart. A webhook that calls an object invalid judges its content.
func RefusalOf(err error) Refusal {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return ""
	}
	text := status.Status().Message
	switch {
	case policyDenied.MatchString(text):
		return ByPolicy
	case apierrors.IsInvalid(err) || Unreadable(err):
		return ByContent
	case webhookDenied.MatchString(text):
		return ByWebhook
	case status.Status().Reason != metav1.StatusReasonForbidden:
		return ""
	case grantDenied.MatchString(text):
		return ByGrant
	case quotaDenied.MatchString(text):
		return ByQuota
	case admissionDenied.MatchString(text) && !rightsDenied.MatchString(text):
		return ByPolicy
	default:
		return ByRights
	}
}

// The forms of the server's refusals.
var (
	policyDenied    = regexp.MustCompile(`^(?:\S+(?: "[^"]*")? is forbidden: )?` + policyDenies)
	webhookDenied   = regexp.MustCompile(`^` + webhookDenies)
	admissionDenied = regexp.MustCompile(`^\S+(?: "[^"]*")? is forbidden: `)
	rightsDenied    = regexp.MustCompile(admissionDenied.String() +
		`User "[^"]*" cannot \S+ (?:resource|path) `)
	quotaDenied = regexp.MustCompile(admissionDenied.String() + `exceeded quota: `)
	grantDenied = regexp.MustCompile(admissionDenied.String() +
		`user ".*is attempting to grant RBAC permissions not currently held`)
)

const (
	webhookDenies = `admission webhook "[^"]*" denied (?:the )?request\b`
	policyDenies  = `\S+AdmissionPolicy '[^']*' with binding '[^']*' denied (?:the )?request\b`
)
