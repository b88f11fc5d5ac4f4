package apps

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
)

// annotated returns a ConfigMap with annotations in the form of a YAML map, and its place.
func annotated(t *testing.T, name, annotations string) resource.Resource {
	t.Helper()
	return resource.Resource{Origin: name + ".yaml", Unstructured: liveOf(t, fmt.Sprintf(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: demo, annotations: %s}, "+
			"data: {}}", name, annotations))}
}

// deployAnnotated deploys objects with the policy of packages. It returns how the steps settled, in
// order, then the error.
func (w *world) deployAnnotated(objects ...resource.Resource) string {
	w.t.Helper()
	r := w.request()
	policy := packages.AnnotationPolicy()
	policy.Replacement = packages.PlanOptions{}.Replacement
	r.Run.Policy, r.Resources = &policy, append([]resource.Resource{}, objects...)
	r.Input.Files, r.AllowEmpty = nil, true
	var lines []string
	r.Review.NewPrinter = func(run *Run) RunPrinter {
		return &stepPrinter{testPrinter{world: w, open: len(run.Changes())}, run.Plan(), &lines}
	}
	if _, err := w.Deploy(w.t.Context(), r); err != nil {
		lines = append(lines, "error: "+err.Error())
	}
	return strings.Join(lines, "\n")
}

// stepPrinter is a testPrinter that keeps a line for each step.
type stepPrinter struct {
	testPrinter
	plan  *plan.Plan
	lines *[]string
}

func (p *stepPrinter) Event(e event.Event) {
	if step := p.plan.Steps[max(e.Step, 0)]; e.Kind == event.Settled && step.Op.IsObject() {
		line := fmt.Sprintf("%s %s %s", e.Op, step.Ref.Name, e.Outcome)
		if step.Reason != "" {
			line += ": " + step.Reason
		}
		*p.lines = append(*p.lines, line)
	}
	p.testPrinter.Event(e)
}

