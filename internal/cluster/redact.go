package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Redact returns the error of a write with a text that is safe to print. A server that cannot parse
// a patch quotes all of it, which Redact always removes. If private is set, the object holds values
// of a Secret: of the server's message only fields and kinds of mistakes remain. The wrapped error
// is unchanged and must not be printed.
func Redact(err error, private bool) error {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return err
	}
	said, may := status.(error).Error(), redactedMessage(status.Status(), private)
	if said == may {
		return err
	}
	if before, after, ok := strings.Cut(err.Error(), said); ok {
		may = before + may + after
	}
	return &redactedError{text: may, cause: err}
}

// redactedError is an error with another text.
type redactedError struct {
	text  string
	cause error
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Unwrap() error { return e.cause }

// redactedMessage returns the printable part of a server's refusal.
func redactedMessage(s metav1.Status, private bool) string {
	free := slices.Contains(contentFreeReasons, s.Reason) ||
		s.Reason == metav1.StatusReasonForbidden && forbiddenPattern.MatchString(s.Message)
	switch detail, unread := unreadablePatch(s); {
	case unread && !private:
		return "the server cannot read what was sent: " + detail
	case !private:
		return s.Message
	case strictPattern.MatchString(s.Message):
		return s.Message
	case deniedPattern.MatchString(s.Message): // whatever the reason, which a webhook chooses
		return deniedPattern.FindString(s.Message) + redactedNote
	case free && !strings.Contains(s.Message, " denied "):
		return s.Message
	case unread:
		return "the server cannot read what was sent" + listed(mistakes(detail)) + redactedNote
	case s.Reason == metav1.StatusReasonInvalid && s.Details != nil && len(s.Details.Causes) > 0:
		return "the object is invalid" + listed(fieldsOf(s.Details.Causes)) + redactedNote
	default:
		return fmt.Sprintf("the server refuses what was sent (%s)",
			cmp.Or(string(s.Reason), http.StatusText(int(s.Code)), "no reason")) +
			listed(mistakes(s.Message)) + redactedNote
	}
}

// redactedNote says why there is no more to read.
const redactedNote = "; what else the server says is not shown, because it may quote a Secret"

// contentFreeReasons are reasons whose messages never quote the content of an object.
var contentFreeReasons = []metav1.StatusReason{
	metav1.StatusReasonNotFound, metav1.StatusReasonAlreadyExists, metav1.StatusReasonConflict,
	metav1.StatusReasonGone,
	metav1.StatusReasonUnauthorized, metav1.StatusReasonTimeout, metav1.StatusReasonServerTimeout,
	metav1.StatusReasonTooManyRequests, metav1.StatusReasonServiceUnavailable,
	metav1.StatusReasonMethodNotAllowed,
	metav1.StatusReasonRequestEntityTooLarge,
}

// deniedPattern matches the part of a refusal that names the admission webhook or policy; its own
// message follows.
var deniedPattern = regexp.MustCompile(`^(?:\S+(?: "[^"]*")? is forbidden: )?(?:` +
	webhookDenies + `|` + policyDenies + `)`)

// forbiddenPattern matches refusals by authorization, quotas and the end of a namespace, which
// never quote the content of an object.
var forbiddenPattern = regexp.MustCompile(`^\S+(?: "[^"]*")? is forbidden: ` +
	`(?:User "|exceeded quota: |unable to create new content in namespace )`)

// strictPattern matches refusals of fields that a kind does not have or that are repeated, which
// quote their names alone.
var strictPattern = regexp.MustCompile(`^\S+ in version "[^"]*" cannot be handled as a \S+: ` +
	strictMark + `(?:(?:unknown|duplicate) field "[^"]*"(?:, |$))+$`)

// redactedWarning returns the printable part of a server's warning about an object that holds
// values of a Secret.
func redactedWarning(text string) string {
	if contentFreeWarning.MatchString(text) {
		return text
	}
	if policy := policyPattern.FindString(text); policy != "" {
		return policy + redactedNote
	}
	return "the server warns about what was sent" + redactedNote
}

// contentFreeWarning matches warnings about the names of fields and about old versions.
var contentFreeWarning = regexp.MustCompile(
	`^(?:(?:unknown|duplicate) field "[^"]*"|\S+ \S+ is deprecated in v[^:"]*)$`,
)

// policyPattern matches the part of a warning that names the policy; its own message follows.
var policyPattern = regexp.MustCompile(
	`^Validation failed for ValidatingAdmissionPolicy '[^']*' with binding '[^']*'`,
)

// unreadablePatch returns why the server could not parse a patch, without the patch.
func unreadablePatch(s metav1.Status) (detail string, ok bool) {
	if s.Reason != metav1.StatusReasonInvalid || s.Details == nil {
		return "", false
	}
	for _, cause := range s.Details.Causes {
		if cause.Field != "patch" {
			continue
		}
		detail := strings.TrimPrefix(cause.Message, "Invalid value: ")
		quoted, err := strconv.QuotedPrefix(detail)
		if err != nil {
			return "a value has the wrong form", true
		}
		return strings.TrimPrefix(detail[len(quoted):], ": "), true
	}
	return "", false
}

// causeWords describe the kinds of mistakes in a field. Any other is printed by its API name.
var causeWords = map[metav1.CauseType]string{
	metav1.CauseTypeFieldValueNotFound:     "not found",
	metav1.CauseTypeFieldValueRequired:     "a value is required",
	metav1.CauseTypeFieldValueDuplicate:    "duplicate value",
	metav1.CauseTypeFieldValueInvalid:      "invalid value",
	metav1.CauseTypeFieldValueNotSupported: "unsupported value",
	metav1.CauseTypeForbidden:              "forbidden",
	metav1.CauseTypeTooLong:                "too long",
	metav1.CauseTypeTooMany:                "too many values",
	metav1.CauseTypeTypeInvalid:            "wrong type",
}

// fieldsOf lists the invalid fields and their mistakes.
func fieldsOf(causes []metav1.StatusCause) []string {
	var list []string
	for _, cause := range causes {
		word, ok := causeWords[cause.Type]
		if !ok {
			word = string(cause.Type)
		}
		for _, sentence := range details {
			if strings.HasSuffix(cause.Message, ": "+sentence) {
				word += ", " + sentence
				break
			}
		}
		list = append(list, cause.Field+": "+word)
	}
	return list
}

// details are fixed sentences that may follow the kind of a mistake.
var details = []string{"field is immutable when `immutable` is set", "field is immutable"}

// shapes match sentences of the server and keep the parts that are not values.
var shapes = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{
		regexp.MustCompile(`(?m)(?:^|\): )\s*(\.[^:\s]+): expected (\w+), got `),
		"$1: a $2 is expected",
	},
	{
		regexp.MustCompile(
			`cannot unmarshal (string|number|bool|object|array)(?: \S+)? into ` +
				`Go struct field (\S+) of type (\S+)`,
		),
		"$2: a $1 does not fit the type $3",
	},
	{
		regexp.MustCompile(`cannot convert (int64|float64|bool|string|map|slice) to (\w+)`),
		"a value of type $1 stands where $2 is expected",
	},
	{regexp.MustCompile(`illegal base64 data`), "a value is not in base64"},
	{regexp.MustCompile(`quantities must match the regular expression`), "a value is no quantity"},
}

// mistakes returns the printable parts of a server's message.
func mistakes(text string) []string {
	var found []string
	for _, shape := range shapes {
		for _, at := range shape.pattern.FindAllStringSubmatchIndex(text, -1) {
			found = append(found, string(shape.pattern.ExpandString(nil, shape.text, text, at)))
		}
	}
	return found
}

// listed formats a list behind a colon, or "" if it is empty.
func listed(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return ": " + strings.Join(list, ", ")
}
