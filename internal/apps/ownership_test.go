package apps

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
)

// marked returns a ConfigMap with the mark of another owner.
func marked(name, metadata string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, %s}}", name, metadata)
}

const (
	ofPackage = "annotations: {config.k8s.io/owning-inventory: id-1}"
	ofHelm    = "annotations: {meta.helm.sh/release-name: web, meta.helm.sh/release-namespace: shop}"
	ofFlux    = "labels: {kustomize.toolkit.fluxcd.io/name: apps, " +
		"kustomize.toolkit.fluxcd.io/namespace: flux-system}"
	ofArgo     = "annotations: {'argocd.argoproj.io/tracking-id': 'web:/ConfigMap:demo/d'}"
	ofApplySet = "labels: {applyset.kubernetes.io/part-of: applyset-x-v1}"
)

// foreignObjects puts objects of others into the cluster, and returns inputs for the same objects
// and the owners of these.
func (w *world) foreignObjects() (inputs, owners []string) {
	for i, mark := range []string{ofPackage, ofHelm, ofFlux, ofArgo, ofApplySet} {
		name := string(rune('a' + i))
		w.put(marked(name, mark))
		inputs = append(inputs, configMap(name, "1"))
	}
	return inputs, []string{"the package with inventory ID id-1",
		`Helm release "web" in namespace shop`, `Flux Kustomization "apps" in namespace flux-system`,
		`Argo CD application "web"`, `ApplySet "applyset-x-v1"`}
}

// TestOwners: a native deployment leaves the objects of other apps, of packages, Helm, Flux, Argo
// CD and ApplySets alone, and deploys the others.
func TestOwners(t *testing.T) {
	w := newWorld(t)
	inputs, owners := w.foreignObjects()
	other := w.request(configMap("f", "0"))
	other.App.Name = "other"
	if _, err := w.Deploy(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	owners = append(owners, `app "other" in namespace demo`)
	before, want, skipped := map[string]string{}, map[string]string{}, map[string]string{}
	for i, owner := range owners {
		name := string(rune('a' + i))
		before[name] = w.cluster.Object(configMapRef(name)).GetResourceVersion()
		want[name] = "it belongs to " + owner + "; --adopt=all takes it over"
	}
	d := w.prepare(w.nativeRequest(append(inputs, configMap("own", "1"), configMap("f", "1"))...))
	for _, step := range d.Plan().Steps {
		if step.Op == plan.Skip && step.ReasonCode == plan.ReasonForeign && step.Have != nil {
			skipped[step.Ref.Name] = step.Reason
		}
	}
	if diff := cmp.Diff(want, skipped); diff != "" {
		t.Errorf("skipped (-want +got):\n%s", diff)
	}
	if _, err := w.run(t.Context(), d, realRun); err != nil {
		t.Fatal(err)
	}
	if w.cluster.Object(configMapRef("own")) == nil {
		t.Error("the app's own object is not deployed")
	}
	for name, version := range before {
		check(t, name, w.cluster.Object(configMapRef(name)).GetResourceVersion(), version)
	}
}

// TestOverrideOwners: a native deployment that may override owners takes their objects. Kapp's
// takes all but those of apps, and notes whose they were.
func TestOverrideOwners(t *testing.T) {
	w := newWorld(t)
	inputs, owners := w.foreignObjects()
	request := w.nativeRequest(inputs...)
	request.OverrideOwnership = true
	for i, step := range w.prepare(request).Plan().Steps {
		if step.Op != plan.Update || step.Reason != "it belonged to "+owners[i] {
			t.Errorf("step %d: %s: %s", i, step.Op, step.Reason)
		}
	}
	var notes []string
	w.Notice = func(text string) { notes = append(notes, text) }
	if _, err := w.Deploy(t.Context(), w.request(inputs...)); err != nil {
		t.Fatal(err)
	}
	if len(notes) != len(owners) || !strings.HasSuffix(notes[1],
		`belongs to Helm release "web" in namespace shop; this takes it over`) {
		t.Errorf("notes: %q", notes)
	}
}

// TestDependentsOfOthers: what declares to depend on an object of others is not deployed either. A
// namespace of others has only to exist.
func TestDependentsOfOthers(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shared, " + ofHelm + "}}"
	const within = "{apiVersion: v1, kind: ConfigMap, metadata: {name: within, namespace: shared}}"
	after := func(name, annotation string) string {
		return marked(name, "annotations: {"+annotation+"}")
	}
	w := newWorld(t)
	w.cluster.Serve(namespaceKind, false)
	w.cluster.Put(parse(t, namespace))
	w.put(marked("theirs", ofHelm))
	request := w.nativeRequest(
		strings.Replace(namespace, ofHelm, "labels: {a: b}", 1), within,
		after("theirs", "kapp.k14s.io/change-group: demo/theirs"),
		after("dependent", "config.kubernetes.io/depends-on: /namespaces/demo/ConfigMap/theirs"),
		after("ruled", "kapp.k14s.io/change-rule: upsert after upserting demo/theirs"))
	policy := packages.AnnotationPolicy()
	request.Run.Policy = &policy
	got, err := w.run(t.Context(), w.prepare(request), realRun)
	if err != nil {
		t.Fatal(err)
	}
	check(t, "events", got, `acted create configmap/dependent skipped
acted create configmap/ruled skipped
acted create configmap/within succeeded
acted skip configmap/theirs skipped
acted skip namespace/shared skipped
settled create configmap/dependent skipped
settled create configmap/ruled skipped
settled create configmap/within succeeded
settled skip configmap/theirs skipped
settled skip namespace/shared skipped`)
}

