package deploy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/input"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

var (
	configMapKind   = schema.GroupKind{Kind: "ConfigMap"}
	secretKind      = schema.GroupKind{Kind: "Secret"}
	clusterRoleKind = schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}
)

// world is a client of a cluster in memory, with the circumstances of its runs.
type world struct {
	*Client
	t       *testing.T
	cluster *enginetest.Cluster
	printed []string
	answer  func() error // answers the confirmation; nil is yes
	execute func() error // called when a run has made its changes; may be nil
	now     time.Time
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, cluster: &enginetest.Cluster{}, now: time.Date(2026, 5, 1, 0, 0, 0, 0,
		time.UTC)}
	for _, gk := range []schema.GroupKind{configMapKind, secretKind, app.PodKind} {
		w.cluster.Serve(gk, true)
	}
	w.cluster.Serve(clusterRoleKind, false)
	clock := func() time.Time {
		w.now = w.now.Add(time.Second)
		return w.now
	}
	w.Client = &Client{
		Client: app.Client{
			Cluster: w.cluster, Namespace: "demo", Printer: w, Now: clock,
			Records: &app.Store{Cluster: w.cluster, Manager: app.Manager, Now: clock},
		},
		Confirm: func(context.Context) error {
			if w.answer == nil {
				return nil
			}
			return w.answer()
		},
	}
	return w
}

// Line, Info and Debug keep what is printed.
func (w *world) Line(text string)               { w.printed = append(w.printed, text) }
func (w *world) Info(text string, _ ...string)  { w.printed = append(w.printed, "info: "+text) }
func (w *world) Debug(text string, _ ...string) {}

// output returns what was printed since the last call.
func (w *world) output() string {
	text := strings.Join(w.printed, "\n")
	w.printed = nil
	return text
}

// testPrinter is a RunPrinter that keeps the first error of a step. It calls the function execute
// of its world when the last step has settled, before the record is saved.
type testPrinter struct {
	*world
	open   int // steps that have not settled
	failed error
}

func (p *testPrinter) Event(e event.Event) {
	if e.Err != nil && p.failed == nil {
		p.failed = e.Err
	}
	if e.Kind != event.Settled {
		return
	}
	if p.open--; p.open == 0 && p.execute != nil {
		p.failed = cmp.Or(p.failed, p.execute())
	}
}

func (p *testPrinter) Close(bool) error { return p.failed }

// review returns how the changes of tests are printed.
func (w *world) review() Review {
	return Review{
		Print:      func(*Run) error { return nil },
		NewPrinter: func(r *Run) RunPrinter { return &testPrinter{world: w, open: len(r.Changes())} },
	}
}

// runOptions returns options for runs without a diagnosis.
func (w *world) runOptions() RunOptions {
	return RunOptions{UseLastApplied: true, Wait: true, Engine: engine.Options{
		DryRun:   engine.DryRunNone,
		NoCauses: true, Limits: engine.Limits{Idle: limit.After(time.Minute)},
	}}
}

// request returns a request that deploys manifests as the app "web".
func (w *world) request(manifests ...string) DeployRequest {
	return DeployRequest{
		App: app.Name{Name: "web", Namespace: "demo"},
		Input: input.Options{
			Files: []string{"-"},
			Stdin: strings.NewReader(strings.Join(manifests, "\n---\n")),
		},
		Adopt: true, ScopeSelectors: true, Summarize: true, KeepChanges: 10, Review: w.review(),
		Run: w.runOptions(),
	}
}

// deploy deploys manifests as the app "web", which must succeed.
func (w *world) deploy(manifests ...string) {
	w.t.Helper()
	if _, err := w.Deploy(w.t.Context(), w.request(manifests...)); err != nil {
		w.t.Fatalf("deploy: %v", err)
	}
}

// deleteRequest returns a request that deletes the app "web".
func (w *world) deleteRequest() DeleteRequest {
	return DeleteRequest{
		App:    app.Name{Name: "web", Namespace: "demo"},
		Review: w.review(),
		Run:    w.runOptions(),
	}
}

// find returns the app "web".
func (w *world) find() *app.App {
	w.t.Helper()
	found, err := w.Find(w.t.Context(), app.Name{Name: "web", Namespace: "demo"})
	if err != nil {
		w.t.Fatal(err)
	}
	return found
}

// objects returns the names of all objects but the records of changes, sorted.
func (w *world) objects() string {
	var names []string
	for _, ref := range w.cluster.Refs().Refs() {
		if !strings.Contains(ref.Name, "-change-") {
			names = append(names, strings.ToLower(ref.Kind)+"/"+ref.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

// configMap returns the manifest of a ConfigMap.
func configMap(name, value string) string {
	return "{apiVersion: v1, kind: ConfigMap, metadata: {name: " + name + "}, data: {value: '" +
		value + "'}}"
}

// put places the object of a manifest into the cluster.
func (w *world) put(manifest string) object.Ref {
	obj := parse(w.t, manifest)
	obj.SetNamespace(cmp.Or(obj.GetNamespace(), "demo"))
	w.cluster.Put(obj)
	return object.RefOf(obj)
}

func parse(t *testing.T, manifest string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

// configMapRef returns the reference of a ConfigMap.
func configMapRef(name string) object.Ref {
	return object.Ref{Kind: "ConfigMap", Namespace: "demo", Name: name}
}

// checkError checks that an error contains a text; an empty text stands for no error.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("error %v", err)
	case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
		t.Errorf("error %v, want %q", err, want)
	}
}

// check compares two texts.
func check(t *testing.T, about, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", about, got, want)
	}
}

var errTest = errors.New("no")

// A command locks all names that its app has or may have had, in one order.
func TestLocks(t *testing.T) {
	w := newWorld(t)
	var locked []string
	w.Lock = func(
		ctx context.Context, set lock.Set, command string,
	) (*lock.Lock, context.Context, error) {
		locked = append(locked, command+" "+set.Namespace+"/"+set.Name)
		return nil, ctx, nil
	}
	w.deploy(configMap("a", "1"))
	for _, names := range [][2]string{{"shop", "web"}, {"web", "shop"}} {
		request := w.request(configMap("a", "1"))
		request.App.Name, request.PrevName = names[0], names[1]
		if _, err := w.Deploy(t.Context(), request); err != nil {
			t.Fatal(err)
		}
	}
	rename := RenameRequest{
		App: app.Name{Name: "web", Namespace: "demo"}, To: app.Name{Namespace: "blue"},
	}
	if err := w.Rename(t.Context(), rename); err != nil {
		t.Fatal(err)
	}
	deletion := w.deleteRequest()
	deletion.App = app.Name{Name: "label:x=y"}
	if _, err := w.Delete(t.Context(), deletion); err != nil {
		t.Fatal(err)
	}
	check(t, "locked", strings.Join(locked, ", "), "deploy demo/web, deploy demo/shop, "+
		"deploy demo/web, deploy demo/shop, deploy demo/web, rename blue/web, rename demo/web")
}
