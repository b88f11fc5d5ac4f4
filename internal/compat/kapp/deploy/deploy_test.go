package deploy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// A new app gets a record that names its kinds and namespaces, and objects with its label.
func TestDeployNew(t *testing.T) {
	w := newWorld(t)
	request := w.request(
		configMap("a", "1"),
		"{apiVersion: v1, kind: Secret, metadata: {name: b, namespace: other}}",
	)
	saved := ""
	request.SaveMetadata = func(json string) error { saved = json; return nil }
	result, err := w.Deploy(t.Context(), request)
	if err != nil || result.Changes != 2 {
		t.Fatalf("%d changes, error %v", result.Changes, err)
	}
	found := w.find()
	key, value, _ := found.Label()
	if got := w.cluster.Object(configMapRef("a")).GetLabels()[key]; got != value || value == "" {
		t.Errorf("label %q, want %q", got, value)
	}
	last := found.Meta.LastDeployment
	check(t, "namespaces", strings.Join(last.Namespaces, " "), "demo other")
	check(
		t,
		"description",
		last.Description,
		"update: Op: 2 create, 0 delete, 0 update, 0 noop, 0 exists / Wait to: 2 reconcile, 0 "+
			"delete, 0 noop",
	)
	if last.Successful == nil || !*last.Successful || len(*found.Meta.UsedGKs) != 2 {
		t.Errorf("record %+v", found.Meta)
	}
	check(t, "saved metadata", saved, found.Meta.JSON())
}

// A second deployment makes the differences alone, and prunes objects without an input.
func TestDeployAgain(t *testing.T) {
	for _, tc := range []struct {
		name      string
		edit      func(*DeployRequest)
		manifests []string
		changes   int
		objects   string
		err       string
	}{
		{"unchanged", nil, []string{configMap("a", "1"), configMap("b", "1")}, 0,
			"configmap/a configmap/b configmap/web", ""},
		{"update and prune", nil, []string{configMap("a", "2")}, 2, "configmap/a configmap/web",
			""},
		{"patch", func(r *DeployRequest) { r.Patch = true }, []string{configMap("a", "2")}, 1,
			"configmap/a configmap/b configmap/web", ""},
		{"filter", func(r *DeployRequest) { r.Filter.Names = []string{"a"} },
			[]string{configMap("a", "2")}, 1,
			"configmap/a configmap/b configmap/web", ""},
		{"invalid filter", func(r *DeployRequest) { r.Filter.Age = "x" }, []string{configMap("a",
			"2")}, 0,
			"configmap/a configmap/b configmap/web", "age"},
		{"empty", nil, nil, 0, "configmap/a configmap/b configmap/web", "Trying to apply empty " +
			"set of resources"},
		{"allowed empty", func(r *DeployRequest) { r.AllowEmpty = true }, nil, 2, "configmap/web",
			""},
		{"empty patch", func(r *DeployRequest) { r.Patch = true }, nil, 0, "configmap/a " +
			"configmap/b configmap/web", ""},
		{"dry run", func(r *DeployRequest) { r.Review.DryRun = true }, []string{configMap("a",
			"2")}, 2,
			"configmap/a configmap/b configmap/web", ""},
		{"all kinds", func(r *DeployRequest) { r.AllKinds = true }, []string{configMap("a", "1")},
			1, "configmap/a configmap/web", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.deploy(configMap("a", "1"), configMap("b", "1"))
			request := w.request(tc.manifests...)
			if tc.edit != nil {
				tc.edit(&request)
			}
			result, err := w.Deploy(t.Context(), request)
			checkError(t, err, tc.err)
			if result.Changes != tc.changes {
				t.Errorf("%d changes, want %d", result.Changes, tc.changes)
			}
			check(t, "objects", w.objects(), tc.objects)
		})
	}
}

