package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
)

// TestJSON reads and writes what kapp 0.60 stored for an app and a change of it.
func TestJSON(t *testing.T) {
	for _, text := range []string{
		`{"labelKey":"kapp.k14s.io/app","labelValue":"1795253170392718630",` +
			`"lastChangeName":"web-change-qjv8x",` +
			`"lastChange":{"startedAt":"2026-11-21T09:26:13.690091419Z",` +
			`"finishedAt":"2026-11-21T09:26:13.821191908Z","successful":true,"description":"update: ` +
			`Op: 0 create, 0 delete, 2 update, 0 noop, 0 exists / Wait to: 2 reconcile, 0 delete, 0 ` +
			`noop","namespaces":["demo"]},"usedGVs":[{"Group":"apps","Version":"v1"},{"Group":"",` +
			`"Version":"v1"}],"usedGKs":[{"Group":"","Kind":"Service"},{"Group":"apps",` +
			`"Kind":"Deployment"}]}`,
		spec("1", "[]"), spec("1", "null"),
	} {
		m, err := parseMeta(text)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, m.JSON()); diff != "" {
			t.Errorf("(-kapp +ours):\n%s", diff)
		}
		if u := m.used(); u.kinds != nil {
			again := usedOf(u.versions, *u.kinds)
			m.setUsed(used{again.versions, again.kinds})
			if diff := cmp.Diff(text, m.JSON()); diff != "" {
				t.Errorf("the order of kinds (-kapp +ours):\n%s", diff)
			}
		}
	}
	if m, err := parseMeta(`{"labelKey":"a","labelValue":"b"}`); err != nil || m.UsedGKs != nil {
		t.Errorf("a record without kinds: %v, %v; want none known", m.UsedGKs, err)
	}
	change := `{"startedAt":"2026-11-21T09:26:13.6Z","finishedAt":"0001-01-01T00:00:00Z"}`
	if c, err := parseDeployment(change); err != nil || c.JSON() != change {
		t.Errorf("change: %s, %v; want %s", c.JSON(), err, change)
	}
}

var (
	deployment = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	secret     = schema.GroupKind{Kind: "Secret"}
	core       = schema.GroupVersion{Version: "v1"}
	apps       = schema.GroupVersion{Group: "apps", Version: "v1"}
)

