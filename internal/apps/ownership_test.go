package apps

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
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

// TestOwners: a native deployment refuses the objects of packages, Helm, Flux, Argo CD and
// ApplySets, all at once, unless it may override owners. Kapp's takes them, and notes whose they
// were.
func TestOwners(t *testing.T) {
	w := newWorld(t)
	var inputs []string
	for i, mark := range []string{ofPackage, ofHelm, ofFlux, ofArgo, ofApplySet} {
		name := string(rune('a' + i))
		w.put(marked(name, mark))
		inputs = append(inputs, configMap(name, "1"))
	}
	owners := []string{"the package with inventory ID id-1", "Helm release web in namespace shop",
		"Flux Kustomization apps in namespace flux-system", "Argo CD application web",
		"ApplySet applyset-x-v1"}
	before := w.objects()
	_, err := w.PrepareDeploy(t.Context(), w.nativeRequest(inputs...))
	want := "objects belong to others:"
	for i, owner := range owners {
		want += fmt.Sprintf("\n- demo/configmap/%c (stdin doc %d) belongs to %s; "+
			"--adopt=all takes it over", 'a'+i, i+1, owner)
	}
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	check(t, "objects after the refusal", w.objects(), before)

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
		"belongs to Helm release web in namespace shop; this takes it over") {
		t.Errorf("notes: %q", notes)
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
			r.Review, r.Run.Native = Review{}, true
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
		if i < 0 || steps[i].Op != plan.Orphan || steps[i].Reason != "it belongs to Helm release web" {
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
			r.Review, r.Run.Native = Review{}, true
			d, err := w.PrepareDelete(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			o = d
		} else {
			o = w.prepare(w.nativeRequest(configMap("a", "1")))
		}
		if _, err := w.run(t.Context(), o, engine.Options{}); err != nil {
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