// What the user or a check refuses changes nothing.
func TestDeployRefused(t *testing.T) {
	denied := map[string]bool{"create configmaps": true}
	for _, tc := range []struct {
		name, manifest string
		prepare        func(*world, *DeployRequest)
		err            string
	}{
		{"no files", "", func(_ *world, r *DeployRequest) { r.Input.Files = nil },
			"Expected at least one --file"},
		{"invalid YAML", "{", nil, "yaml"},
		{"not confirmed", configMap("a", "1"), func(w *world,
			_ *DeployRequest) {
			w.answer = func() error { return errTest }
		}, "no"},
		{"printing fails", configMap("a", "1"), func(_ *world, r *DeployRequest) {
			r.Review.Print = func(*Run) error { return errTest }
		}, "no"},
		{"served", configMap("a", "1"), func(_ *world, r *DeployRequest) {
			r.Review.Serve = func(context.Context, *Run) error { return errTest }
		}, "no"},
		{"name of the record", configMap("web", "1"), nil, "would overwrite the record of the app"},
		{"preflight", configMap("a", "1"), func(w *world, r *DeployRequest) {
			w.cluster.Denied, r.Checks = denied, []string{"PermissionValidation"}
		}, "create"},
		{"preflight of the configuration", configMap("a", "1") + "\n---\n{apiVersion: " +
			"kapp.k14s.io/v1alpha1, kind: Config, " +
			"preflightRules: [{name: PermissionValidation}]}", func(w *world,
			_ *DeployRequest) {
			w.cluster.Denied = denied
		}, ""},
		{"unknown kind", "{apiVersion: example.com/v1, kind: Unknown, metadata: {name: a}}", nil,
			"Unknown"},
		{"namespace that is not allowed", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, " +
			"namespace: other}}",
			func(_ *world, r *DeployRequest) { r.Preparation.AllowCheck = true }, "other"},
		{"unreadable object", configMap("a", "1"), func(w *world, _ *DeployRequest) {
			refused := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "a",
				errTest)
			w.cluster.Unreadable = map[object.Ref]error{configMapRef("a"): refused}
		}, "Checking existence of resource configmap/a (v1) namespace: demo: API server says: "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			request := w.request(tc.manifest)
			if tc.prepare != nil {
				tc.prepare(w, &request)
			}
			_, err := w.Deploy(t.Context(), request)
			if tc.err == "" { // whatever the check says
				return
			}
			checkError(t, err, tc.err)
			check(t, "objects", w.objects(), "")
		})
	}
}

