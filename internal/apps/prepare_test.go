package apps

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/input"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// nativeRequest returns a request of a native command that deploys manifests as the app "web".
func (w *world) nativeRequest(manifests ...string) DeployRequest {
	r := w.request(manifests...)
	r.Review, r.Run.Engine, r.Run.Mask = Review{}, realRun, true
	r.Run.PlanPolicy = LikePackages()
	return r
}

// prepare prepares a deployment, which must succeed.
func (w *world) prepare(r DeployRequest) *Deployment {
	w.t.Helper()
	d, err := w.PrepareDeploy(w.t.Context(), r)
	if err != nil {
		w.t.Fatalf("prepare: %v", err)
	}
	return d
}

// operation is what Deployment and Deletion have in common.
type operation interface {
	Plan() *plan.Plan
	Run(context.Context, engine.Options, event.Sink) (event.Summary, error)
}

// run runs an operation and returns how its steps settled, sorted, one a line.
func (w *world) run(ctx context.Context, o operation, options engine.Options) (string, error) {
	options.NoCauses = true
	var lines []string
	_, err := o.Run(ctx, options, func(e event.Event) {
		if e.Kind != event.Settled && e.Kind != event.Acted {
			return
		}
		step := o.Plan().Steps[e.Step]
		line := fmt.Sprintf("%s %s %s/%s %s", e.Kind, e.Op, strings.ToLower(step.Ref.Kind),
			step.Ref.Name, e.Outcome)
		if e.Recreates {
			line += " recreates"
		}
		lines = append(lines, line)
	})
	slices.Sort(lines)
	return strings.Join(lines, "\n"), err
}

// requests returns how many requests of each kind the cluster has received.
func (w *world) requests() string {
	return fmt.Sprintf("%d reads, %d lists, %d writes, %d stored", len(w.cluster.Asked),
		len(w.cluster.Selections), len(w.cluster.Sent), len(w.cluster.Wrote))
}

// forget clears what the cluster has received.
func (w *world) forget() {
	w.cluster.Asked, w.cluster.Selections, w.cluster.Sent, w.cluster.Wrote = nil, nil, nil, nil
}

// stored returns the sizes of all objects, which tell apart contents but for labels and times.
func (w *world) stored(t *testing.T) map[string]int {
	all := map[string]int{}
	for _, ref := range w.cluster.Refs().Refs() {
		obj := w.cluster.Object(ref)
		text, err := obj.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		name := ref.String()
		if at := strings.Index(name, "-change-"); at >= 0 {
			name = name[:at] + "-change" // the rest is random
		}
		all[name] += len(text)
	}
	return all
}

// A deployment that is prepared and run does the same as Deploy, in as many requests.
func TestPrepareDeploy(t *testing.T) {
	one, other := newWorld(t), newWorld(t)
	for _, manifests := range [][]string{
		{configMap("a", "1"), configMap("b", "1")}, {configMap("a", "2"), configMap("c", "1")},
	} {
		one.forget()
		one.deploy(manifests...)
		other.forget()
		r := other.request(manifests...)
		r.Review = Review{}
		d := other.prepare(r)
		if len(other.cluster.Wrote) > 0 {
			t.Errorf("preparing wrote %v", other.cluster.Wrote)
		}
		if _, err := other.run(t.Context(), d, realRun); err != nil {
			t.Fatal(err)
		}
		check(t, "requests", other.requests(), one.requests())
		if diff := cmp.Diff(one.stored(t), other.stored(t)); diff != "" {
			t.Errorf("objects (-Deploy +Run):\n%s", diff)
		}
		check(t, "description", other.find().Meta.LastDeployment.Description,
			one.find().Meta.LastDeployment.Description)
	}
	if other.output() != "" {
		t.Error("something was printed")
	}
}

