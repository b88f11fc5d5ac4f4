package enginetest

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/cluster"
)

// tracked returns an object of a write with managed fields that say what the write has changed. A
// server-side apply has set them.
func tracked(w cluster.Write, live, next *unstructured.Unstructured) (
	*unstructured.Unstructured, error,
) {
	if w.Method == cluster.Apply {
		return next, nil
	}
	if live == nil {
		live = empty(next)
		next.SetManagedFields(nil)
	}
	manager, err := fieldManager(next.GroupVersionKind(), w.Subresource)
	if err != nil {
		return nil, err
	}
	updated, err := manager.Update(live.DeepCopy(), next, cmp.Or(w.Manager, "unknown"))
	if err != nil { // of content that the type cannot hold: the server logs it
		next.SetManagedFields(nil)
		return next, nil
	}
	return updated.(*unstructured.Unstructured), nil
}

// applied returns the live object, which may be nil, after a server-side apply.
func (c *Cluster) applied(w cluster.Write, live *unstructured.Unstructured) (
	*unstructured.Unstructured, error,
) {
	sent := w.Object.DeepCopy()
	if c.mergesByKeys(sent.GroupVersionKind()) {
		return nil, fmt.Errorf("a cluster in memory merges no lists with keys: %s", sent.GetKind())
	}
	if c.hasStatus(sent.GroupVersionKind()) {
		for field := range sent.Object {
			isStatus := field == "status"
			named := field == "apiVersion" || field == "kind" || field == "metadata"
			if isStatus != (w.Subresource != "") && !named {
				delete(sent.Object, field)
			}
		}
	}
	if live == nil {
		live = empty(sent)
	}
	manager, err := fieldManager(sent.GroupVersionKind(), w.Subresource)
	if err != nil {
		return nil, err
	}
	applied, err := manager.Apply(live.DeepCopy(), sent, w.Manager, w.Force)
	if status := apierrors.APIStatus(nil); err != nil && !errors.As(err, &status) {
		return nil, failed(err.Error())
	}
	if err != nil {
		return nil, err
	}
	return applied.(*unstructured.Unstructured), nil
}

// empty returns an object with nothing but the kind of another one, and the fields that the Go type
// of the kind always has.
func empty(obj *unstructured.Unstructured) *unstructured.Unstructured {
	fields := map[string]any{"apiVersion": obj.GetAPIVersion(), "kind": obj.GetKind()}
	if typed, ok, err := builtin.Normalize(obj.GroupVersionKind(), fields); ok && err == nil {
		fields = typed
	}
	return &unstructured.Unstructured{Object: fields}
}

// builtinTypes knows how the lists of the built-in kinds merge.
var builtinTypes = sync.OnceValue(func() managedfields.TypeConverter {
	return applyconfigurations.NewTypeConverter(scheme.Scheme)
})

// customTypes knows that of the metadata of custom kinds. It takes their other lists as a whole.
var customTypes = sync.OnceValue(func() managedfields.TypeConverter {
	parser, err := typed.NewParser(`types:
- name: object
  map:
    fields:
    - name: metadata
      type: {namedType: metadata}
    elementType: {namedType: any}
- name: metadata
  map:
    fields:
    - name: finalizers
      type: {list: {elementType: {scalar: string}, elementRelationship: associative}}
    - name: ownerReferences
      type: {list: {elementType: {namedType: any}, elementRelationship: associative, keys: [uid]}}
    elementType: {namedType: any}
- name: any
  scalar: untyped
  list: {elementType: {namedType: any}, elementRelationship: atomic}
  map: {elementType: {namedType: any}, elementRelationship: separable}
`)
	if err != nil {
		panic(err)
	}
	return converter{managedfields.NewDeducedTypeConverter(), parser.Type("object")}
})

// converter converts objects to values of one type.
type converter struct {
	managedfields.TypeConverter
	of typed.ParseableType
}

// ObjectToTyped returns an object as a value.
func (c converter) ObjectToTyped(
	obj runtime.Object, o ...typed.ValidationOptions,
) (*typed.TypedValue, error) {
	return c.of.FromUnstructured(obj.(*unstructured.Unstructured).Object, o...)
}

// fieldManager returns the code of the API server for managed fields.
func fieldManager(
	gvk schema.GroupVersionKind, subresource string,
) (*managedfields.FieldManager, error) {
	types := customTypes()
	if scheme.Scheme.Recognizes(gvk) {
		types = builtinTypes()
	}
	return managedfields.NewDefaultFieldManager(types, sameVersion{}, noDefaults{}, creater{}, gvk,
		gvk.GroupVersion(), subresource, nil)
}

// sameVersion converts objects between versions: there is one only.
type sameVersion struct{ runtime.ObjectConvertor }

// ConvertToVersion returns the object.
func (sameVersion) ConvertToVersion(
	obj runtime.Object, _ runtime.GroupVersioner,
) (runtime.Object, error) {
	return obj, nil
}

// noDefaults sets no defaults: managed fields have those that are set before.
type noDefaults struct{}

// Default does nothing.
func (noDefaults) Default(runtime.Object) {}

// creater creates empty objects.
type creater struct{}

// New returns an object of a kind.
func (creater) New(gvk schema.GroupVersionKind) (runtime.Object, error) {
	obj := &unstructured.Unstructured{}
	obj.SetGroupVersionKind(gvk)
	return empty(obj), nil
}

// equal reports whether objects differ in nothing but the times of managed fields, so that the
// server stores nothing.
func equal(a, b *unstructured.Unstructured) bool {
	return reflect.DeepEqual(untimed(a), untimed(b))
}

// untimed returns the fields of an object without the times of managed fields.
func untimed(obj *unstructured.Unstructured) map[string]any {
	obj = obj.DeepCopy()
	entries := obj.GetManagedFields()
	for i := range entries {
		entries[i].Time = nil
	}
	obj.SetManagedFields(entries)
	return obj.Object
}
