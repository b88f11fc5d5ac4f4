package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/object"
)

// What is said of a refusal keeps the fields and the kinds of mistakes; of an object with values
// of a Secret nothing else.
func TestRedact(t *testing.T) {
	invalid := func(list ...*field.Error) error {
		return apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "web", list)
	}
	patch := func(detail string) error {
		return invalid(
			field.Invalid(field.NewPath("patch"), "map[data:map[pin:hunter2 \"quoted\"]]", detail),
		)
	}
	for name, tc := range map[string]struct {
		err           error
		open, private string
	}{
		"a patch of the wrong type": {
			err:  patch("cannot convert int64 to string"),
			open: "the server cannot read what was sent: cannot convert int64 to string",
			private: "the server cannot read what was sent: a value of type int64 stands where " +
				"string is expected" + redactedNote,
		},
		"a patch that quotes a value behind it": {
			err:     patch("strange hunter2"),
			open:    "the server cannot read what was sent: strange hunter2",
			private: "the server cannot read what was sent" + redactedNote,
		},
		"fields": {
			err: invalid(field.Invalid(
				field.NewPath("spec", "clusterIP"), "hunter2", "must be an address, not hunter2",
			),
				field.NotSupported(
					field.NewPath("spec", "type"), "hunter2", []string{"ClusterIP"},
				)),
			open: `Service "web" is invalid: [spec.clusterIP: Invalid value: "hunter2": must be ` +
				`an address, not hunter2, spec.type: Unsupported value: "hunter2": ` +
				`supported values: "ClusterIP"]`,
			private: "the object is invalid: spec.clusterIP: invalid value, spec.type: " +
				"unsupported value" + redactedNote,
		},
		"a field that cannot change": {
			err: invalid(field.Invalid(
				field.NewPath("spec", "selector"), "hunter2", "field is immutable",
			),
				field.Forbidden(field.NewPath("spec"), "only some fields change:\nhunter2")),
			open: `Service "web" is invalid: [spec.selector: Invalid value: "hunter2": ` +
				"field is immutable, spec: Forbidden: only some fields change:\nhunter2]",
			private: "the object is invalid: spec.selector: invalid value, field is immutable, " +
				"spec: forbidden" + redactedNote,
		},
		"a typed patch": {
			err: apierrors.NewInternalError(errors.New("failed to create typed patch object " +
				"(n/s; /v1, Kind=Secret): " +
				".stringData.pin: expected string, got &value.valueUnstructured{Value:12345678}")),
			private: "the server refuses what was sent (InternalError): .stringData.pin: a " +
				"string is expected" + redactedNote,
		},
		"several in a typed patch": {
			err: apierrors.NewBadRequest("failed to create typed patch object (n/s; /v1, " +
				"Kind=Secret): errors:\n" +
				"  .data.a: expected string, got &value.valueUnstructured{Value:1234}\n  " +
				".data.b: expected string, got &value.valueUnstructured{Value:5678}"),
			private: "the server refuses what was sent (BadRequest): .data.a: a string is " +
				"expected, .data.b: a string is expected" + redactedNote,
		},
		"JSON": {
			err: apierrors.NewBadRequest(`Secret in version "v1" cannot be handled as a Secret: ` +
				`json: cannot unmarshal number 1234.5 into Go struct field Secret.stringData of type string`),
			private: "the server refuses what was sent (BadRequest): Secret.stringData: a number " +
				"does not fit the type string" + redactedNote,
		},
		"no reason": {
			err: &apierrors.StatusError{ErrStatus: metav1.Status{
				Code: 422, Message: ".data.a: expected string, got hunter2"}},
			private: "the server refuses what was sent (Unprocessable Entity): .data.a: a " +
				"string is expected" + redactedNote,
		},
		"an unknown sentence": {
			err:     apierrors.NewBadRequest("hunter2 is no good"),
			private: "the server refuses what was sent (BadRequest)" + redactedNote,
		},
		"a webhook": {
			err: apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s",
				errors.New(`admission webhook "strength" denied the request: "hunter2" is weak`)),
			private: `secrets "s" is forbidden: admission webhook "strength" denied the request` +
				redactedNote,
		},
		"rights": {
			err: apierrors.NewForbidden(
				schema.GroupResource{Resource: "secrets"}, "s",
				errors.New(`User "me" cannot patch`),
			),
			private: `secrets "s" is forbidden: User "me" cannot patch`,
		},
		"managers": {
			err: apierrors.NewApplyConflict([]metav1.StatusCause{
				{Type: metav1.CauseTypeFieldManagerConflict, Field: ".data.pin"},
			},
				`Apply failed with 1 conflict: conflict with "me": .data.pin`),
			private: `Apply failed with 1 conflict: conflict with "me": .data.pin`,
		},
		"unknown fields": {
			err: apierrors.NewBadRequest(`Secret in version "v1" cannot be handled as a Secret: ` +
				`strict decoding error: unknown field "dat", duplicate field "type"`),
			private: `Secret in version "v1" cannot be handled as a Secret: ` +
				`strict decoding error: unknown field "dat", duplicate field "type"`,
		},
		"more than unknown fields": {
			err: apierrors.NewBadRequest(`Secret in version "v1" cannot be handled as a Secret: ` +
				`strict decoding error: unknown field "dat", json: hunter2`),
			private: "the server refuses what was sent (BadRequest)" + redactedNote,
		},
		"no answer": {err: errors.New("no route to host"), private: "no route to host"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.open == "" {
				tc.open = tc.err.Error()
			}
			if got := Redact(tc.err, false).Error(); got != tc.open {
				t.Errorf("text\n%s, want\n%s", got, tc.open)
			}
			redacted := Redact(fmt.Errorf("tried elsewhere: %w", tc.err), true)
			if want := "tried elsewhere: " + tc.private; redacted.Error() != want {
				t.Errorf("text of a private object\n%s, want\n%s", redacted, want)
			}
			if !errors.Is(redacted, tc.err) || strings.Contains(redacted.Error(), "hunter2") {
				t.Errorf("redacted %v", redacted)
			}
		})
	}
	wrapping := reworded{invalid(field.Invalid(field.NewPath("spec"), "hunter2", ""))}
	if redacted := Redact(wrapping, true); strings.Contains(redacted.Error(), "hunter2") {
		t.Errorf("redacted %v", redacted)
	}
	if Redact(nil, true) != nil {
		t.Error("no error became one")
	}
}

