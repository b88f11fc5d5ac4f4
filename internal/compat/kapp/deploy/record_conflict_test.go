package deploy

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// The record of an app is deleted while it is deployed.
func TestDeployLosesRecord(t *testing.T) {
	for _, tc := range []struct {
		name    string
		during  func(*world)
		failed  error
		objects string
		output  string
		err     string
	}{
		{"objects are left", func(*world) {}, nil, "configmap/a configmap/web", "",
			"App 'web' (namespace: demo) was deleted by another run meanwhile: It is recorded " +
				"again, with what is left of it " +
				"(hint: run the command again to deploy all of it, or delete it):\n- configmap/a " +
				"(v1) namespace: demo"},
		{"the run fails as well", func(*world) {}, errTest, "configmap/a configmap/web", "",
			"no\nApp 'web'"},
		{"nothing is left", func(w *world) { w.cluster.Remove(configMapRef("a")) }, nil, "", "",
			"Nothing is left of it (hint: run the command again to deploy it)"},
		{"objects may be left that cannot be listed", func(w *world) {
			w.cluster.Remove(configMapRef("a"))
			w.cluster.ListFails = map[schema.GroupKind]error{configMapKind: errTest}
		}, nil, "configmap/web", "", "what could not be looked for: Listing "},
		{"another app of the name", func(w *world) {
			w.execute = nil
			request := w.request(configMap("b", "1"))
			if _, err := w.Deploy(w.t.Context(), request); err != nil {
				w.t.Fatal(err)
			}
		}, nil, "configmap/a configmap/b configmap/web", "",
			"Nothing records what this run has left (hint: delete -a 'label:kapp.k14s.io/app="},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.execute = func() error {
				w.cluster.Remove(configMapRef("web"))
				tc.during(w)
				return tc.failed
			}
			_, err := w.Deploy(t.Context(), w.request(configMap("a", "1")))
			checkError(t, err, tc.err)
			check(t, "objects", w.objects(), tc.objects)
			check(t, "output", w.output(), tc.output)
		})
	}
}

// A record that was renamed during the run still has all objects.
func TestDeployWhileRenamed(t *testing.T) {
	w := newWorld(t)
	w.execute = func() error {
		return w.Rename(
			t.Context(),
			RenameRequest{App: app.Name{Name: "web", Namespace: "demo"}, To: app.Name{Name: "shop"}},
		)
	}
	_, err := w.Deploy(t.Context(), w.request(configMap("a", "1")))
	checkError(t, err, "")
	check(t, "objects", w.objects(), "configmap/a configmap/shop")
	check(
		t,
		"output",
		w.output(),
		"Renaming 'web' (namespace: demo) to 'shop' (namespace: demo) (app changes will not be "+
			"renamed)\n"+
			"info: the app was given another record meanwhile, which has all of it: app 'shop' "+
			"namespace: demo",
	)
}

// A record that is lost before the first write ends the deployment, and nothing is written.
func TestDeployLosesRecordEarly(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	w.answer = func() error {
		w.cluster.Remove(configMapRef("web"))
		return nil
	}
	_, err := w.Deploy(t.Context(), w.request(configMap("a", "1"), configMap("b", "1")))
	checkError(t, err, "was deleted by another run meanwhile")
	check(t, "objects", w.objects(), "configmap/a")
}

// Unlistable objects may be left when the record is lost: it is recorded again.
func TestDeployLosesRecordUnlistable(t *testing.T) {
	w := newWorld(t)
	w.deploy("{apiVersion: v1, kind: Secret, metadata: {name: s}}")
	w.cluster.Unlistable = map[schema.GroupKind][]string{secretKind: {enginetest.Everywhere}}
	w.execute = func() error {
		w.cluster.Remove(configMapRef("web"))
		w.cluster.Remove(configMapRef("a"))
		return nil
	}
	_, err := w.Deploy(t.Context(), w.request(configMap("a", "1")))
	checkError(t, err, "It is recorded again")
	check(t, "objects", w.objects(), "configmap/web secret/s")
}
