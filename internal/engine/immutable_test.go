package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestImmutable updates an immutable ConfigMap. The answers are those to the update, and to the
// creation that is tried to find out why the update is refused.
func TestImmutable(t *testing.T) {
	gk := schema.GroupKind{Kind: "ConfigMap"}
	invalid := apierrors.NewInvalid(gk, "a", field.ErrorList{
		field.Invalid(field.NewPath("data"), "new", "field is immutable"),
	})
	other := apierrors.NewInvalid(gk, "a", field.ErrorList{
		field.Invalid(field.NewPath("data").Key("value"), "new", "must not be beside another"),
	})
	policyDenied := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonInvalid, Code: 422,
		Message: "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: it is immutable",
	}}
	derived := apierrors.NewInvalid(gk, "a", field.ErrorList{
		field.Invalid(field.NewPath("spec", "selector"), "derived", "no"),
		field.Invalid(field.NewPath("data").Key("value"), "new", "field is immutable"),
	})
	denied := apierrors.NewForbidden(schema.GroupResource{}, "a", nil)
	usedUp := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a",
		errors.New("exceeded quota: one, requested: count/configmaps=1, used: count/configmaps=1"))
	for _, tc := range []struct {
		name     string
		replace  plan.Replacement
		unhinted bool
		answers  []error
		dryRun   engine.DryRun
		server   bool // the server merges
		mutable  bool // the fields are not known to be immutable
		acted    string
		err      string
		wrote    string
	}{
		{name: "not wanted", answers: []error{invalid}, acted: "update failed",
			err: "data cannot be changed; recreate ConfigMap\n" + invalid.Error()},
		{name: "wanted", replace: plan.ReplaceImmutable, answers: []error{invalid},
			acted: "create succeeded: recreated: data cannot be changed",
			wrote: "delete n/configmap/a, create n/configmap/a"},
		{name: "the live object uses up a quota", replace: plan.ReplaceImmutable,
			answers: []error{invalid, usedUp},
			acted:   "create succeeded: recreated: data cannot be changed",
			wrote:   "delete n/configmap/a, create n/configmap/a"},
		{name: "the server would not create it", replace: plan.ReplaceImmutable,
			answers: []error{invalid, invalid}, acted: "update failed", err: invalid.Error()},
		{name: "the server accepts the update", replace: plan.ReplaceImmutable,
			acted: "update succeeded", wrote: "patch n/configmap/a"},
		{name: "not explained", unhinted: true, answers: []error{invalid}, acted: "update failed",
			err: invalid.Error()},
		{name: "plan", dryRun: engine.DryRunClient, answers: []error{invalid}, acted: "update failed",
			err: "data cannot be changed; recreate ConfigMap\n" + invalid.Error()},
		{name: "wanted plan", replace: plan.ReplaceImmutable, dryRun: engine.DryRunClient,
			answers: []error{invalid},
			acted:   "update succeeded: to be recreated: data cannot be changed; recreates"},
		{name: "plan without permission", dryRun: engine.DryRunClient, answers: []error{denied},
			acted: "update failed", err: "data cannot be changed; recreate ConfigMap"},
		{name: "plan of what the server would not create", dryRun: engine.DryRunClient,
			answers: []error{invalid, invalid}, acted: "update failed", err: invalid.Error()},
		{name: "fields that the manifest does not set", server: true, answers: []error{derived},
			acted: "update failed",
			err:   "data[value] cannot be changed; recreate ConfigMap\n" + derived.Error()},
		{name: "another refusal", mutable: true, answers: []error{other}, acted: "update failed",
			err: other.Error()},
		{name: "another refusal of a server that merges", mutable: true, server: true,
			answers: []error{other}, acted: "update failed", err: other.Error()},
		{name: "a policy", mutable: true, answers: []error{policyDenied}, acted: "update failed",
			err: policyDenied.Error()},
		{name: "plan of another refusal", mutable: true, dryRun: engine.DryRunClient,
			answers: []error{policyDenied}, acted: "update failed", err: policyDenied.Error()},
		{name: "unexplained plan", unhinted: true, dryRun: engine.DryRunClient,
			answers: []error{invalid}, acted: "update succeeded"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				p := policy()
				made := func(value string) *unstructured.Unstructured {
					obj := given("a", value)
					obj.Object["immutable"] = !tc.mutable
					return obj
				}
				if _, err := w.apply(t.Context(), p, realRun, want(made("old"))...); err != nil {
					t.Fatal(err)
				}
				w.Wrote, w.Answers = nil, map[object.Ref][]error{ref("ConfigMap/a"): tc.answers}
				p.ServerSide = tc.server
				if !tc.unhinted {
					p.RecreateHint = "recreate KIND"
				}
				p.Replacement = func(*unstructured.Unstructured) (plan.Replacement, error) {
					return tc.replace, nil
				}
				var acted, failure string
				w.hear = func(e event.Event) {
					if e.Kind != event.Acted {
						return
					}
					acted = string(e.Op) + " " + string(e.Outcome)
					if e.Reason != "" {
						acted += ": " + e.Reason
					}
					if e.Recreates {
						acted += "; recreates"
					}
					if e.Err != nil {
						failure = e.Err.Error()
					}
				}
				options := realRun
				if tc.dryRun != "" {
					options.DryRun = tc.dryRun
				}
				if _, err := w.apply(t.Context(), p, options, want(made("new"))...); err != nil {
					t.Fatal(err)
				}
				wrote := slices.DeleteFunc(w.Wrote, func(change string) bool {
					return strings.HasSuffix(change, "record")
				})
				got := []string{acted, failure, strings.Join(wrote, ", ")}
				if diff := cmp.Diff([]string{tc.acted, tc.err, tc.wrote}, got); diff != "" {
					t.Errorf("result (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A server quotes whole fields as Go structs. Lines with them are not printed.
func TestImmutableErrorIsShort(t *testing.T) {
	for _, tc := range []struct{ answer, want string }{
		{"spec: Forbidden: ask", "spec cannot be changed; hint\nspec: Forbidden: ask"},
		{strings.Repeat("{\"Volumes\":null}", 100), "spec cannot be changed; hint"},
		{"spec: Forbidden: only these:\n- image\n" + strings.Repeat("x", 400),
			"spec cannot be changed; hint\nspec: Forbidden: only these:\n- image"},
	} {
		err := &engine.ImmutableError{Fields: []string{"spec"}, Hint: "hint", Err: errors.New(tc.answer)}
		if got := err.Error(); got != tc.want {
			t.Errorf("error %q, want %q", got, tc.want)
		}
	}
}
