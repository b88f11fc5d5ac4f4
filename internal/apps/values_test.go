package apps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
)

// holding returns an object of a kind with one value in its data.
func holding(t *testing.T, kind, name, value string) resource.Resource {
	t.Helper()
	return resource.Resource{Origin: name + ".yaml", Unstructured: liveOf(t, fmt.Sprintf(
		"{apiVersion: v1, kind: %s, metadata: {name: %s, namespace: demo}, data: {value: %q}}",
		kind, name, value))}
}

// taking returns a ConfigMap that takes a value of the data of a source. With a third word in
// source, this is the field that is replaced instead of that in data.
func taking(t *testing.T, name, source string) resource.Resource {
	t.Helper()
	words := append(strings.Fields(source), "$.data.value")
	return resource.Resource{Origin: name + ".yaml", Unstructured: liveOf(t, fmt.Sprintf(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: demo, annotations: "+
			"{config.kubernetes.io/apply-time-mutation: '[{sourceRef: {kind: %s, name: %s}, "+
			"sourcePath: $.data.value, targetPath: \"%s\"}]'}}, data: {value: \"?\"}}",
		name, words[0], words[1], words[2]))}
}

// native returns a request of a native command for objects with annotations.
func (w *world) native(objects ...resource.Resource) DeployRequest {
	r := w.nativeRequest()
	policy := packages.AnnotationPolicy()
	r.Run.Policy, r.Run.Conflicts, r.Resources = &policy, plan.NoteConflicts, []resource.Resource{}
	for _, o := range objects {
		o.Unstructured = o.DeepCopy()
		r.Resources = append(r.Resources, o)
	}
	r.Input.Files, r.AllowEmpty = nil, true
	return r
}

// apply deploys objects by a native command and returns how the steps settled.
func (w *world) apply(objects ...resource.Resource) string {
	w.t.Helper()
	text, err := w.run(w.t.Context(), w.prepare(w.native(objects...)), realRun)
	if err != nil {
		w.t.Fatal(err)
	}
	var settled []string
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, "settled "); ok {
			settled = append(settled, strings.TrimSpace(rest))
		}
	}
	return strings.Join(settled, "\n")
}

// values returns the values of ConfigMaps.
func (w *world) values(names ...string) string {
	var all []string
	for _, name := range names {
		data := w.cluster.Object(configMapRef(name)).Object["data"].(map[string]any)
		all = append(all, fmt.Sprint(data["value"]))
	}
	return strings.Join(all, " ")
}

