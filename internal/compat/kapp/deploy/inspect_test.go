package deploy

import (
	"testing"

	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
)

// Inspect, ConfigMaps and ServiceAccounts return objects of an app that exists.
func TestInspect(t *testing.T) {
	w := newWorld(t)
	web, none := app.Name{Name: "web", Namespace: "demo"}, app.Name{Name: "none", Namespace: "demo"}
	w.deploy(configMap("a", "1"), "{apiVersion: v1, kind: Secret, metadata: {name: s}}")
	w.put(configMap("foreign", "1"))

	request := InspectRequest{App: web}
	target, found, err := w.Inspect(t.Context(), request)
	if err != nil || target.Name != "web" || len(found) != 2 {
		t.Errorf("%d objects, error %v", len(found), err)
	}
	request.Filter.Kinds = []string{"Secret"}
	if _, found, err = w.Inspect(t.Context(), request); err != nil || len(found) != 1 {
		t.Errorf("%d objects with a filter, error %v", len(found), err)
	}
	request.Filter.Age = "x"
	_, _, err = w.Inspect(t.Context(), request)
	checkError(t, err, "age")
	_, _, err = w.Inspect(t.Context(), InspectRequest{App: none})
	checkError(t, err, "App 'none' (namespace: demo) does not exist")

	if found, err = w.ConfigMaps(t.Context(), web); err != nil || len(found) != 1 {
		t.Errorf("%d ConfigMaps, error %v", len(found), err)
	}
	if found, err = w.ServiceAccounts(t.Context(), web); err != nil || len(found) != 0 {
		t.Errorf("%d service accounts, error %v", len(found), err)
	}
	_, err = w.ConfigMaps(t.Context(), none)
	checkError(t, err, "does not exist")
	if found, err = w.Unlabeled(t.Context()); err != nil || len(found) < 3 {
		t.Errorf("%d objects without the label, error %v", len(found), err)
	}
}

// List returns apps by the age of their records; a record that cannot be read is returned as well.
func TestList(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	w.put(
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: bad, labels: {kapp.k14s.io/is-app: " +
			"''}}, data: {spec: '{'}}",
	)
	old, err := filter.Flags{Age: "1h+"}.ResourceFilter(w.now)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		request app.ListRequest
		want    int
	}{{app.ListRequest{Namespace: "demo"}, 2}, {app.ListRequest{Namespace: "demo", Age: old}, 1},
		{app.ListRequest{Namespace: "other"}, 0}} {
		if found, err := w.List(t.Context(), tc.request); err != nil || len(found) != tc.want {
			t.Errorf("%+v: %d apps, error %v", tc.request, len(found), err)
		}
	}
}

// Changes are returned by the time at which they started, and trimmed on request.
func TestChanges(t *testing.T) {
	w := newWorld(t)
	web := app.Name{Name: "web", Namespace: "demo"}
	w.deploy(configMap("a", "1"))
	middle := w.Now()
	w.deploy(configMap("a", "2"))
	for _, tc := range []struct {
		request ChangesRequest
		want    int
	}{{ChangesRequest{App: web}, 2}, {ChangesRequest{App: web, After: middle}, 1},
		{ChangesRequest{App: web, Before: middle}, 1}} {
		if found, err := w.Changes(t.Context(), tc.request); err != nil || len(found) != tc.want {
			t.Errorf("%+v: %d changes, error %v", tc.request, len(found), err)
		}
	}
	_, err := w.Changes(t.Context(), ChangesRequest{App: app.Name{Name: "none", Namespace: "demo"}})
	checkError(t, err, "does not exist")

	printed := 0
	request := TrimRequest{
		App:   web,
		Keep:  1,
		Print: func(old []app.RecordedDeployment) error { printed = len(old); return nil },
	}
	w.answer = func() error { return errTest }
	checkError(t, w.TrimChanges(t.Context(), request), "no")
	w.answer = nil
	checkError(t, w.TrimChanges(t.Context(), request), "")
	check(t, "output", w.output(), "Kept 1, deleted 1 app changes")
	if printed != 1 {
		t.Errorf("%d records were printed", printed)
	}
	request.App.Name = "none"
	checkError(t, w.TrimChanges(t.Context(), request), "does not exist")
}

// Rename keeps what the request leaves out, and needs a record.
func TestRename(t *testing.T) {
	w := newWorld(t)
	web := app.Name{Name: "web", Namespace: "demo"}
	w.deploy(configMap("a", "1"))
	w.answer = func() error { return errTest }
	checkError(t, w.Rename(t.Context(), RenameRequest{App: web, To: app.Name{Namespace: "other"}}),
		"no")
	w.answer = nil
	checkError(t, w.Rename(t.Context(), RenameRequest{App: web, To: app.Name{Namespace: "other"}}), "")
	if found, err := w.Existing(t.Context(), app.Name{Name: "web", Namespace: "other"}); err != nil ||
		found.Name != "web" {
		t.Errorf("error %v", err)
	}
	checkError(
		t,
		w.Rename(t.Context(), RenameRequest{App: web, To: app.Name{Name: "x"}}),
		"App 'web' (namespace: demo) does not exist (hint: found app 'web' in other namespaces: other)",
	)
	checkError(
		t,
		w.Rename(t.Context(), RenameRequest{App: app.Name{Name: "label:a=b"}, To: app.Name{Name: "x"}}),
		"Not supported",
	)
}