// TestRun counts the requests of two runs, and shows what is stored at each moment.
func TestRun(t *testing.T) {
	f := newFake()
	s := newStore(f)
	request := Request{
		Name:      "web",
		Namespace: "demo",
		Labels:    map[string]string{"team": "a"},
		Group:     "g",
	}
	sent := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, f.requests()); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
	stored := func(want string) {
		t.Helper()
		got := specOf(t, f, "demo", "web")
		if name := last(t, got); name != "" {
			got = strings.ReplaceAll(got, name, "web-change-*")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("record (-want +got):\n%s", diff)
		}
	}
	app, err := s.Ensure(t.Context(), request)
	if err != nil || !app.IsNew || !app.Exists() {
		t.Fatalf("ensure: %+v, %v", app, err)
	}
	sent("create demo/web", "get demo/web", "get demo/web.apps.k14s.io")
	stored(spec("1795253174690091420", "[]"))
	want := map[string]string{"kapp.k14s.io/is-app": "", "team": "a", "kapp.k14s.io/app-group": "g"}
	if diff := cmp.Diff(want, app.Labels()); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}

	app.SetKinds(
		[]schema.GroupVersion{apps, core, apps},
		[]schema.GroupKind{deployment, secret, deployment},
		nil,
	)
	if err := app.Begin(t.Context(), "update: x", []string{"demo", "(cluster)", "demo"},
		true); err != nil {
		t.Fatal(err)
	}
	sent("create demo/web-change-*", "replace demo/web")
	running := `{"startedAt":"2026-11-21T09:26:15.690091421Z","finishedAt":"0001-01-01T00:00:00Z",` +
		`"description":"update: x","namespaces":["(cluster)","demo"]}`
	head := `{"labelKey":"kapp.k14s.io/app","labelValue":"1795253174690091420",` +
		`"lastChangeName":"web-change-*","lastChange":`
	stored(
		head + running + `,"usedGVs":[{"Group":"apps","Version":"v1"},{"Group":"","Version":"v1"}],` +
			`"usedGKs":[{"Group":"","Kind":"Secret"},{"Group":"apps","Kind":"Deployment"}]}`,
	)
	name := last(t, specOf(t, f, "demo", "web"))
	if got := specOf(t, f, "demo", name); got != running {
		t.Errorf("record of the change: %s, want %s", got, running)
	}
	want = map[string]string{
		"kapp.k14s.io/is-app-change": "", "kapp.k14s.io/app-change-app": "web",
		"kapp.k14s.io/app-change-app-label": "1795253174690091420",
	}
	if diff := cmp.Diff(want, f.objects[ref("demo", name)].GetLabels()); diff != "" {
		t.Errorf("labels of the change (-want +got):\n%s", diff)
	}

	app.SetKinds([]schema.GroupVersion{core}, []schema.GroupKind{secret}, nil)
	if err := app.Finish(t.Context(), true, []string{"demo"}); err != nil {
		t.Fatal(err)
	}
	sent("replace demo/web", "replace demo/web-change-*")
	ended := `{"startedAt":"2026-11-21T09:26:15.690091421Z",` +
		`"finishedAt":"2026-11-21T09:26:16.690091422Z","successful":true,"description":"update: x",` +
		`"namespaces":["demo"]}`
	stored(
		head + ended + `,"usedGVs":[{"Group":"","Version":"v1"}],"usedGKs":[{"Group":"",` +
			`"Kind":"Secret"}]}`,
	)
	if got := specOf(t, f, "demo", name); got != ended {
		t.Errorf("record of the change: %s, want %s", got, ended)
	}

	app, err = s.Ensure(t.Context(), request)
	if err != nil || app.IsNew {
		t.Fatalf("ensure again: %+v, %v", app, err)
	}
	sent("get demo/web", "get demo/web.apps.k14s.io")
	if app.Selector() != "kapp.k14s.io/app=1795253174690091420" ||
		app.String() != "app 'web' namespace: demo" {
		t.Errorf("selector %s of %s", app.Selector(), app)
	}
	if err := app.Begin(t.Context(), "delete", nil, false); err != nil {
		t.Fatal(err)
	}
	sent("replace demo/web")
	if err := app.Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	sent("delete demo/web", "delete demo/web-change-*", "list demo")
	if names := f.names(); len(names) > 0 {
		t.Errorf("left: %v", names)
	}
}

func ref(namespace, name string) object.Ref {
	return object.Ref{Kind: "ConfigMap", Namespace: namespace, Name: name}
}

// last is the name of the last change in a record.
func last(t *testing.T, text string) string {
	t.Helper()
	var m Meta
	if err := json.Unmarshal([]byte(text), &m); err != nil {
		t.Fatal(err)
	}
	return m.LastDeploymentName
}