// An app of labels has no record, and marks its objects by its label.
func TestDeployByLabel(t *testing.T) {
	w := newWorld(t)
	request := w.request(configMap("a", "1"))
	request.App = app.Name{Name: "label:tier=web"}
	if _, err := w.Deploy(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	check(t, "objects", w.objects(), "configmap/a")
	check(t, "label", w.cluster.Object(configMapRef("a")).GetLabels()["tier"], "web")

	request = w.request(configMap("b", "1"))
	request.App = app.Name{Name: "label:tier=web"}
	if _, err := w.Deploy(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	check(t, "objects after the second", w.objects(), "configmap/b")

	request.App.Name = "label:tier=web,other=x"
	request.Input.Stdin = strings.NewReader(configMap("a", "1"))
	_, err := w.Deploy(t.Context(), request)
	checkError(t, err, "label")
}

// An app with another name before keeps its objects.
func TestDeployPreviousName(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	request := w.request(configMap("a", "1"))
	request.App.Name, request.PrevName = "shop", "web"
	if _, err := w.Deploy(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	check(t, "objects", w.objects(), "configmap/a configmap/shop")
}

// An object that belongs to another app is refused, unless the request or its annotations allow it.
func TestDeployOwnership(t *testing.T) {
	annotated := func(key string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {kapp.k14s.io/" + key +
			": ''}}}"
	}
	const label = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: " +
		"{kapp.k14s.io/app: '7'}}}"
	for _, tc := range []struct {
		name, live, input string
		edit              func(*DeployRequest)
		err               string
	}{
		{"foreign", label, configMap("a", "1"), nil,
			"Ownership errors:\n- Resource 'configmap/a (v1) namespace: demo' is already " +
				"associated with a different label 'kapp.k14s.io/app=7'"},
		{"overridden", label, configMap("a", "1"),
			func(r *DeployRequest) { r.OverrideOwnership = true }, ""},
		{"of an app without a record", label, configMap("a", "1"),
			func(r *DeployRequest) { r.OverrideOwnership, r.AdoptFrom = true, []string{"other"} },
			"associated with a different label 'kapp.k14s.io/app=7'"},
		{"exists", label, annotated("exists"), nil, ""},
		{"noop", label, annotated("noop"), nil, ""},
		{"without label", configMap("a", "0"), configMap("a", "1"), nil, ""},
		{"not looked for", label, configMap("a", "1"), func(r *DeployRequest) { r.Adopt = false },
			"already exists"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.put(tc.live)
			request := w.request(tc.input)
			if tc.edit != nil {
				tc.edit(&request)
			}
			_, err := w.Deploy(t.Context(), request)
			checkError(t, err, tc.err)
		})
	}
}

// Inputs that filters exclude are not checked: neither their owners nor their namespaces.
func TestDeployExcludedInputs(t *testing.T) {
	w := newWorld(t)
	w.put("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {kapp.k14s.io/app: '7'}}}")
	request := w.request(configMap("a", "1"), configMap("b", "1"),
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: other}}")
	request.Filter.Names = []string{"b"}
	request.Preparation.AllowCheck = true
	request.Preparation.AllowNs = []string{"demo"}
	if _, err := w.Deploy(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	check(t, "objects", w.objects(), "configmap/a configmap/b configmap/web")
	for _, asked := range w.cluster.Asked {
		if slices.Contains(asked, configMapRef("a")) {
			t.Errorf("read %v", asked)
		}
	}
}

// The error names the app that an object belongs to, also when it appears during the run.
func TestDeployOwnershipByApp(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	request := w.request(configMap("a", "1"))
	request.App.Name = "other"
	_, err := w.Deploy(t.Context(), request)
	checkError(
		t,
		err,
		"already associated with a different app 'web' namespace: demo (label 'kapp.k14s.io/app=",
	)

	live := w.cluster.Object(configMapRef("a"))
	request = w.request(configMap("b", "1"))
	request.App.Name = "other"
	request.Review.Print = func(r *Run) error {
		checkError(t, r.checkOwner(t.Context(), live, live), "different app 'web'")
		adoptable := parse(t, configMap("b", "0"))
		checkError(t, r.checkOwner(t.Context(), adoptable, adoptable), "")
		return nil
	}
	if _, err := w.Deploy(t.Context(), request); err != nil {
		t.Fatal(err)
	}
}

// A creation that falls back on an update only updates, whatever the strategy of updates is: the
// user was not shown a replacement, and an object that is skipped would not belong to the app.
func TestDeployFallbackOnUpdate(t *testing.T) {
	invalid := apierrors.NewInvalid(configMapKind, "a", nil)
	for _, tc := range []struct {
		name, strategy string
		answers        []error // of the creation and the update
		value, err     string
	}{
		{"updated", "", nil, "new", ""},
		{"not skipped", "skip", nil, "new", ""},
		{"not replaced", "always-replace", nil, "new", ""},
		{"not replaced if invalid", "fallback-on-replace", []error{nil, invalid}, "foreign",
			"is invalid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			ref := w.put(configMap("a", "foreign"))
			uid := w.cluster.Object(ref).GetUID()
			w.cluster.Answers = map[object.Ref][]error{ref: tc.answers}
			input := parse(t, configMap("a", "new"))
			input.SetAnnotations(map[string]string{"kapp.k14s.io/create-strategy": "fallback-on-update"})
			text, err := input.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			request := w.request(string(text))
			request.Adopt, request.Run.UpdateStrategy = false, tc.strategy
			_, err = w.Deploy(t.Context(), request)
			checkError(t, err, tc.err)
			live := w.cluster.Object(ref)
			if live.GetUID() != uid {
				t.Error("the object was replaced")
			}
			value, _, _ := unstructured.NestedString(live.Object, "data", "value")
			check(t, "value", value, tc.value)
		})
	}
}

// rebaseRule returns a configuration whose overlay sets a field of ConfigMaps.
func rebaseRule(field string) string {
	return `
apiVersion: kapp.k14s.io/v1alpha1
kind: Config
rebaseRules:
- resourceMatchers:
  - apiVersionKindMatcher: {apiVersion: v1, kind: ConfigMap}
  ytt:
    overlayContractV1:
      overlay.yml: |
        #@ load("@ytt:data", "data")
        #@ load("@ytt:overlay", "overlay")
        #@overlay/match by=overlay.all
        ---
        data:
          #@overlay/match missing_ok=True
          ` + field
}

// A rule may expect fields that the recorded original lacks, because they are newer.
func TestDeployRuleFailsOnOriginal(t *testing.T) {
	const cm = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {new: x}}"
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	w.deploy(cm, rebaseRule(`new: #@ data.values.new.data.new + "!"`))
	data, _, _ := unstructured.NestedStringMap(w.cluster.Object(configMapRef("a")).Object, "data")
	check(t, "data", fmt.Sprint(data), "map[new:x!]")
}

// A rule may expect fields that only the server sets, also when the object is created.
func TestDeployRuleNeedsStoredObject(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"), rebaseRule(`uid: #@ data.values.existing.metadata.uid`))
	live := w.cluster.Object(configMapRef("a"))
	if live.GetAnnotations()["kapp.k14s.io/original-diff-md5"] == "" {
		t.Error("nothing is recorded")
	}
}

// A failed run is recorded as such, also if it was interrupted.
func TestDeployFails(t *testing.T) {
	w := newWorld(t)
	w.cluster.Fails = map[object.Ref]error{configMapRef("a"): errTest}
	request := w.request(configMap("a", "1"))
	saved := false
	request.SaveMetadata = func(string) error { saved = true; return errors.New("disk full") }
	_, err := w.Deploy(t.Context(), request)
	checkError(t, err, "no")
	last := w.find().Meta.LastDeployment
	if last.Successful == nil || *last.Successful || !saved {
		t.Errorf("last change %+v, metadata saved: %t", last, saved)
	}

	ctx, cancel := context.WithCancelCause(t.Context())
	w.answer = func() error { cancel(errTest); return nil }
	_, err = w.Deploy(ctx, w.request(configMap("a", "2")))
	checkError(t, err, "Interrupted")
	if last := w.find().Meta.LastDeployment; last.Successful == nil || *last.Successful ||
		last.FinishedAt.IsZero() {
		t.Errorf("last change after an interrupt %+v", last)
	}
}

// A deployment that has nothing to do after one that failed or was killed is recorded as
// successful, and the killed one as failed, unless it did not see all of the app.
func TestDeployUnchangedAfterFailure(t *testing.T) {
	for _, tc := range []struct {
		name    string
		killed  bool
		edit    func(*DeployRequest)
		changes string // whether they succeeded
	}{
		{"killed", true, nil, "false true"},
		{"failed", false, nil, "false true"},
		{"filtered", true, func(r *DeployRequest) { r.Filter.Names = []string{"a"} }, "open"},
		{"patched", true, func(r *DeployRequest) { r.Patch = true }, "open"},
		{"without waiting", true, func(r *DeployRequest) { r.Run.Wait = false }, "open"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			first := w.request(configMap("a", "1"), configMap("b", "1"))
			first.KeepChanges = 0
			if _, err := w.Deploy(t.Context(), first); err != nil {
				t.Fatal(err)
			}
			found := w.find()
			if err := found.Begin(t.Context(), "update", []string{"demo"}, true); err != nil {
				t.Fatal(err)
			}
			if !tc.killed {
				if err := found.Finish(t.Context(), false, []string{"demo"}); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 { // the second one has nothing to record
				request := w.request(configMap("a", "1"), configMap("b", "1"))
				if tc.edit != nil {
					tc.edit(&request)
				}
				if result, err := w.Deploy(t.Context(), request); err != nil || result.Changes > 0 {
					t.Fatalf("%d changes, error %v", result.Changes, err)
				}
			}
			records, err := w.find().RecordedDeployments(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var ends []string
			for _, r := range records {
				end := "open"
				if r.Successful != nil {
					end = fmt.Sprint(*r.Successful)
				}
				ends = append(ends, end)
			}
			check(t, "changes", strings.Join(ends, " "), tc.changes)
		})
	}
}

// A condition with a timeout is a failure once it has held for so long; one without a meaning has
// none. A group without a name is accepted while nothing matches it.
func TestDeployConditionTimeout(t *testing.T) {
	const rules = `
apiVersion: kapp.k14s.io/v1alpha1
kind: Config
minimumRequiredVersion: 0.64.0
changeGroupBindings: [{resourceMatchers: [{kindNamespaceNameMatcher: {kind: A, name: a}}]}]
waitRules:
- conditionMatchers:
  - {type: Ready, status: "False", timeout: 50s}
  - {type: Ready, status: "True", success: true}
  - {type: Other, status: "True"}
  resourceMatchers: [{apiVersionKindMatcher: {apiVersion: v1, kind: ConfigMap}}]`
	ready := func(seconds int, status string) enginetest.Change {
		conditions := []any{map[string]any{"type": "Ready", "status": status, "reason": "Slow"}}
		return enginetest.Change{After: time.Duration(seconds) * time.Second,
			Status: map[string]any{"conditions": conditions}}
	}
	const late = "Encountered failure condition Ready == False: Slow (message: ) continuously for " +
		"50s duration"
	for _, tc := range []struct {
		name   string
		script []enginetest.Change
		took   time.Duration
		want   event.Outcome
	}{
		{"ready in time", []enginetest.Change{ready(1, "False"), ready(40, "True")}, 40,
			event.Succeeded},
		{"another status in between", []enginetest.Change{ready(1, "False"), ready(40, "Unknown"),
			ready(45, "False"), ready(85, "True")}, 85, event.Succeeded},
		{"late", []enginetest.Change{ready(1, "False"), ready(52, "True")}, 51, event.Failed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.cluster.Script = map[object.Ref][]enginetest.Change{configMapRef("a"): tc.script}
				request := w.request(configMap("a", "1"), rules)
				request.Run.Engine.Limits.Idle = limit.After(time.Hour)
				var end event.Event
				request.Review.NewPrinter = func(*Run) RunPrinter {
					return printerFunc(func(e event.Event) { end = e })
				}
				began := time.Now()
				_, err := w.Deploy(t.Context(), request)
				if took := time.Since(began); end.Outcome != tc.want || took != tc.took*time.Second {
					t.Errorf("%s after %s, error %v", end.Outcome, took, err)
				}
				if tc.want == event.Failed {
					check(t, "message", end.Status.Message, late)
				}
			})
		})
	}
}