// A native plan has a step for each object of the app, which is waited for, and prunes once all
// else has succeeded. A run that has nothing to write writes no record either.
func TestNativePlan(t *testing.T) {
	w := newWorld(t)
	role := "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r}}"
	deploy := func(manifests ...string) (lines string) {
		t.Helper()
		w.forget()
		lines, err := w.run(t.Context(), w.prepare(w.nativeRequest(manifests...)), realRun)
		checkError(t, err, "")
		return lines
	}
	check(t, "new", deploy(configMap("a", "1"), configMap("b", "1"), role),
		"acted create clusterrole/r succeeded\nacted create configmap/a succeeded\n"+
			"acted create configmap/b succeeded\nsettled create clusterrole/r succeeded\n"+
			"settled create configmap/a succeeded\nsettled create configmap/b succeeded")
	check(t, "unchanged", deploy(configMap("a", "1"), configMap("b", "1"), role),
		"acted unchanged clusterrole/r succeeded\nacted unchanged configmap/a succeeded\n"+
			"acted unchanged configmap/b succeeded\nsettled unchanged clusterrole/r succeeded\n"+
			"settled unchanged configmap/a succeeded\nsettled unchanged configmap/b succeeded")
	check(t, "writes", strings.Join(w.cluster.Wrote, " "), "")
	w.cluster.Fails = map[object.Ref]error{configMapRef("a"): errTest}
	check(t, "after a failure", deploy(configMap("a", "2"), role),
		"acted delete configmap/b skipped\nacted unchanged clusterrole/r succeeded\n"+
			"acted update configmap/a failed\nsettled delete configmap/b skipped\n"+
			"settled unchanged clusterrole/r succeeded\nsettled update configmap/a failed")
	w.cluster.Fails = nil
	check(t, "pruned", deploy(configMap("a", "2")),
		"acted delete clusterrole/r succeeded\nacted delete configmap/b succeeded\n"+
			"acted update configmap/a succeeded\nsettled delete clusterrole/r succeeded\n"+
			"settled delete configmap/b succeeded\nsettled update configmap/a succeeded")
	d := w.prepare(w.nativeRequest(configMap("a", "3")))
	check(t, "source", d.Plan().Steps[0].Source, "stdin doc 1")
}

// A deployment may ask to prune after a failure. Some steps come after deletions by their rules.
func TestNativePruning(t *testing.T) {
	step := func(op plan.Op, needs ...int) plan.Step { return plan.Step{Op: op, Needs: needs} }
	for _, tc := range []struct {
		name         string
		afterFailure bool
		steps        []plan.Step
		want         string
	}{
		{"guarded", false, []plan.Step{step(plan.Delete), step(plan.Create), step(plan.Unchanged)},
			"delete [3] create [] unchanged [] guard after [1 2]"},
		{"after a failure", true, []plan.Step{step(plan.Delete), step(plan.Create)},
			"delete [2] create [] barrier after [1]"},
		{"nothing is deleted", false, []plan.Step{step(plan.Orphan), step(plan.Create)},
			"orphan [] create []"},
		{"nothing is applied", false, []plan.Step{step(plan.Delete)}, "delete []"},
		{"applied after a deletion", false, []plan.Step{step(plan.Delete), step(plan.Create, 2),
			{Op: plan.Guard, After: []int{0}}, step(plan.Create)},
			"delete [4] create [2] guard after [0] create [] guard after [3]"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			check(t, "steps", stepTexts(guardPruning(tc.steps, tc.afterFailure)), tc.want)
		})
	}
}