// Two runs at once lose no kinds, in whatever order they write.
func TestConflict(t *testing.T) {
	f := newFake()
	s := newStore(f)
	one, err := s.Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
	if err != nil || two.IsNew {
		t.Fatalf("%+v, %v", two, err)
	}
	one.SetKinds(nil, []schema.GroupKind{secret}, nil)
	two.SetKinds(nil, []schema.GroupKind{deployment}, nil)
	for _, app := range []*App{one, two} {
		if err := app.Begin(t.Context(), "update", nil, true); err != nil {
			t.Fatal(err)
		}
	}
	both := `[{"Group":"","Kind":"Secret"},{"Group":"apps","Kind":"Deployment"}]`
	if got := specOf(t, f, "demo", "web"); !strings.Contains(got, both) {
		t.Errorf("after both began: %s", got)
	}
	one.SetKinds(nil, nil, nil)
	if err := one.Finish(t.Context(), true, nil); err != nil {
		t.Fatal(err)
	}
	if got := specOf(t, f, "demo", "web"); !strings.Contains(got, both) {
		t.Errorf("after the first has finished: %s", got)
	}

	f.refuse = func(sent string) error {
		if sent == "replace demo/web" {
			return apierrors.NewConflict(configMaps, "web", errors.New("changed"))
		}
		return nil
	}
	two.SetKinds(nil, nil, nil)
	if err := two.Finish(t.Context(), true, nil); err == nil ||
		!strings.HasPrefix(err.Error(), "Updating app: Operation cannot be fulfilled") {
		t.Errorf("finish against endless conflicts: %v", err)
	}
	f.refuse = nil
	delete(f.objects, ref("demo", "web"))
	const gone = `App 'web' (namespace: demo) was deleted by another run meanwhile: run the ` +
		`command again: Updating app: configmaps "web" not found`
	if err := two.Begin(t.Context(), "update", nil, true); err == nil || err.Error() != gone {
		t.Errorf("begin without a record: %v", err)
	}
	if names := f.names(); len(names) != 2 {
		t.Errorf("records of changes that nothing finds: %v; want those of the two runs", names)
	}
	if err := two.Restore(t.Context(), []string{"b", "a"}); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{both, `"successful":false`, `"namespaces":["a","b"]`,
		two.Meta.LabelValue} {
		if got := specOf(t, f, "demo", "web"); !strings.Contains(got, part) {
			t.Errorf("restored: %s, want %s in it", got, part)
		}
	}
	other := (*RecordDeletedError)(nil)
	if err := two.Restore(t.Context(), nil); !errors.As(err, &other) || !other.Recreated {
		t.Errorf("restored although there is a record: %v", err)
	}
	f.put(recorded("demo", "web", spec("2", "[]"), isApp))
	if err := two.Begin(t.Context(), "update", nil, false); err == nil ||
		!strings.Contains(err.Error(), "was deleted and created again") {
		t.Errorf("begin against another app of the name: %v", err)
	}
}

// A change that could not be noted on the app has failed.
func TestBeginFails(t *testing.T) {
	f := newFake()
	app, err := newStore(f).Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	f.refuse = func(sent string) error {
		if sent == "replace demo/web" {
			return errors.New("no")
		}
		return nil
	}
	if err := app.Begin(t.Context(), "update", nil, true); err == nil ||
		err.Error() != "Updating app: no" {
		t.Errorf("begin: %v", err)
	}
	changes, err := app.RecordedDeployments(t.Context())
	if err != nil || len(changes) != 1 || changes[0].Successful == nil || *changes[0].Successful {
		t.Errorf("changes: %+v, %v", changes, err)
	}
}