// A webhook chooses the reason of its refusal. None of them shows what it quotes.
func TestRedactDenied(t *testing.T) {
	for _, reason := range append([]metav1.StatusReason{
		"", "hunter2", metav1.StatusReasonForbidden, metav1.StatusReasonInvalid,
		metav1.StatusReasonBadRequest, metav1.StatusReasonInternalError,
		metav1.StatusReasonUnknown, metav1.StatusReasonNotAcceptable,
		metav1.StatusReasonUnsupportedMediaType, metav1.StatusReasonExpired,
		metav1.StatusReasonStoreReadError,
	}, contentFreeReasons...) {
		for _, denied := range []string{
			`admission webhook "strength" denied the request`,
			`secrets "weak" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request`,
		} {
			refusal := &apierrors.StatusError{ErrStatus: metav1.Status{
				Reason: reason, Message: denied + `: "hunter2" is too weak`,
			}}
			if got := Redact(refusal, true).Error(); got != denied+redactedNote {
				t.Errorf("%q: text %q", reason, got)
			}
		}
	}
	for _, text := range []string{
		`plugin denied the request: "hunter2"`, `"hunter2" denied the request`,
	} {
		refusal := &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonConflict, Message: text,
		}}
		if got := Redact(refusal, true).Error(); strings.Contains(got, "hunter2") {
			t.Errorf("text %q", got)
		}
	}
	plugin := apierrors.NewForbidden(
		schema.GroupResource{Resource: "secrets"}, "s", errors.New(`"hunter2" is not allowed`),
	)
	if got := Redact(plugin, true).Error(); strings.Contains(got, "hunter2") {
		t.Errorf("text %q", got)
	}
	quota := apierrors.NewForbidden(
		schema.GroupResource{Resource: "secrets"}, "s", errors.New("exceeded quota: q, used: 1"),
	)
	if got := Redact(quota, true).Error(); got != quota.Error() {
		t.Errorf("text %q", got)
	}
}

// Warnings about a Secret, or about an object with values of one, show no more than refusals.
func TestWarningsQuoteNoSecret(t *testing.T) {
	const deprecated = "v1 Secret is deprecated in v1.99+; use v2 Secret"
	const policy = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b'"
	var got []string
	handler := warner{func(about object.Ref, text string) { got = append(got, about.Kind+": "+text) }}
	warn := func(ctx context.Context, kind string) {
		ctx = about(ctx, object.Ref{Kind: kind, Name: "a"})
		for _, text := range []string{
			policy + ": password hunter2 is weak", "hunter2 is weak", `unknown field "data.x"`, deprecated,
		} {
			handler.HandleWarningHeaderWithContext(ctx, 299, "", text)
		}
	}
	warn(t.Context(), "Secret")
	warn(Private(t.Context()), "ConfigMap")
	for _, kind := range []string{"Secret: ", "ConfigMap: "} {
		want := []string{
			kind + policy + redactedNote, kind + "the server warns about what was sent" + redactedNote,
			kind + `unknown field "data.x"`, kind + deprecated,
		}
		if diff := cmp.Diff(want, got[:4]); diff != "" {
			t.Errorf("warnings (-want +got):\n%s", diff)
		}
		got = got[4:]
	}
	if warn(t.Context(), "ConfigMap"); !strings.Contains(got[0], "hunter2") {
		t.Errorf("a warning about an open object was cut: %s", got)
	}
}

// reworded is an error whose text differs from that of the error that it wraps.
type reworded struct{ error }

func (e reworded) Error() string { return strings.ToUpper(e.error.Error()) + " hunter2" }

func (e reworded) Unwrap() error { return e.error }
