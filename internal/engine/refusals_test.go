package engine_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// denies returns an answer with the reason Forbidden.
func denies(text string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a", errors.New(text))
}

// A plan fails for what a policy or a quota refuses, unless the same run writes what objects are
// admitted by. What the rights of the user, roles or webhooks refuse may be another thing in a run:
// the plan is as if the server had not been asked, and says what webhooks and roles refuse.
func TestClientDryRunFindsRefusals(t *testing.T) {
	byPolicy := func(reason metav1.StatusReason, code int32) error {
		err := denies("ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no label")
		err.(*apierrors.StatusError).ErrStatus.Reason = reason
		err.(*apierrors.StatusError).ErrStatus.Code = code
		return err
	}
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Reason: metav1.StatusReasonForbidden, Code: 403,
		Message: `admission webhook "a.example.com" denied the request: no`,
	}}
	rights := denies(`User "ann" cannot create resource "configmaps" in API group "" in the ` +
		`namespace "n"`)
	roles := denies(`user "ann" (groups=["all"]) is attempting to grant RBAC permissions not ` +
		"currently held:\n{APIGroups:[\"\"]}")
	const (
		doubt = "not validated by the server: "
		says  = "at present, the server would refuse it: "
	)
	for _, tc := range []struct {
		name    string
		refusal error
		beside  string // another new object of the plan
		fails   bool
		reason  string // the begin of it
	}{
		{"policy", byPolicy(metav1.StatusReasonForbidden, 403), "ConfigMap/b", true, ""},
		{"policy, invalid", byPolicy(metav1.StatusReasonInvalid, 422), "ConfigMap/b", true, ""},
		{"policy, too large", byPolicy(metav1.StatusReasonRequestEntityTooLarge, 413), "ConfigMap/b",
			true, ""},
		{"policy of the run", byPolicy(metav1.StatusReasonInvalid, 422),
			"ValidatingAdmissionPolicy/p", false, doubt},
		{"quota", denies("exceeded quota: some, requested: configmaps=1, used: configmaps=1, " +
			"limited: configmaps=1"), "ConfigMap/b", true, ""},
		{"quota of the run", denies("exceeded quota: some"), "ResourceQuota/some", false, doubt},
		{"pod security", denies(`violates PodSecurity "baseline:latest": host namespaces`), "", true,
			""},
		{"rights", rights, "ResourceQuota/some", false, ""},
		{"roles", roles, "", false, says},
		{"webhook", webhook, "", false, says},
	} {
		for _, exists := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{})
				if exists {
					live := given("a", "x")
					live.SetAnnotations(map[string]string{"owner": "me"})
					w.Put(live)
				}
				w.Fails = map[object.Ref]error{ref("ConfigMap/a"): tc.refusal}
				p := policy()
				p.RecreateHint = "recreate it"
				objects := want(given("a", "y"))
				if tc.beside != "" {
					beside := thing(tc.beside)
					if beside.GetKind() == "ValidatingAdmissionPolicy" {
						beside.SetAPIVersion("admissionregistration.k8s.io/v1")
					}
					objects = want(given("a", "y"), beside)
				}
				var acted []event.Event
				w.hear = func(e event.Event) {
					if e.Kind == event.Acted && e.Ref == ref("ConfigMap/a") {
						acted = append(acted, e)
					}
				}
				if _, err := w.apply(t.Context(), p,
					engine.Options{DryRun: engine.DryRunClient, TryCreations: 3}, objects...); err != nil {
					t.Fatal(err)
				}
				if len(acted) != 1 || acted[0].Op == plan.Unchanged {
					t.Fatalf("%s: events %v", tc.name, acted)
				}
				e := acted[0]
				if (e.Outcome == event.Failed) != tc.fails || (e.Err != nil) != tc.fails ||
					!strings.HasPrefix(e.Reason, tc.reason) || tc.reason == "" && e.Reason != "" {
					t.Errorf("%s, exists %t: %s, %q, %v", tc.name, exists, e.Outcome, e.Reason, e.Err)
				}
			})
		}
	}
}

// A field that the server does not have is explained by the kind of the object.
func TestUndeclaredFields(t *testing.T) {
	refused := apierrors.NewInternalError(errors.New("failed to create typed patch object (n/a; " +
		"example.com/v1, Kind=Widget): .spec.sail: field not declared in schema"))
	for name, says := range map[string]string{
		"Widget/a": "the cluster's definition of the kind Widget.example.com has no such field: update " +
			"the definition first, or take the field out of the manifest",
		"Service/a": "this server has no such field of the kind Service: take it out of the manifest, " +
			"or update the server",
	} {
		for _, mode := range []engine.DryRun{engine.DryRunServer, engine.DryRunNone} {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{Fails: map[object.Ref]error{ref(name): refused}})
				p := policy()
				p.ServerSide, p.RecreateHint = true, "recreate it"
				failure := ""
				w.hear = func(e event.Event) {
					if e.Kind == event.Acted && e.Err != nil {
						failure = e.Err.Error()
					}
				}
				if _, err := w.apply(t.Context(), p, engine.Options{DryRun: mode},
					want(thing(name))...); err != nil {
					t.Fatal(err)
				}
				if failure != refused.Error()+"\n"+says {
					t.Errorf("%s: %s", name, failure)
				}
			})
		}
	}
}