func TestTrim(t *testing.T) {
	for _, tc := range []struct{ have, keep, deleted int }{{3, 5, 0}, {3, 3, 0}, {3, 2, 1}, {3, 0, 3},
		{0, 0, 0}, {2, -1, 2}} {
		f := newFake()
		app, err := newStore(f).Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range tc.have {
			if err := app.Begin(t.Context(), fmt.Sprint(i), nil, true); err != nil {
				t.Fatal(err)
			}
		}
		f.requests()
		deleted, kept, err := app.TrimRecords(t.Context(), tc.keep)
		if err != nil || deleted != tc.deleted || kept != tc.have-tc.deleted {
			t.Errorf("%+v: deleted %d, kept %d, %v", tc, deleted, kept, err)
		}
		if sent := f.requests(); len(sent) != 1+tc.deleted {
			t.Errorf("%+v: %v", tc, sent)
		}
		changes, err := app.RecordedDeployments(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for i, change := range changes {
			if want := fmt.Sprint(tc.deleted + i); change.Description != want {
				t.Errorf("%+v: change %d is %s, want %s", tc, i, change.Description, want)
			}
		}
	}
}

func TestLabelled(t *testing.T) {
	s := newStore(newFake())
	app, err := s.Ensure(t.Context(), Request{Name: "label:x=y", Namespace: "demo"})
	if err != nil || !app.Exists() || !app.IsLabelled() || app.String() != "labeled app 'x=y'" ||
		app.Selector() != "x=y" {
		t.Fatalf("%+v, %v", app, err)
	}
	app.SetKinds(nil, []schema.GroupKind{secret}, nil)
	_, _, trimmed := app.TrimRecords(t.Context(), 0)
	for _, err := range []error{app.Begin(t.Context(), "update", nil, true),
		app.Finish(t.Context(), true, nil), app.Delete(t.Context()), trimmed} {
		if err != nil {
			t.Error(err)
		}
	}
	if err := app.Rename(t.Context(), "a", "b", false); err == nil || err.Error() != "Not supported" {
		t.Errorf("rename: %v", err)
	}
	if sent := s.Cluster.(*fake).requests(); len(sent) > 0 {
		t.Errorf("sent %v", sent)
	}
	for selector, want := range map[string]string{
		"x=y": "x=y", "x in (y)": "x=y", "x": "Expected label selector to check for equality",
		"x!=y":       "Expected label selector to check for equality",
		"a=b,c=d":    "Expected label selector to have one label KV",
		"x in (a,b)": "Expected label selector to check against single label value",
		"":           "Expected label selector to have one label KV",
	} {
		app, err := s.Find(t.Context(), "label:"+selector, "demo")
		if err != nil {
			t.Fatal(err)
		}
		key, value, err := app.Label()
		got := key + "=" + value
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s: %s, want %s", selector, got, want)
		}
	}
	if _, err := s.Find(t.Context(), "label:===", ""); err == nil ||
		!strings.HasPrefix(err.Error(), "Parsing app name (or label selector): ") {
		t.Errorf("nonsense: %v", err)
	}
}

