package apps

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// Objects that hold others or data are not deleted unless their kind is allowed, nor is a namespace
// with such an object. The record stays with them.
func TestHeldBack(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: held}}"
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, " +
		"namespace: held}}"
	const plain = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	const all = "namespace/held persistentvolumeclaim/data"
	for _, tc := range []struct {
		name  string
		allow plan.AllowDelete
		left  string // beside the record
	}{
		{"held", nil, all},
		{"held because of a claim in it", plan.AllowDelete{"Namespace"}, all},
		{"claim", plan.AllowDelete{"PersistentVolumeClaim"}, "namespace/held"},
		{"all", plan.AllowDelete{"*"}, ""},
	} {
		for _, deletes := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				w := newWorld(t)
				w.cluster.Serve(namespaceKind, false)
				w.cluster.Serve(schema.GroupKind{Kind: "PersistentVolumeClaim"}, true)
				first := w.request(plain, namespace, claim)
				first.Run.Wait = false // nobody binds the claim
				if _, err := w.Deploy(t.Context(), first); err != nil {
					t.Fatal(err)
				}
				var err error
				want := "configmap/a configmap/web"
				if deletes {
					request := w.deleteRequest()
					request.Run.Held = tc.allow.Held()
					_, err = w.Delete(t.Context(), request)
					if want = "configmap/web"; tc.left == "" {
						want = ""
					}
				} else {
					request := w.request(plain)
					request.Run.Held = tc.allow.Held()
					_, err = w.Deploy(t.Context(), request)
				}
				checkError(t, err, "")
				if tc.left != "" {
					want += " " + tc.left
				}
				check(t, "objects", w.objects(), want)
				again := w.deleteRequest()
				if _, err := w.Delete(t.Context(), again); err != nil {
					t.Fatal(err)
				}
				check(t, "objects after a deletion of all", w.objects(), "")
			})
		}
	}
}

// A claim that an annotation keeps is left as the user wants, with its namespace. It is not held
// back.
func TestRetainedIsNotHeld(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: held}}"
	const claim = "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: data, " +
		"namespace: held, annotations: {keep: this}}}"
	w := newWorld(t)
	w.cluster.Serve(namespaceKind, false)
	w.cluster.Serve(schema.GroupKind{Kind: "PersistentVolumeClaim"}, true)
	first := w.request(namespace, claim)
	first.Run.Wait = false // nobody binds the claim
	if _, err := w.Deploy(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	request := w.deleteRequest()
	request.Run.Held = plan.AllowDelete{"Namespace"}.Held()
	request.Run.Policy = &plan.Policy{
		Annotations: plan.Annotations{
			Retain: []plan.Annotation{{Key: "keep", Value: "this"}},
		},
		DependsOn: func(*unstructured.Unstructured) ([]object.Ref, error) { return nil, nil },
	}
	d, err := w.PrepareDelete(t.Context(), request)
	checkError(t, err, "")
	if held := d.Plan().HeldBack(); len(held) > 0 {
		t.Errorf("held back: %v", held)
	}
	for _, step := range d.Plan().Steps {
		if step.Op != plan.Orphan {
			t.Errorf("step %s: %s", step.Ref, step.Op)
		}
	}
}

// The namespaces of objects that stay, because they are described or because a filter leaves them
// out, stay as well in a native run, whatever may be deleted.
func TestHolderOfStayingIsKept(t *testing.T) {
	const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: held}}"
	const inside = "{apiVersion: v1, kind: ConfigMap, metadata: {name: in, namespace: held}}"
	const plain = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"
	deployment := func(manifests ...string) func(*world) operation {
		return func(w *world) operation {
			r := w.nativeRequest(manifests...)
			r.Filter.Kinds = []string{"Namespace"}
			r.AllowEmpty = true
			return w.prepare(r)
		}
	}
	for _, tc := range []struct {
		name    string
		prepare func(*world) operation
		want    plan.Op
	}{
		{"described", func(w *world) operation { return w.prepare(w.nativeRequest(inside)) }, plan.Keep},
		{"described and left out", deployment(inside), plan.Keep},
		{"left out", deployment(), plan.Keep},
		{"deletion of some", func(w *world) operation {
			r := w.deleteRequest()
			r.Run.PlanPolicy, r.Filter.Kinds = LikePackages(), []string{"Namespace"}
			d, err := w.PrepareDelete(w.t.Context(), r)
			checkError(w.t, err, "")
			return d
		}, plan.Keep},
		{"deletion of all", func(w *world) operation {
			r := w.deleteRequest()
			r.Run.PlanPolicy = LikePackages()
			d, err := w.PrepareDelete(w.t.Context(), r)
			checkError(w.t, err, "")
			return d
		}, plan.Delete},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWorld(t)
			w.cluster.Serve(namespaceKind, false)
			if _, err := w.Deploy(t.Context(), w.request(plain, namespace, inside)); err != nil {
				t.Fatal(err)
			}
			found := false
			for _, step := range tc.prepare(w).Plan().Steps {
				if step.Ref.Kind == "Namespace" && step.Op != plan.Unchanged {
					found = true
					check(t, "operation", string(step.Op), string(tc.want))
				}
			}
			if !found {
				t.Error("no step of the namespace")
			}
		})
	}
}