// TestOwnersDuringRun: an object that others create or take over after the plan was made is left
// alone, too.
func TestOwnersDuringRun(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	d := w.prepare(w.nativeRequest(configMap("a", "2"), configMap("b", "2")))
	live := w.cluster.Object(configMapRef("a")).DeepCopy()
	annotations := live.GetAnnotations()
	annotations["meta.helm.sh/release-name"] = "web"
	live.SetAnnotations(annotations)
	w.cluster.Put(live)
	w.put(marked("b", ofHelm))
	codes := 0
	summary, err := d.Run(t.Context(), quietRun, func(e event.Event) {
		if e.Kind == event.Acted && e.Op == plan.Skip && e.ReasonCode == plan.ReasonForeign {
			codes++
		}
	})
	if err != nil || summary.Failures() > 0 || codes != 2 {
		t.Errorf("summary = %+v, skipped %d, %v", summary, codes, err)
	}
	for _, name := range []string{"a", "b"} {
		value, _, _ := unstructured.NestedString(w.cluster.Object(configMapRef(name)).Object, "data",
			"value")
		if value == "2" {
			t.Errorf("%s is written", name)
		}
	}
}

// TestOwnersKept: an object that another owner has taken from the app stays in the cluster when it
// is pruned or the app is deleted, and leaves the app. The marks that the app applied do not count.
func TestOwnersKept(t *testing.T) {
	own := strings.Replace(marked("own", ofHelm), "{apiVersion", "{data: {key: '1'}, apiVersion", 1)
	for _, deletes := range []bool{false, true} {
		w := newWorld(t)
		w.deploy(configMap("a", "1"), configMap("b", "1"), own)
		live := w.cluster.Object(configMapRef("b")).DeepCopy()
		annotations := live.GetAnnotations()
		annotations["meta.helm.sh/release-name"] = "web"
		live.SetAnnotations(annotations)
		w.cluster.Put(live)
		var steps []plan.Step
		if deletes {
			r := w.deleteRequest()
			r.Review, r.Run.PlanPolicy = Review{}, LikePackages()
			d, err := w.PrepareDelete(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			steps = d.Plan().Steps
		} else {
			steps = w.prepare(w.nativeRequest(configMap("a", "1"))).Plan().Steps
		}
		i := slices.IndexFunc(steps, func(s plan.Step) bool {
			return s.Ref == object.RefOf(live)
		})
		if i < 0 || steps[i].Op != plan.Orphan || steps[i].Reason != `it belongs to Helm release "web"` {
			t.Errorf("deletes %v: %+v", deletes, steps)
		}
		if !slices.ContainsFunc(steps, func(s plan.Step) bool {
			return s.Ref.Name == "own" && s.Op == plan.Delete
		}) {
			t.Errorf("deletes %v: the app's own object stays: %+v", deletes, steps)
		}
	}
}

// TestOwnersKeptWithNamespace: a namespace stays with an object in it that another owner has taken.
func TestOwnersKeptWithNamespace(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: shared}}"
	const taken = "{apiVersion: v1, kind: ConfigMap, metadata: {name: taken, namespace: shared}}"
	for _, deletes := range []bool{false, true} {
		w := newWorld(t)
		w.cluster.Serve(namespaceKind, false)
		w.deploy(configMap("a", "1"), namespace, taken)
		live := w.cluster.Object(object.RefOf(parse(t, taken))).DeepCopy()
		annotations := live.GetAnnotations()
		annotations["meta.helm.sh/release-name"] = "web"
		live.SetAnnotations(annotations)
		w.cluster.Put(live)
		var o operation
		if deletes {
			r := w.deleteRequest()
			r.Review, r.Run.PlanPolicy = Review{}, LikePackages()
			d, err := w.PrepareDelete(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			o = d
		} else {
			o = w.prepare(w.nativeRequest(configMap("a", "1")))
		}
		if _, err := w.run(t.Context(), o, realRun); err != nil {
			t.Fatal(err)
		}
		for _, ref := range []object.Ref{object.RefOf(live), {Kind: "Namespace", Name: "shared"}} {
			left := w.cluster.Object(ref)
			if left == nil {
				t.Fatalf("deletes %v: %s is gone", deletes, ref)
			}
			if label, ok := left.GetLabels()[resource.LabelApp]; ok {
				t.Errorf("deletes %v: %s is still of the app: %s", deletes, ref, label)
			}
		}
	}
}

// An app adopts the objects of the named apps alone, with and without the permission to adopt those
// of all apps.
func TestAdoptFrom(t *testing.T) {
	w := newWorld(t)
	for _, name := range []string{"a", "b"} {
		request := w.request(configMap(name, "1"))
		request.App.Name = "app-" + name
		if _, err := w.Deploy(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	const line = "- Resource 'configmap/%s (v1) namespace: demo' is already associated with a " +
		"different app 'app-%s' namespace: demo"
	ofA, ofB := fmt.Sprintf(line, "a", "a"), fmt.Sprintf(line, "b", "b")
	for _, override := range []bool{false, true} {
		request := w.request(configMap("a", "2"), configMap("b", "2"))
		request.App.Name, request.OverrideOwnership = "third", override
		request.AdoptFrom = []string{"app-a"}
		_, err := w.Deploy(t.Context(), request)
		if err == nil || strings.Contains(err.Error(), ofA) || !strings.Contains(err.Error(), ofB) {
			t.Errorf("override %t: got %v", override, err)
		}
	}
	request := w.request(configMap("a", "2"), configMap("b", "2"))
	request.App.Name, request.AdoptFrom = "third", []string{"app-a", "app-b"}
	if _, err := w.Deploy(t.Context(), request); err != nil {
		t.Error(err)
	}
}
