package deploy

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/sets/app"
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

// No object is lost that is described: the run is refused before it writes. An app is deleted as a
// whole.
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
	w := newWorld(t)
	w.deploy(always("1"), configMap("b", "1"))
	w.own("b", "a")
	_, err := w.Deploy(t.Context(), w.request(always("2"), configMap("b", "1")))
	checkError(t, err, "demo/configmap/b")
	check(t, "objects", w.objects(), "configmap/a configmap/b configmap/web")
	data := w.cluster.Object(configMapRef("a")).Object["data"].(map[string]any)
	check(t, "value", data["value"].(string), "1")
}

// An object that is left in the cluster loses its owner reference to the record of the app: it
// would be deleted with the record.
func TestRetainedLosesReferenceToRecord(t *testing.T) {
	retained := `{apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: ` +
		`{kapp.k14s.io/delete-strategy: orphan}}}`
	w := newWorld(t)
	w.deploy(configMap("a", "1"), retained)
	w.own("b", "web")
	_, err := w.Delete(t.Context(), w.deleteRequest())
	checkError(t, err, "")
	check(t, "objects", w.objects(), "configmap/b")
}

// A renaming, which deletes the old record, is refused if that owns an object of the app.
func TestRenameOfOwner(t *testing.T) {
	w := newWorld(t)
	w.deploy(configMap("a", "1"), configMap("b", "1"))
	w.own("b", "web")
	err := w.Rename(t.Context(), RenameRequest{
		App: app.Name{Name: "web", Namespace: "demo"}, To: app.Name{Name: "new"},
	})
	checkError(t, err, "demo/configmap/b has an owner reference to the record demo/configmap/web")
	check(t, "objects", w.objects(), "configmap/a configmap/b configmap/web")
}