// printerFunc is a RunPrinter that hands events on.
type printerFunc func(event.Event)

func (f printerFunc) Event(e event.Event) { f(e) }

func (printerFunc) Close(bool) error { return nil }

// The oldest change records are deleted.
func TestDeployTrims(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	request := w.request(configMap("a", "2"))
	request.KeepChanges, request.Summarize = 1, false
	if _, err := w.Deploy(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	check(t, "output", w.output(), "Deleted 1 older app changes")
	check(
		t,
		"description",
		w.find().Meta.LastDeployment.Description,
		"update: Op: 0 create, 0 delete, 0 update, 0 noop, 0 exists / Wait to: 0 reconcile, 0 "+
			"delete, 0 noop",
	)
}

// A kind of the inputs may be defined by them, or may be new to the server.
func TestDeployNewKinds(t *testing.T) {
	custom := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	const widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}"
	const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com},
		spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true}]}}`
	w := newWorld(t)
	w.cluster.Serve(
		schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"},
		false,
	)
	request := w.request(definition, widget)
	request.Run.Wait = false // nobody establishes the definition
	_, err := w.Deploy(t.Context(), request)
	checkError(t, err, "")
	check(
		t,
		"objects",
		w.objects(),
		"configmap/web customresourcedefinition/widgets.example.com widget/a",
	)

	w = newWorld(t)
	w.cluster.Discovers = func() { w.cluster.Serve(custom, true) }
	w.deploy(widget)
	check(t, "objects", w.objects(), "configmap/web widget/a")
	if w.cluster.Rediscovered != 1 {
		t.Errorf("discovered %d times", w.cluster.Rediscovered)
	}
}

// A broken group version matters only if the app uses it; then the server is asked again for a
// while.
func TestDeployBrokenDiscovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		metrics := schema.GroupVersion{Group: "metrics.k8s.io", Version: "v1"}
		w.cluster.Broken = map[schema.GroupVersion]error{metrics: errTest}
		w.deploy(configMap("a", "1"))

		w.cluster.Broken = map[schema.GroupVersion]error{{Version: "v1"}: errTest}
		_, err := w.Deploy(t.Context(), w.request(configMap("a", "2")))
		checkError(t, err, "possibly related issue")
		if w.cluster.Rediscovered != 9 {
			t.Errorf("discovered %d times", w.cluster.Rediscovered)
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errTest)
		_, err = w.Deploy(ctx, w.request(configMap("a", "2")))
		checkError(t, err, "no")

		request := w.request(configMap("a", "2"))
		request.Search.IgnoreFailing = true
		_, err = w.Deploy(t.Context(), request)
		checkError(t, err, "")

		w.cluster.Discovers = func() { w.cluster.Broken = nil }
		w.deploy(configMap("a", "3"))
	})
}

// silentPrinter is a RunPrinter that knows of no error.
type silentPrinter struct{}

func (silentPrinter) Event(event.Event) {}

func (silentPrinter) Close(bool) error { return nil }

// A run with failures is an error, even if its printer knows of none.
func TestDeployFailsSilently(t *testing.T) {
	w := newWorld(t)
	w.cluster.Fails = map[object.Ref]error{configMapRef("a"): errTest}
	request := w.request(configMap("a", "1"))
	request.Review.NewPrinter = func(*Run) RunPrinter { return silentPrinter{} }
	_, err := w.Deploy(t.Context(), request)
	checkError(t, err, "Failed changes: 1")
}

// A list that fails ends the deployment before anything is written.
func TestDeployListFails(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	w.cluster.ListFails = map[schema.GroupKind]error{configMapKind: errTest}
	_, err := w.Deploy(t.Context(), w.request(configMap("a", "2")))
	checkError(
		t,
		err,
		`Listing schema.GroupVersionResource{Group:"", Version:"v1", Resource:"configmaps"}, `+
			`namespaced: true: no`,
	)
}

// Objects that the user may not list stay, and the record keeps their kinds and namespaces.
func TestDeployUnlistable(t *testing.T) {
	const role = "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: " +
		"r}}"
	secret := "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: other}}"
	w := newWorld(t)
	w.deploy(configMap("a", "1"), secret, role)
	w.cluster.Unlistable = map[schema.GroupKind][]string{
		secretKind:      {enginetest.Everywhere},
		clusterRoleKind: nil,
	}
	w.deploy(configMap("a", "2"))
	check(
		t,
		"output",
		w.output(),
		"info: Leaving resources of the app that cannot be seen, if there are any that are not "+
			"in the files. "+
			"Missing permissions: list secrets in namespaces: demo, other; list "+
			"clusterroles.rbac.authorization.k8s.io",
	)
	check(t, "objects", w.objects(), "clusterrole/r configmap/a configmap/web secret/s")
	meta := w.find().Meta
	check(t, "namespaces", strings.Join(meta.LastDeployment.Namespaces, " "),
		"(cluster) demo other")
	if len(*meta.UsedGKs) != 3 {
		t.Errorf("kinds %v", *meta.UsedGKs)
	}

	w.cluster.Unlistable = nil
	w.deploy(configMap("a", "2"))
	check(t, "objects once all may be listed", w.objects(), "configmap/a configmap/web")
}

// A namespace in which the user may list no kind of the app may hold objects as well.
func TestDeployUnlistableNamespace(t *testing.T) {
	w := newWorld(t)
	w.deploy(
		configMap("a", "1"),
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: other}}",
	)
	w.cluster.Unlistable = map[schema.GroupKind][]string{configMapKind: {"other"}}
	w.deploy(configMap("a", "2"))
	if text := w.output(); !strings.Contains(text, "list anything of the app in namespace: other") {
		t.Errorf("output %q", text)
	}
	check(t, "namespaces", strings.Join(w.find().Meta.LastDeployment.Namespaces, " "), "demo other")
}

// Inputs may be files, and versions of a resource stay with --patch.
func TestDeployFiles(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "a.yml")
	const versioned = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: " +
		"{kapp.k14s.io/versioned: '', kapp.k14s.io/num-versions: '1'}}, data: {value: '%'}}"
	for _, value := range []string{"1", "2", "3"} {
		if err := os.WriteFile(file, []byte(strings.Replace(versioned, "%", value, 1)),
			0o600); err != nil {
			t.Fatal(err)
		}
		request := w.request()
		request.Input.Files, request.Patch = []string{file}, true
		if _, err := w.Deploy(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	check(t, "objects", w.objects(),
		"configmap/a-ver-1 configmap/a-ver-2 configmap/a-ver-3 configmap/web")
}

// Managed fields are read where diffs, overlays or server-side apply need them.
func TestManagedFields(t *testing.T) {
	for _, tc := range []struct {
		edit func(*DeployRequest)
		want bool
	}{
		{func(*DeployRequest) {}, false},
		{func(r *DeployRequest) { r.Run.ServerSide = true }, true},
		{func(r *DeployRequest) { r.Review.Fields = true }, true},
	} {
		w := newWorld(t)
		w.deploy(configMap("a", "1"))
		request := w.request(configMap("a", "1"))
		tc.edit(&request)
		if _, err := w.Deploy(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		last := w.cluster.Selections[len(w.cluster.Selections)-1]
		if last.ManagedFields != tc.want {
			t.Errorf("managed fields %t, want %t", last.ManagedFields, tc.want)
		}
	}
}

// Filter returns a copy, so that its callers may change it.
func TestFilter(t *testing.T) {
	objects := []liveObject{parse(t, configMap("a", "1")), parse(t, configMap("b", "1"))}
	if got := Filter(objects, nil); len(got) != 2 || &got[0] == &objects[0] {
		t.Errorf("%d objects", len(got))
	}
	some, err := filter.Flags{Names: []string{"b"}}.ResourceFilter(newWorld(t).now)
	if err != nil {
		t.Fatal(err)
	}
	if got := Filter(objects, some); len(got) != 1 || got[0].GetName() != "b" {
		t.Errorf("%v", got)
	}
}
