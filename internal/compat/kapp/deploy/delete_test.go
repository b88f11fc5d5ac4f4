package deploy

import (
	"context"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// Delete deletes the objects and the record, unless something has to stay.
func TestDelete(t *testing.T) {
	const all, rest = "configmap/a configmap/b configmap/web", "configmap/b configmap/web"
	const partial = "App 'web' (namespace: demo) will not be fully deleted because some " +
		"resources are excluded by filters"
	for _, tc := range []struct {
		name    string
		edit    func(*world, *DeleteRequest)
		objects string
		output  string
		err     string
	}{
		{"all", nil, "", "", ""},
		{"filtered", func(_ *world, r *DeleteRequest) { r.Filter.Names = []string{"a"} }, rest,
			partial, ""},
		{"filter of changes",
			func(_ *world, r *DeleteRequest) {
				r.Run.ChangeFilter = `{"existingResource": {"names": ` +
					`["a"]}}`
			},
			rest, partial, ""},
		{"invalid filter", func(_ *world, r *DeleteRequest) { r.Filter.Age = "x" }, all, "", "age"},
		{"dry run", func(_ *world, r *DeleteRequest) { r.Review.DryRun = true }, all, "", ""},
		{"served", func(_ *world, r *DeleteRequest) {
			r.Review.Serve = func(context.Context, *Run) error { return errTest }
		}, all, "", "no"},
		{"printing fails", func(_ *world, r *DeleteRequest) {
			r.Review.Print = func(*Run) error { return errTest }
		}, all, "", "no"},
		{"not confirmed", func(w *world,
			_ *DeleteRequest) {
			w.answer = func() error { return errTest }
		}, all, "", "no"},
		{"another app", func(_ *world, r *DeleteRequest) { r.App.Name = "none" }, all,
			"App 'none' (namespace: demo) does not exist", ""},
		{"previous name", func(_ *world, r *DeleteRequest) {
			r.App.Name, r.PrevName = "none",
				"web"
		}, "", "", ""},
		{"no previous name", func(_ *world, r *DeleteRequest) {
			r.App.Name, r.PrevName = "none",
				"old"
		}, all,
			"App 'old' (namespace: demo) does not exist\nApp 'none' (namespace: demo) does not " +
				"exist", ""},
		{"everything", func(_ *world, r *DeleteRequest) { r.App.Name = "label:" }, all, "",
			"Expected label selector to be non-empty"},
		{"list fails", func(w *world, _ *DeleteRequest) {
			w.cluster.ListFails = map[schema.GroupKind]error{configMapKind: errTest}
		}, all, "", "Listing "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.deploy(configMap("a", "1"), configMap("b", "1"))
			request := w.deleteRequest()
			if tc.edit != nil {
				tc.edit(w, &request)
			}
			result, err := w.Delete(t.Context(), request)
			checkError(t, err, tc.err)
			check(t, "objects", w.objects(), tc.objects)
			if output := w.output(); !strings.HasPrefix(output, tc.output) ||
				tc.output == "" && output != "" {
				t.Errorf("output %q, want %q", output, tc.output)
			}
			if want := !strings.Contains(tc.output, "does not exist"); err == nil &&
				result.Found != want {
				t.Errorf("found %t, want %t", result.Found, want)
			}
		})
	}
}

// An app whose objects cannot all be listed is not deleted, unless the request says so.
func TestDeleteUnlistable(t *testing.T) {
	for _, tc := range []struct {
		name    string
		edit    func(*DeleteRequest)
		objects string
		err     string
	}{
		{"refused", nil, "configmap/a configmap/web secret/s",
			"Refusing to delete app 'web' (namespace: demo): Resources of it may be left that " +
				"nothing would find any more. " +
				"Missing permissions:\n- list secrets in namespaces: demo, other\n(hint: "},
		{"forgotten", func(r *DeleteRequest) { r.ForgetUnlistable = true }, "secret/s", ""},
		{"filtered", func(r *DeleteRequest) { r.Filter.Kinds = []string{"ConfigMap"} },
			"configmap/web secret/s", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.deploy(
				configMap("a", "1"),
				"{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: other}}",
			)
			w.cluster.Unlistable = map[schema.GroupKind][]string{secretKind: {enginetest.Everywhere}}
			request := w.deleteRequest()
			if tc.edit != nil {
				tc.edit(&request)
			}
			_, err := w.Delete(t.Context(), request)
			checkError(t, err, tc.err)
			check(t, "objects", w.objects(), tc.objects)
		})
	}
}

// An object that controllers created keeps the record while it is left, whatever was waited for. A
// filter that excludes it leaves it.
func TestDeleteLeavesTransient(t *testing.T) {
	const left = "Expected all resources to be gone, but found: secret/data (v1) namespace: demo"
	for _, tc := range []struct {
		name string
		edit func(*RunOptions)
		line string
		err  string
	}{
		{"without waiting", func(o *RunOptions) { o.Wait = false }, "", left},
		{"without waiting for ignored", func(o *RunOptions) { o.WaitIgnored = false }, "", left},
		{"filtered", func(o *RunOptions) {
			o.ChangeFilter = `{"existingResource": {"kinds": ["ConfigMap"]}}`
		}, "App 'web' (namespace: demo) will not be fully deleted because some resources are " +
			"excluded by filters", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.deploy(configMap("a", "1"))
			key, value, _ := w.find().Label()
			w.put("{apiVersion: v1, kind: Secret, metadata: {name: data, labels: {" + key + ": '" +
				value + "'}}}")
			request := w.deleteRequest()
			tc.edit(&request.Run)
			_, err := w.Delete(t.Context(), request)
			checkError(t, err, tc.err)
			check(t, "output", w.output(), tc.line)
			check(t, "objects", w.objects(), "configmap/web secret/data")
		})
	}
}

