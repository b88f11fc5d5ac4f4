package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Child objects are found by the labels of the object: one of an app that is given by labels lacks
// the app's own.
func TestChildren(t *testing.T) {
	for labels, want := range map[string]map[string]string{
		"{kapp.k14s.io/app: '1', kapp.k14s.io/association: v1.a, x: w}": {"kapp.k14s.io/app": "1",
			"kapp.k14s.io/association": "v1.a"},
		"{kapp.k14s.io/association: v1.a, x: w}": {"kapp.k14s.io/association": "v1.a"},
		"{kapp.k14s.io/app: '1'}":                nil,
	} {
		rules := KappRules(config.Default(), false, true)
		kinds, got := rules.Children(liveOf(t, "{apiVersion: apps/v1, kind: Deployment, "+
			"metadata: {name: web, namespace: demo, labels: "+labels+"}}"))
		if diff := cmp.Diff(want, got); diff != "" || (len(kinds) > 0) != (want != nil) {
			t.Errorf("%s: kinds %v, labels (-want +got):\n%s", labels, kinds, diff)
		}
	}
}

// A failure that is older than the last change may be of before it: what counts is the time of the
// condition that makes the object fail, and not that of others, which the change may have caused.
func TestFailureSince(t *testing.T) {
	const (
		before = "2026-01-01T00:00:00Z"
		after  = "2026-01-01T01:00:00Z"
	)
	rules := resource.Resource{Unstructured: liveOf(t, `{apiVersion: kapp.k14s.io/v1alpha1,
		kind: Config, waitRules: [{conditionMatchers: [{type: Failed, status: "True", failure: true}],
		resourceMatchers: [{apiGroupKindMatcher: {apiGroup: example.com, kind: A}}]}]}`)}
	_, conf, err := config.Extract([]resource.Resource{rules}, ConfigVersion)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, object, want string }{
		{"another condition is later", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2},
			status: {observedGeneration: 2, conditions: [
			{type: Progressing, status: "False", reason: ProgressDeadlineExceeded, lastTransitionTime: "` + before + `"},
			{type: Available, status: "False", lastTransitionTime: "` + after + `"}]}}`, before},
		{"the condition failed again", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 2},
			status: {observedGeneration: 2, conditions: [{type: Progressing, status: "False", reason: FailedCreate,
			lastTransitionTime: "` + before + `", lastUpdateTime: "` + after + `"}]}}`, after},
		{"a wait rule", `{apiVersion: example.com/v1, kind: A, metadata: {name: a}, status: {conditions: [
			{type: Ready, status: "Unknown", lastTransitionTime: "` + after + `"},
			{type: Failed, status: "True", lastTransitionTime: "` + before + `"}]}}`, before},
		{"a package", `{apiVersion: packaging.carvel.dev/v1alpha1, kind: PackageInstall, metadata: {name: a},
			status: {conditions: [{type: ReconcileFailed, status: "True", lastTransitionTime: "` + before + `"},
			{type: Other, status: "True", lastTransitionTime: "` + after + `"}]}}`, before},
		{"no condition fails", `{apiVersion: v1, kind: Pod, metadata: {name: a}, status: {phase: Failed,
			conditions: [{type: Ready, status: "False", lastTransitionTime: "` + after + `"}]}}`, after},
	} {
		t.Run(tc.name, func(t *testing.T) {
			v := KappRules(conf, false, false).Judge(liveOf(t, tc.object), nil)
			if at := v.Since.Format(time.RFC3339); v.State != ready.Failed || at != tc.want {
				t.Errorf("%s since %s, not %s: %s", v.State, at, tc.want, v.Message)
			}
		})
	}
}

// Native runs judge objects by the rules of packages, unless those of the configuration do.
func TestNativeRules(t *testing.T) {
	claim := "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}, " +
		"status: {phase: Pending}}"
	balancer := "{apiVersion: v1, kind: Service, metadata: {name: a}, spec: {type: LoadBalancer}}"
	custom := "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}, status: {phase: Done}}"
	for _, tc := range []struct {
		object       string
		native, kapp ready.State
	}{
		{claim, ready.InProgress, ready.Current},
		{balancer, ready.InProgress, ready.InProgress},
		{custom, ready.Current, ready.Current},
	} {
		obj := liveOf(t, tc.object)
		conf := config.Default()
		if got := KappRules(conf, false, false).Judge(obj, nil).State; got != tc.kapp {
			t.Errorf("%s: kapp's state %s, want %s", obj.GetKind(), got, tc.kapp)
		}
		set := &Set{config: conf}
		if got := set.Rules(nil).Judge(obj, nil).State; got != tc.native {
			t.Errorf("%s: native state %s, want %s", obj.GetKind(), got, tc.native)
		}
	}
}

// liveOf returns the object of a manifest.
func liveOf(t *testing.T, text string) liveObject {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}