// What may be the controller of a custom resource is deleted after it, unless that waits for it by
// the rules of the app.
func TestControllerIsDeletedLast(t *testing.T) {
	definition := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"group": "g", "names": map[string]any{"kind": "Db"}},
	}}
	step := func(op plan.Op, group, kind string, needs ...int) plan.Step {
		gk := object.Ref{Group: group, Kind: kind, Name: "a"}
		return plan.Step{Op: op, Ref: gk, Needs: needs, Have: definition}
	}
	crd := func(op plan.Op) plan.Step {
		return step(op, plan.DefinitionKind.Group, plan.DefinitionKind.Kind)
	}
	for _, tc := range []struct {
		name  string
		steps []plan.Step
		want  string
	}{
		{"all are deleted", []plan.Step{step(plan.Delete, "", "Pod"), step(plan.Delete, "g", "Db"),
			crd(plan.Delete)}, "delete [3] delete [] delete [3] guard after [1]"},
		{"the definition stays", []plan.Step{step(plan.Delete, "", "Pod"),
			step(plan.Delete, "g", "Db"), crd(plan.Unchanged)},
			"delete [3] delete [] unchanged [] guard after [1]"},
		{"a rule", []plan.Step{step(plan.Delete, "", "Pod"), step(plan.Delete, "g", "Db", 3),
			crd(plan.Unchanged), {Op: plan.Guard, After: []int{0}}, step(plan.Delete, "", "Role")},
			"delete [] delete [3] unchanged [] guard after [0] delete [5] guard after [1]"},
		{"no custom resource is deleted", []plan.Step{step(plan.Delete, "", "Pod"), crd(plan.Delete),
			step(plan.Unchanged, "g", "Db")}, "delete [] delete [] unchanged []"},
		{"nothing else is deleted", []plan.Step{crd(plan.Unchanged), step(plan.Delete, "g", "Db")},
			"unchanged [] delete []"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			check(t, "steps", stepTexts(guardControllers(tc.steps)), tc.want)
		})
	}
}

// stepTexts returns the operations of steps with what they wait for.
func stepTexts(steps []plan.Step) string {
	var texts []string
	for _, s := range steps {
		text := fmt.Sprintf("%s %v", s.Op, s.Needs)
		if !s.Op.IsObject() {
			text = fmt.Sprintf("%s after %v", s.Op, s.After)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

// A dry run writes nothing, and asks the server about each update only.
func TestNativeDryRun(t *testing.T) {
	const replaced = "{apiVersion: v1, kind: ConfigMap, metadata: {name: r, annotations: " +
		"{kapp.k14s.io/update-strategy: always-replace}}, data: {value: '%'}}"
	at := func(value string) string { return strings.Replace(replaced, "%", value, 1) }
	for _, mode := range []engine.DryRun{engine.DryRunClient, engine.DryRunServer} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t)
			w.deploy(configMap("a", "1"), configMap("same", "1"), configMap("gone", "1"), at("1"))
			before := w.stored(t)
			d := w.prepare(w.nativeRequest(configMap("a", "2"), configMap("same", "1"),
				configMap("new", "1"), at("2")))
			w.forget()
			lines, err := w.run(t.Context(), d, engine.Options{DryRun: mode})
			checkError(t, err, "")
			check(t, "events", strings.Join(slices.DeleteFunc(strings.Split(lines, "\n"),
				func(line string) bool { return !strings.HasPrefix(line, "acted") }), "\n"),
				"acted create configmap/new succeeded\nacted delete configmap/gone succeeded\n"+
					"acted unchanged configmap/same succeeded\nacted update configmap/a succeeded\n"+
					"acted update configmap/r succeeded recreates")
			check(t, "stored", strings.Join(w.cluster.Wrote, " "), "")
			want := map[engine.DryRun]string{
				engine.DryRunClient: "0 reads, 0 lists, 2 writes, 0 stored",
				engine.DryRunServer: "0 reads, 0 lists, 3 writes, 0 stored",
			}
			check(t, "requests", w.requests(), want[mode])
			for _, sent := range w.cluster.Sent {
				if !sent.DryRun {
					t.Errorf("sent %s %s", sent.Method, sent.Object.GetName())
				}
			}
			if diff := cmp.Diff(before, w.stored(t)); diff != "" {
				t.Errorf("objects (-before +after):\n%s", diff)
			}
		})
	}
}