// lateCluster is a cluster whose first list lacks an object, as if it was created after the lists
// of its kind.
type lateCluster struct {
	cluster.Writer
	late  object.Ref
	lists int
}

func (c *lateCluster) Select(
	ctx context.Context, s cluster.Selection,
) ([]*unstructured.Unstructured, error) {
	found, err := c.Writer.Select(ctx, s)
	if c.lists++; c.lists == 1 {
		found = slices.DeleteFunc(found, func(obj *unstructured.Unstructured) bool {
			return object.RefOf(obj) == c.late
		})
	}
	return found, err
}

// An object that was created after the lists of its kind, but before those of its dependents, is
// deleted too.
func TestDeleteListsOwners(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"), configMap("b", "1"))
	key, value, _ := w.find().Label()
	uid := w.cluster.Object(configMapRef("a")).GetUID()
	w.put("{apiVersion: v1, kind: Secret, metadata: {name: data, labels: {" + key + ": '" + value +
		"'}, ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a, controller: true, uid: " +
		string(uid) + "}]}}")
	w.Client.Cluster = &lateCluster{Writer: w.cluster, late: configMapRef("a")}
	request := w.deleteRequest()
	request.Run.Wait = false
	_, err := w.Delete(t.Context(), request)
	checkError(t, err, "Expected all resources to be gone, but found: secret/data")
	check(t, "objects", w.objects(), "configmap/web secret/data")
}

// A failed deletion keeps the record, with the namespaces of the app.
func TestDeleteFails(t *testing.T) {
	w := newWorld(t)
	w.deploy(
		configMap("a", "1"),
		"{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: other}}",
	)
	w.cluster.Fails = map[object.Ref]error{configMapRef("a"): errTest}
	_, err := w.Delete(t.Context(), w.deleteRequest())
	checkError(t, err, "no")
	last := w.find().Meta.LastDeployment
	check(t, "namespaces", strings.Join(last.Namespaces, " "), "demo other")
	check(t, "description", last.Description, "delete")
	if last.Successful == nil || *last.Successful {
		t.Errorf("last change %+v", last)
	}
}

// A deployment that adds objects during a deletion keeps the record.
func TestDeleteWhileDeploying(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	w.execute = func() error {
		w.execute = nil
		w.deploy(configMap("b", "1"))
		return nil
	}
	_, err := w.Delete(t.Context(), w.deleteRequest())
	checkError(
		t,
		err,
		"Expected all resources to be gone, but found: configmap/b (v1) namespace: demo",
	)
	check(t, "objects", w.objects(), "configmap/b configmap/web")
}

// A deployment that begins during a deletion keeps the record although it has no objects yet.
func TestDeleteWhileDeploymentBegins(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"))
	w.execute = func() error {
		other := w.find()
		return other.Begin(t.Context(), "another run", []string{"demo"}, false)
	}
	_, err := w.Delete(t.Context(), w.deleteRequest())
	checkError(t, err, "another run has changed the app meanwhile")
	check(t, "objects", w.objects(), "configmap/web")
}

// An app whose record names no kinds is searched in all, also in those that are new.
func TestDeleteWithoutKinds(t *testing.T) {
	w := newWorld(t)
	request := w.request(configMap("a", "1"))
	request.App = app.Name{Name: "label:tier=web"}
	if _, err := w.Deploy(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	deletion := w.deleteRequest()
	deletion.App = request.App
	if _, err := w.Delete(t.Context(), deletion); err != nil {
		t.Fatal(err)
	}
	check(t, "objects", w.objects(), "")
	if w.cluster.Rediscovered != 1 {
		t.Errorf("discovered %d times", w.cluster.Rediscovered)
	}
}

// A deletion is decided again if its object has changed since the user saw it: one that others took
// out of the app stays, any other is deleted.
func TestDeleteChangedObjects(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"), configMap("b", "1"))
	request := w.deleteRequest()
	request.Review.Print = func(*Run) error {
		for name, change := range map[string]func(*unstructured.Unstructured){
			"a": func(obj *unstructured.Unstructured) { obj.SetLabels(nil) },
			"b": func(obj *unstructured.Unstructured) { obj.SetFinalizers(nil); obj.SetGeneration(7) },
		} {
			obj := w.cluster.Object(configMapRef(name))
			change(obj)
			w.cluster.Put(obj)
		}
		return nil
	}
	_, err := w.Delete(t.Context(), request)
	checkError(t, err, "configmap/a (v1) namespace: demo is not deleted: "+
		"others took it out of the app since its deletion was planned")
	check(t, "objects", w.objects(), "configmap/a configmap/web")
}