// planned returns a line for each step of a plan: what it does, and what the object becomes.
func planned(p *plan.Plan) string {
	var lines []string
	for i := range p.Steps {
		step := &p.Steps[i]
		if !step.Op.IsObject() {
			continue
		}
		line := string(step.Op) + " " + step.Ref.Name
		if step.Op == plan.Create || step.Op == plan.Update {
			data, _ := p.Planned(step).Object["data"].(map[string]any)
			line += fmt.Sprintf(" %v", data["value"])
		}
		if step.Sensitive {
			line += " sensitive"
		}
		if step.Unknown != "" {
			line += " unknown: " + step.Unknown
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// TestValuesOfOthers checks that objects of an app take values from others, also from those that
// take values themselves, that the plan shows them, and that what does not change is not written.
func TestValuesOfOthers(t *testing.T) {
	w := newWorld(t)
	objects := []resource.Resource{taking(t, "a", "ConfigMap b"), taking(t, "b", "ConfigMap c"),
		holding(t, "ConfigMap", "c", "one")}
	checkLines(t, "plan", planned(w.prepare(w.native(objects...)).Plan()),
		"create c one", "create b one", "create a one")
	checkLines(t, "created", w.apply(objects...), "create configmap/a succeeded",
		"create configmap/b succeeded", "create configmap/c succeeded")
	checkLines(t, "values", w.values("a", "b", "c"), "one one one")

	w.forget()
	checkLines(t, "same plan", planned(w.prepare(w.native(objects...)).Plan()),
		"unchanged c", "unchanged b", "unchanged a")
	checkLines(t, "same", w.apply(objects...), "unchanged configmap/a succeeded",
		"unchanged configmap/b succeeded", "unchanged configmap/c succeeded")
	if len(w.cluster.Wrote) > 0 {
		t.Errorf("written: %v", w.cluster.Wrote)
	}

	objects[2] = holding(t, "ConfigMap", "c", "one")
	next := append(slices.Clone(objects), holding(t, "ConfigMap", "d", "new"))
	if text := w.prepare(w.native(next...)).describe(); !strings.Contains(text, "1 create, 0 delete, "+
		"0 update, 3 noop") {
		t.Errorf("description of the change: %s", text)
	}

	objects[2] = holding(t, "ConfigMap", "c", "two")
	checkLines(t, "next plan", planned(w.prepare(w.native(objects...)).Plan()),
		"update c two", "update b two", "update a two")
	checkLines(t, "updated", w.apply(objects...), "update configmap/a succeeded",
		"update configmap/b succeeded", "update configmap/c succeeded")
	checkLines(t, "next values", w.values("a", "b", "c"), "two two two")

	live := w.cluster.Object(configMapRef("c")).DeepCopy() // the status stays when c is replaced
	live.Object["status"] = map[string]any{"value": "ready"}
	w.cluster.Put(live)
	status := taking(t, "d", "ConfigMap c")
	status.SetAnnotations(map[string]string{packages.MutationKey: strings.Replace(
		status.GetAnnotations()[packages.MutationKey], "$.data", "$.status", 1)})
	checkLines(t, "plan with status", planned(w.prepare(w.native(status,
		holding(t, "ConfigMap", "c", "three"))).Plan()),
		"update c three", "create d ready", "delete a", "delete b")

	p := w.prepare(w.native()).Plan()
	checkLines(t, "deleted", planned(p), "delete a", "delete b", "delete c")
}

// TestValuesAreTakenInTheRun checks that a value is that of the source when the object is written,
// and that an object which others have changed since the plan keeps their changes.
func TestValuesAreTakenInTheRun(t *testing.T) {
	w := newWorld(t)
	objects := []resource.Resource{taking(t, "a", "ConfigMap b"), holding(t, "ConfigMap", "b", "one"),
		holding(t, "ConfigMap", "x", "one")}
	w.apply(objects...)
	objects[1] = holding(t, "ConfigMap", "b", "two")
	d := w.prepare(w.native(objects...))
	live := w.cluster.Object(configMapRef("a")).DeepCopy()
	live.Object["data"].(map[string]any)["others"] = "keep"
	w.cluster.Put(live)
	text, err := w.run(t.Context(), d, realRun)
	if err != nil || !strings.Contains(text, "settled update configmap/a succeeded") {
		t.Fatalf("%v\n%s", err, text)
	}
	data := w.cluster.Object(configMapRef("a")).Object["data"]
	checkLines(t, "data of a", fmt.Sprint(data), "map[others:keep value:two]")
	objects[0].SetLabels(map[string]string{"x": "y"})
	checkLines(t, "again", planned(w.prepare(w.native(objects...)).Plan()),
		"unchanged b", "update a two", "unchanged x")
}

// TestValuesOfSecrets checks that objects with values of a Secret are sensitive, at once and on the
// second hop, and as long as the live object has such a value.
func TestValuesOfSecrets(t *testing.T) {
	w := newWorld(t)
	secret := holding(t, "Secret", "s", "b25l")
	objects := []resource.Resource{taking(t, "a", "ConfigMap b"), taking(t, "b", "Secret s"), secret}
	checkLines(t, "plan", planned(w.prepare(w.native(objects...)).Plan()),
		"create s b25l", "create b b25l sensitive", "create a b25l sensitive")
	w.apply(objects...)
	plain := []resource.Resource{holding(t, "ConfigMap", "a", "1"), holding(t, "ConfigMap", "b", "1"),
		secret}
	checkLines(t, "plain", sorted(planned(w.prepare(w.native(plain...)).Plan())),
		"unchanged s", "update a 1 sensitive", "update b 1 sensitive")
}

// TestChangedSensitiveObject checks that the error of an object with values of a Secret, which
// others have changed too, does not print them.
func TestChangedSensitiveObject(t *testing.T) {
	w := newWorld(t)
	objects := []resource.Resource{taking(t, "a", "Secret s"), holding(t, "Secret", "s", "b25l")}
	w.apply(objects...)
	objects[1] = holding(t, "Secret", "s", "dHdv")
	d := w.prepare(w.native(objects...))
	live := w.cluster.Object(configMapRef("a")).DeepCopy()
	live.Object["data"].(map[string]any)["value"] = "others"
	w.cluster.Put(live)
	var failed error
	if _, err := d.Run(t.Context(), quietRun, func(e event.Event) {
		failed = cmp.Or(failed, e.Err)
	}); err != nil {
		t.Fatal(err)
	}
	if text := fmt.Sprint(failed); !strings.Contains(text, "others changed it meanwhile") ||
		strings.Contains(text, "b25l") || strings.Contains(text, "dHdv") {
		t.Errorf("error: %s", text)
	}
}

// TestValueErrors checks that values which cannot be taken fail their objects, and that cycles are
// errors of the plan.
func TestValueErrors(t *testing.T) {
	w := newWorld(t)
	_, err := w.PrepareDeploy(t.Context(), w.native(taking(t, "a", "ConfigMap a")))
	checkLines(t, "self", fmt.Sprint(err), "cyclic dependency:",
		"- demo/configmap/a (a.yaml) -> demo/configmap/a")
	objects := []resource.Resource{taking(t, "a", "ConfigMap c"), annotated(t, "c", "{}"),
		taking(t, "l", "ConfigMap s $.metadata.labels[''kapp.k14s.io/app'']"),
		holding(t, "ConfigMap", "s", "one")}
	checkLines(t, "plan", sorted(planned(w.prepare(w.native(objects...)).Plan())),
		"create a ? unknown: failed to mutate: demo/configmap/c has no value at $.data.value",
		"create c <nil>",
		"create l ? unknown: failed to mutate: the label kapp.k14s.io/app cannot be substituted: "+
			"it names the owner of the object", "create s one")
	checkLines(t, "run", w.apply(objects...), "create configmap/a failed",
		"create configmap/c succeeded", "create configmap/l failed", "create configmap/s succeeded")
}