// A dry run of a new app creates no record, and a dry run of a deletion deletes none.
func TestNativeDryRunOfRecord(t *testing.T) {
	w := newWorld(t)
	_, err := w.run(t.Context(), w.prepare(w.nativeRequest(configMap("a", "1"))),
		engine.Options{DryRun: engine.DryRunServer})
	checkError(t, err, "")
	check(t, "objects", w.objects(), "")
	w.deploy(configMap("a", "1"))
	r := w.deleteRequest()
	r.Review, r.Run.PlanPolicy = Review{}, LikePackages()
	d, err := w.PrepareDelete(t.Context(), r)
	checkError(t, err, "")
	lines, err := w.run(t.Context(), d, engine.Options{DryRun: engine.DryRunServer})
	checkError(t, err, "")
	check(t, "events", lines,
		"acted delete configmap/a succeeded\nsettled delete configmap/a succeeded")
	check(t, "objects", w.objects(), "configmap/a configmap/web")
	lines, err = w.run(t.Context(), d, realRun)
	checkError(t, err, "")
	check(t, "events", lines,
		"acted delete configmap/a succeeded\nsettled delete configmap/a succeeded")
	check(t, "objects", w.objects(), "")
}

// Objects in a namespace and of a kind that the app brings are tried elsewhere, or not at all.
func TestNativeDryRunOfNewNamespace(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: new}}"
	const inside = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: new}}"
	const widget = "{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}"
	const definition = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com},
		spec: {group: example.com, scope: Namespaced, names: {kind: Widget, plural: widgets}, versions: [{name: v1, served: true}]}}`
	w := newWorld(t)
	w.cluster.Serve(plan.DefinitionKind, false)
	w.cluster.Serve(namespaceKind, false)
	d := w.prepare(w.nativeRequest(inside, namespace, widget, definition))
	reasons := map[string]string{}
	_, err := d.Run(t.Context(), engine.Options{DryRun: engine.DryRunServer}, func(e event.Event) {
		if e.Kind == event.Acted {
			reasons[d.Plan().Steps[e.Step].Ref.Kind] = e.Reason
		}
	})
	checkError(t, err, "")
	if diff := cmp.Diff(map[string]string{
		"ConfigMap": "validated in namespace default: namespace/new would be created by the same run",
		"Widget": "not validated by the server: customresourcedefinition.apiextensions.k8s.io/" +
			"widgets.example.com would be created by the same run",
		"Namespace": "", "CustomResourceDefinition": "",
	}, reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
	check(t, "objects", w.objects(), "")
}

// A run that is interrupted leaves a record, and the next one continues.
func TestNativeInterrupted(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	d := w.prepare(w.nativeRequest(configMap("a", "1"), `{apiVersion: v1, kind: ConfigMap, metadata: `+
		`{name: b, annotations: {kapp.k14s.io/change-rule: upsert after upserting first}}}`,
		`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: `+
			`{kapp.k14s.io/change-group: first}}}`))
	summary, err := d.Run(ctx, quietRun, func(e event.Event) {
		if e.Kind == event.Acted && d.Plan().Steps[e.Step].Ref.Name == "c" {
			cancel(errTest)
		}
	})
	checkError(t, err, "")
	if !summary.Interrupted {
		t.Error("not interrupted")
	}
	last := w.find().Meta.LastDeployment
	if last.Successful != nil || !last.FinishedAt.IsZero() ||
		!strings.HasSuffix(last.Description, "; interrupted") {
		t.Errorf("last change %+v", last)
	}
	check(t, "objects", w.objects(), "configmap/a configmap/c configmap/web")
	check(t, "kinds", fmt.Sprint(len(*w.find().Meta.UsedGKs)), "1")
}

// What ends a native run before its first write is the error of the record.
func TestNativeRunWithoutRecord(t *testing.T) {
	w := newWorld(t)
	d := w.prepare(w.nativeRequest(configMap("a", "1")))
	w.cluster.Fails = map[object.Ref]error{configMapRef("web"): errTest}
	_, err := w.run(t.Context(), d, realRun)
	checkError(t, err, "save the record before the first write: Creating app: no")
	if !isBeforeRun(err) {
		t.Errorf("error %#v", err)
	}
	check(t, "objects", w.objects(), "")
}

// The deletion of an app that does not exist has nothing to do. Objects that stay are orphaned.
func TestPrepareDelete(t *testing.T) {
	w := newWorld(t)
	r := w.deleteRequest()
	r.Review, r.Run.PlanPolicy = Review{}, LikePackages()
	r.Search.RecordedKinds = true
	d, err := w.PrepareDelete(t.Context(), r)
	checkError(t, err, "")
	if d.Found() || len(d.Plan().Steps) > 0 {
		t.Errorf("found %t, %d steps", d.Found(), len(d.Plan().Steps))
	}
	check(t, "not found", strings.Join(d.notFound, "\n"),
		"App 'web' (namespace: demo) does not exist")
	_, err = w.run(t.Context(), d, realRun)
	checkError(t, err, "")

	w.deploy(configMap("a", "1"), "{apiVersion: v1, kind: ConfigMap, metadata: {name: b, "+
		"annotations: {kapp.k14s.io/delete-strategy: orphan}}}")
	w.forget()
	d, err = w.PrepareDelete(t.Context(), r)
	checkError(t, err, "")
	lines, err := w.run(t.Context(), d, realRun)
	checkError(t, err, "")
	for _, selection := range w.cluster.Selections {
		if !slices.Equal(selection.Kinds, []schema.GroupKind{configMapKind}) {
			t.Errorf("searched the kinds %v", selection.Kinds)
		}
	}
	check(t, "events", lines, "acted delete configmap/a succeeded\nacted orphan configmap/b skipped\n"+
		"settled delete configmap/a succeeded\nsettled orphan configmap/b skipped")
	check(t, "objects", w.objects(), "configmap/b")
	check(t, "label", w.cluster.Object(configMapRef("b")).GetLabels()["kapp.k14s.io/app"], "")
	if output := w.output(); output != "" {
		t.Errorf("printed %q", output)
	}
}

// Two plans of the same deployment differ in the label of a new app and in nonces alone.
func TestPlansAreEqual(t *testing.T) {
	w := newWorld(t)
	prepared := func() (*Deployment, string) {
		d := w.prepare(w.nativeRequest(configMap("a", "1")))
		data, err := json.Marshal([]any{d.Objects(), d.Plan().Steps})
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for _, random := range d.Random() {
			text = strings.ReplaceAll(text, random, "")
		}
		return d, text
	}
	one, text := prepared()
	other, again := prepared()
	check(t, "plan", again, text)
	check(t, "identity of a new app", one.Identity(), "demo/web")
	if fmt.Sprint(one.Random()) == fmt.Sprint(other.Random()) {
		t.Errorf("random: %v", one.Random())
	}
	if _, err := w.run(t.Context(), one, realRun); err != nil {
		t.Fatal(err)
	}
	_, err := w.run(t.Context(), other, realRun)
	checkError(t, err, "App 'web' (namespace: demo) was created by another run meanwhile")
	d, _ := prepared()
	check(t, "identity", d.Identity(), "demo/web "+w.find().Selector())
	check(t, "random, but for the label", fmt.Sprint(len(d.Random())), "1")
	deletion, err := w.PrepareDelete(t.Context(), w.deleteRequest())
	checkError(t, err, "")
	check(t, "identity of a deletion", deletion.Identity(), d.Identity())
}

// The resources of a request may have been read already.
func TestPrepareResources(t *testing.T) {
	w := newWorld(t)
	r := w.nativeRequest()
	r.Input = input.Options{}
	r.Resources = []resource.Resource{
		{Unstructured: parse(t, configMap("a", "1")), Origin: "a.yaml:1"},
	}
	check(t, "source", w.prepare(r).Plan().Steps[0].Source, "a.yaml:1")
	r.Resources = nil
	_, err := w.PrepareDeploy(t.Context(), r)
	checkError(t, err, "Expected at least one --file")
}

// Versions that stay have a step each, and only that in use is waited for.
func TestNativeVersions(t *testing.T) {
	w := newWorld(t)
	versioned := func(value string) string {
		return "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: " +
			"{kapp.k14s.io/versioned: ''}}, data: {value: '" + value + "'}}"
	}
	w.deploy(versioned("1"))
	w.deploy(versioned("2"))
	var got []string
	for _, step := range w.prepare(w.nativeRequest(versioned("2"))).Plan().Steps {
		got = append(got, fmt.Sprintf("%s %s wait %t", step.Op, step.Ref.Name, step.Wait))
	}
	check(t, "steps", strings.Join(got, ", "),
		"unchanged a-ver-2 wait true, unchanged a-ver-1 wait false")
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
		obj := parse(t, tc.object)
		r := &Run{config: config.Default()}
		if got := r.readyRules().Judge(obj, nil).State; got != tc.kapp {
			t.Errorf("%s: kapp's state %s, want %s", obj.GetKind(), got, tc.kapp)
		}
		r.options.OnlyRules = true
		if got := r.readyRules().Judge(obj, nil).State; got != tc.native {
			t.Errorf("%s: native state %s, want %s", obj.GetKind(), got, tc.native)
		}
	}
}

// The objects of a status are those that were deployed.
func TestPrepareObserve(t *testing.T) {
	w := newWorld(t)
	_, err := w.PrepareObserve(t.Context(), ObserveRequest{App: Name{"web", "demo"}})
	checkError(t, err, "App 'web' (namespace: demo) does not exist")
	w.deploy(configMap("a", "1"), configMap("b", "1"))
	key, value, _ := w.find().Label()
	pod := parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: demo}}")
	pod.SetLabels(map[string]string{key: value})
	_ = unstructured.SetNestedSlice(pod.Object, []any{map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "1", "controller": true,
	}}, "metadata", "ownerReferences")
	w.cluster.Put(pod)
	o, err := w.PrepareObserve(t.Context(), ObserveRequest{App: Name{"web", "demo"}})
	checkError(t, err, "")
	check(t, "refs", fmt.Sprint(o.Refs),
		fmt.Sprint([]object.Ref{configMapRef("a"), configMapRef("b")}))
	check(t, "app", o.App.Name, "web")
}

// A native deletion does not wait for what controllers created, as of a package; kapp's does.
func TestNativeDeletionOfOwned(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	key, value, _ := w.find().Label()
	pod := parse(t, "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: demo}}")
	pod.SetLabels(map[string]string{key: value})
	_ = unstructured.SetNestedSlice(pod.Object, []any{map[string]any{
		"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "1", "controller": true,
	}}, "metadata", "ownerReferences")
	w.cluster.Put(pod)
	r := w.deleteRequest()
	r.Review, r.Run.PlanPolicy, r.Run.WaitIgnored = Review{}, LikePackages(), false
	d, err := w.PrepareDelete(t.Context(), r)
	checkError(t, err, "")
	_, err = w.run(t.Context(), d, realRun)
	checkError(t, err, "")
	check(t, "objects", w.objects(), "pod/p")
}

// TestWaves: in waves a change waits for all that depend on fewer in a row.
func TestWaves(t *testing.T) {
	w := newWorld(t)
	rounds := func(waves bool) string {
		r := w.nativeRequest(configMap("a", "1"), `{apiVersion: v1, kind: ConfigMap, metadata: `+
			`{name: b, annotations: {kapp.k14s.io/change-rule: upsert after upserting first}}}`,
			`{apiVersion: v1, kind: ConfigMap, metadata: {name: c, annotations: `+
				`{kapp.k14s.io/change-group: first}}}`)
		r.Run.Waves = waves
		var all []string
		p := w.prepare(r).Plan()
		for _, round := range p.Rounds() {
			var names []string
			for _, i := range round {
				names = append(names, p.Steps[i].Ref.Name)
			}
			all = append(all, strings.Join(names, " "))
		}
		return strings.Join(all, ", ")
	}
	check(t, "each for itself", rounds(false), "a c b")
	check(t, "in waves", rounds(true), "a c, b")
}