func TestList(t *testing.T) {
	f := newFake()
	s := newStore(f)
	for i, namespace := range []string{"e", "d", "c", "b"} {
		f.put(recorded(namespace, "web", spec(fmt.Sprint(i), "[]"), isApp, "x=y"))
	}
	f.put(recorded("b", "web.apps.k14s.io", spec("3", "[]"), isApp))
	f.put(recorded("b", "odd", "{", isApp))
	f.put(recorded("b", "other", "", "x=y"))
	found, err := s.List(t.Context(), "b", nil)
	if err != nil || len(found) != 2 || found[0].Err == nil || found[1].Err != nil ||
		found[1].Name != "web" ||
		!found[1].migrated() {
		t.Errorf("all of one namespace: %v, %v", found, err)
	}
	selector, err := labels.Parse("x=y")
	if err != nil {
		t.Fatal(err)
	}
	if found, err := s.List(t.Context(), "", selector); err != nil || len(found) != 4 {
		t.Errorf("selected: %v, %v", found, err)
	}
	absent, err := s.Find(t.Context(), "web", "a")
	if err != nil || absent.Exists() {
		t.Fatal(absent, err)
	}
	const hint = " (hint: found app 'web' in other namespaces: b, c, d, ...)"
	if got, want := absent.NotFoundError(t.Context()).Error(),
		"App 'web' (namespace: a) does not exist: "+hint; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := absent.NotFoundText(t.Context()),
		"App 'web' (namespace: a) does not exist"+hint; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	f.refuse = func(string) error { return apierrors.NewForbidden(configMaps, "", nil) }
	if got, want := absent.NotFoundText(t.Context()),
		"App 'web' (namespace: a) does not exist"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestUsed goes through what a record says of kinds during and after a run.
func TestUsed(t *testing.T) {
	kinds := func(all ...schema.GroupKind) *[]schema.GroupKind { return &all }
	core, apps := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1"}
	service := schema.GroupKind{Kind: "Service"}
	for _, tc := range []struct {
		name          string
		recorded      used
		unseen        []schema.GroupKind
		during, after used
	}{
		{"a new app", used{nil, kinds()}, nil, used{[]schema.GroupVersion{core}, kinds(secret)},
			used{[]schema.GroupVersion{core}, kinds(secret)}},
		{"a kind less", used{[]schema.GroupVersion{apps}, kinds(deployment)}, nil,
			used{[]schema.GroupVersion{apps, core}, kinds(secret, deployment)},
			used{[]schema.GroupVersion{core}, kinds(secret)}},
		{"a kind that could not be seen", used{[]schema.GroupVersion{apps}, kinds(deployment)},
			[]schema.GroupKind{deployment, service},
			used{[]schema.GroupVersion{apps, core}, kinds(secret, deployment)},
			used{[]schema.GroupVersion{apps, core}, kinds(secret, deployment)}},
		{"unknown kinds", used{nil, nil}, nil, used{[]schema.GroupVersion{core}, nil},
			used{[]schema.GroupVersion{core}, kinds(secret)}},
		{"unknown kinds of which one could not be seen", used{nil, nil}, []schema.GroupKind{service},
			used{[]schema.GroupVersion{core}, nil}, used{[]schema.GroupVersion{core},
				kinds(secret, service)}},
	} {
		app := &App{used: tc.recorded}
		app.AddKinds([]schema.GroupVersion{core}, []schema.GroupKind{secret})
		if diff := cmp.Diff(tc.during, app.used, cmp.AllowUnexported(used{}),
			cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, during (-want +got):\n%s", tc.name, diff)
		}
		app.SetKinds([]schema.GroupVersion{core}, []schema.GroupKind{secret}, tc.unseen)
		if diff := cmp.Diff(tc.after, app.used, cmp.AllowUnexported(used{}),
			cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s, after (-want +got):\n%s", tc.name, diff)
		}
	}
}

// The record of an app with which another run has begun meanwhile is not deleted; what else is
// written on it is no obstacle.
func TestDeleteMeetsAnother(t *testing.T) {
	f := newFake()
	s := newStore(f)
	one, err := s.Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	two, err := s.Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Begin(t.Context(), "update", nil, false); err != nil {
		t.Fatal(err)
	}
	const want = "Deleting app: another run has changed the app meanwhile, so that it is kept " +
		"(hint: run the command again): "
	if err := one.Delete(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("delete: %v, want %s…", err, want)
	}
	if names := f.names(); len(names) != 1 {
		t.Errorf("records: %v", names)
	}
	labelled := f.objects[ref("demo", "web")].DeepCopy()
	labelled.SetLabels(map[string]string{"kapp.k14s.io/is-app": "", "team": "a"})
	f.put(labelled)
	if err := two.Delete(t.Context()); err != nil {
		t.Errorf("delete after a label: %v", err)
	}
	if names := f.names(); len(names) != 0 {
		t.Errorf("records: %v", names)
	}
}

// The record of an app names that of its last deployment. Another ConfigMap of that name is not
// written.
func TestCloseLastOfOthers(t *testing.T) {
	f := newFake()
	app, err := newStore(f).Ensure(t.Context(), Request{Name: "web", Namespace: "demo"})
	if err == nil {
		err = app.Begin(t.Context(), "update", nil, true)
	}
	if err != nil {
		t.Fatal(err)
	}
	foreign := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"spec": "theirs"},
		"metadata": map[string]any{"namespace": "demo", "name": "foreign", "uid": "f"},
	}}
	f.objects[object.RefOf(foreign)] = foreign
	own := app.Meta.LastDeploymentName
	for _, name := range []string{"foreign", own} {
		app.Meta.LastDeploymentName = name
		if err := app.CloseLast(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if got := specOf(t, f, "demo", "foreign"); got != "theirs" {
		t.Errorf("the ConfigMap of others: %s", got)
	}
	if got := specOf(t, f, "demo", own); !strings.Contains(got, `"successful":false`) {
		t.Errorf("the record of the deployment: %s", got)
	}
}
