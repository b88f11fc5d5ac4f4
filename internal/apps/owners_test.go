package apps

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/plan"
)

// own makes one ConfigMap the owner of another.
func (w *world) own(name, owner string) {
	obj := w.cluster.Object(configMapRef(name))
	uid := w.cluster.Object(configMapRef(owner)).GetUID()
	obj.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: uid,
	}})
	w.cluster.Collects = true
	w.cluster.Put(obj)
}

// The garbage collector deletes what only a deleted object owns. In a native run an owner of an
// object that stays is kept with it, because that is described, left out or retained.
func TestOwnerOfStayingIsKept(t *testing.T) {
	retained := `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: ` +
		`{kapp.k14s.io/delete-strategy: orphan}}}`
	for _, tc := range []struct {
		name    string
		second  string
		prepare func(*world) operation
	}{
		{"described", configMap("b", "1"), func(w *world) operation {
			return w.prepare(w.nativeRequest(configMap("b", "1")))
		}},
		{"changed", configMap("b", "1"), func(w *world) operation {
			return w.prepare(w.nativeRequest(configMap("b", "2")))
		}},
		{"left out", configMap("b", "1"), func(w *world) operation {
			r := w.deleteRequest()
			r.Run.PlanPolicy, r.Filter.Names = LikePackages(), []string{"a"}
			d, err := w.PrepareDelete(w.t.Context(), r)
			checkError(w.t, err, "")
			return d
		}},
		{"retained", retained, func(w *world) operation {
			r := w.deleteRequest()
			r.Run.PlanPolicy = LikePackages()
			d, err := w.PrepareDelete(w.t.Context(), r)
			checkError(w.t, err, "")
			return d
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.deploy(configMap("a", "1"), tc.second)
			w.own("b", "a")
			o := tc.prepare(w)
			for _, step := range o.Plan().Steps {
				if step.Ref == configMapRef("a") {
					check(t, "operation", string(step.Op), string(plan.Keep))
					check(t, "because of", step.ReasonRef.Name, "b")
				}
			}
			if _, err := w.run(t.Context(), o, realRun); err != nil {
				t.Error(err)
			}
			for _, name := range []string{"a", "b", "web"} {
				if w.cluster.Object(configMapRef(name)) == nil {
					t.Errorf("%s is gone; left %s", name, w.objects())
				}
			}
		})
	}
}

// Under kapp's grammar, too, no object is lost that is described: the run is refused before it
// writes. An app is deleted as a whole.
func TestOwnerOfDescribed(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"), configMap("b", "1"))
	w.own("b", "a")
	_, err := w.Deploy(t.Context(), w.request(configMap("b", "1"), configMap("c", "1")))
	checkError(t, err, "configmap/b")
	check(t, "objects", w.objects(), "configmap/a configmap/b configmap/web")
	_, err = w.Delete(t.Context(), w.deleteRequest())
	checkError(t, err, "")
	check(t, "objects", w.objects(), "")
}

// An owner is not recreated if an object that stays would be lost, also an unchanged one.
func TestOwnerIsNotRecreated(t *testing.T) {
	always := func(value string) string {
		return `{apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: ` +
			`{kapp.k14s.io/update-strategy: always-replace}}, data: {value: "` + value + `"}}`
	}
	for _, native := range []bool{false, true} {
		w := newWorld(t)
		w.deploy(always("1"), configMap("b", "1"))
		w.own("b", "a")
		if native {
			_, err := w.run(t.Context(),
				w.prepare(w.nativeRequest(always("2"), configMap("b", "1"))), realRun)
			checkError(t, err, "")
		} else {
			_, err := w.Deploy(t.Context(), w.request(always("2"), configMap("b", "1")))
			checkError(t, err, "demo/configmap/b")
		}
		check(t, "objects", w.objects(), "configmap/a configmap/b configmap/web")
		data := w.cluster.Object(configMapRef("a")).Object["data"].(map[string]any)
		check(t, "value", data["value"].(string), "1")
	}
}

// An object that is left in the cluster loses its owner reference to the record of the app, under
// both grammars: it would be deleted with the record.
func TestRetainedLosesReferenceToRecord(t *testing.T) {
	retained := `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: ` +
		`{kapp.k14s.io/delete-strategy: orphan}}}`
	for _, native := range []bool{false, true} {
		w := newWorld(t)
		w.deploy(configMap("a", "1"), retained)
		w.own("b", "web")
		if native {
			r := w.deleteRequest()
			r.Run.PlanPolicy = LikePackages()
			d, err := w.PrepareDelete(w.t.Context(), r)
			checkError(w.t, err, "")
			_, err = w.run(t.Context(), d, realRun)
			checkError(t, err, "")
		} else {
			_, err := w.Delete(t.Context(), w.deleteRequest())
			checkError(t, err, "")
		}
		check(t, "objects", w.objects(), "configmap/b")
	}
}

// A renaming, which deletes the old record, is refused if that owns an object of the app.
func TestRenameOfOwner(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"), configMap("b", "1"))
	w.own("b", "web")
	err := w.Rename(t.Context(), RenameRequest{
		App: Name{Name: "web", Namespace: "demo"}, To: Name{Name: "new"},
	})
	checkError(t, err, "demo/configmap/b has an owner reference to the record demo/configmap/web")
	check(t, "objects", w.objects(), "configmap/a configmap/b configmap/web")
}