// sorted returns the lines of a text, sorted.
func sorted(text string) string {
	lines := strings.Split(text, "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func checkLines(t *testing.T, what, got string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestDependsOn checks that objects of an app are applied after what they depend on, together with
// change rules, and deleted before it.
func TestDependsOn(t *testing.T) {
	w := newWorld(t)
	objects := []resource.Resource{
		annotated(t, "a", `{config.kubernetes.io/depends-on: "/namespaces/demo/ConfigMap/b"}`),
		annotated(t, "b", `{kapp.k14s.io/change-rule: upsert after upserting example.com/base}`),
		annotated(t, "c", `{kapp.k14s.io/change-group: example.com/base}`),
	}
	checkLines(t, "created", w.deployAnnotated(objects...),
		"create c succeeded", "create b succeeded", "create a succeeded")
	checkLines(t, "warnings", w.output())
	deleted := strings.Replace(w.deployAnnotated()+"\n", "delete c succeeded\n", "", 1) // at any time
	checkLines(t, "deleted", deleted, "delete a succeeded", "delete b succeeded", "")
}

// TestOrderErrors checks that wrong dependencies and rules are errors which name file, object and
// annotation, and that a group without members is a warning.
func TestOrderErrors(t *testing.T) {
	w := newWorld(t)
	checkLines(t, "all at once", w.deployAnnotated(
		annotated(t, "a", `{config.kubernetes.io/depends-on: "/namespaces/demo/ConfigMap/none"}`),
		annotated(t, "b", `{kapp.k14s.io/change-rule.x: upsert afer upserting example.com/base}`),
		annotated(t, "c", `{kapp.k14s.io/change-group: "example.com/!"}`),
		annotated(t, "d", `{config.kubernetes.io/depends-on: nonsense}`),
		annotated(t, "e", `{config.kubernetes.io/apply-time-mutation: "[{sourceRef: {kind: ConfigMap, `+
			`name: none}, sourcePath: $.data.x, targetPath: $.data.x}]"}`),
		annotated(t, "f", `{config.kubernetes.io/apply-time-mutation: "[{sourceRef: {kind: configmap, `+
			`name: a}, sourcePath: data.x, targetPath: $.data.x}]"}`)),
		"error: demo/configmap/a (a.yaml): depends on demo/configmap/none, which is not part of the "+
			"set; add it or remove the dependency",
		`demo/configmap/b (b.yaml): annotation kapp.k14s.io/change-rule.x: "upsert afer upserting `+
			`example.com/base" is not a change rule; write (upsert|delete) (before|after) `+
			`(upserting|deleting) GROUP`,
		`demo/configmap/c (c.yaml): annotation kapp.k14s.io/change-group: "example.com/!" is not a `+
			`change group; write a name such as example.com/database`,
		`demo/configmap/d (d.yaml): annotation config.kubernetes.io/depends-on: reference 1: `+
			`"nonsense" is neither GROUP/KIND/NAME nor GROUP/namespaces/NAMESPACE/KIND/NAME`,
		"demo/configmap/e (e.yaml): takes a value from configmap/none, which is not part of the set, "+
			"neither in namespace demo nor without one; add it or take the value from elsewhere",
		`demo/configmap/f (f.yaml): annotation config.kubernetes.io/apply-time-mutation: entry 1: `+
			`sourcePath: "data.x" is not a JSONPath; it looks like $.spec.replicas or $.data['a.key']`)
	checkLines(t, "versioned", w.deployAnnotated(annotated(t, "given", "{}"),
		annotated(t, "a", `{kapp.k14s.io/versioned: "", config.kubernetes.io/apply-time-mutation: '[{
			"sourceRef": {"kind": "ConfigMap", "name": "given"}, "sourcePath": "$.data.key",
			"targetPath": "$.data.key"}]'}`)),
		`error: demo/configmap/a-ver-1 (a.yaml): an object of which versions are kept `+
			`(kapp.k14s.io/versioned) cannot take values from others; leave out one of the two annotations`)
	checkLines(t, "cycle", w.deployAnnotated(
		annotated(t, "a", `{config.kubernetes.io/depends-on: "/namespaces/demo/ConfigMap/b"}`),
		annotated(t, "b", `{kapp.k14s.io/change-rule: upsert after upserting example.com/base}`),
		annotated(t, "c", `{kapp.k14s.io/change-group: example.com/base,
			config.kubernetes.io/depends-on: "/namespaces/demo/ConfigMap/a"}`)),
		"error: cyclic dependency:", "- demo/configmap/a (a.yaml) -> demo/configmap/b",
		"- demo/configmap/b (b.yaml) -> demo/configmap/c",
		"- demo/configmap/c (c.yaml) -> demo/configmap/a")
	checkLines(t, "waiting", w.deployAnnotated(annotated(t, "a", `{muster.dev/timeout: soon}`),
		annotated(t, "b", `{muster.dev/wait: perhaps}`)),
		`error: demo/configmap/a (a.yaml): annotation muster.dev/timeout: "soon" must be a duration `+
			`above zero, such as 90s or 5m`,
		`demo/configmap/b (b.yaml): annotation muster.dev/wait: "perhaps" must be "true" or "false"`)
	r := w.nativeRequest()
	policy := packages.AnnotationPolicy()
	r.Run.Policy, r.AllowEmpty, r.Input.Files = &policy, true, nil
	r.Resources = []resource.Resource{
		annotated(t, "a", `{kapp.k14s.io/change-rule: upsert after upserting example.com/typo}`)}
	check(t, "no group", fmt.Sprint(w.prepare(r).UnknownGroups()),
		"map[demo/configmap/a:[example.com/typo]]")
}

// TestLifecycleAnnotations checks that annotations of packages leave objects of an app unchanged,
// or in the cluster.
func TestLifecycleAnnotations(t *testing.T) {
	w := newWorld(t)
	const ignore = `client.lifecycle.config.k8s.io/mutation: ignore`
	const keep, detach = `cli-utils.sigs.k8s.io/on-remove: keep`,
		`client.lifecycle.config.k8s.io/deletion: detach`
	objects := []resource.Resource{annotated(t, "frozen", "{"+ignore+"}"),
		annotated(t, "kept", "{"+keep+"}"), annotated(t, "detached", "{"+detach+"}"),
		annotated(t, "after", `{config.kubernetes.io/depends-on: /namespaces/demo/ConfigMap/frozen}`)}
	checkLines(t, "created", sorted(w.deployAnnotated(objects...)), "create after succeeded",
		"create detached succeeded", "create frozen succeeded", "create kept succeeded")
	next := []resource.Resource{annotated(t, "frozen", "{"+ignore+", x: z}"),
		annotated(t, "after",
			`{config.kubernetes.io/depends-on: /namespaces/demo/ConfigMap/frozen, x: z}`)}
	checkLines(t, "again", sorted(w.deployAnnotated(next...)),
		`orphan detached skipped: annotation prevents deletion `+
			`("client.lifecycle.config.k8s.io/deletion": "detach")`,
		`orphan kept skipped: annotation prevents deletion `+
			`("cli-utils.sigs.k8s.io/on-remove": "keep")`,
		`skip frozen skipped: annotation prevents apply `+
			`("client.lifecycle.config.k8s.io/mutation": "ignore")`,
		"update after succeeded")
	for _, name := range []string{"kept", "detached"} {
		obj := w.cluster.Object(configMapRef(name))
		if obj == nil || obj.GetLabels()["kapp.k14s.io/app"] != "" {
			t.Errorf("%s: %v, want it without the label of the app", name, obj)
		}
	}
	if w.cluster.Object(configMapRef("frozen")).GetAnnotations()["x"] != "" {
		t.Error("the frozen object was changed")
	}
}
