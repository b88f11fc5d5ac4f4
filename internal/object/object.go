// Package object identifies Kubernetes objects and keeps ordered sets of identities.
//
// Nothing here reads files or talks to a server. An identity has no version: an object read as
// apps/v1 and as apps/v1beta1 is the same object.
package object

import (
	"cmp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Ref identifies one object of a cluster. The core group and the namespace of a cluster-scoped
// object are empty. It is comparable and serves as a map key everywhere; the zero value identifies
// nothing.
type Ref struct {
	Group     string `json:"group"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// RefOf returns the identity of an object.
func RefOf(obj *unstructured.Unstructured) Ref {
	gvk := obj.GroupVersionKind()
	return Ref{Group: gvk.Group, Kind: gvk.Kind, Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// GroupKind returns the object's type without its version.
func (r Ref) GroupKind() schema.GroupKind {
	return schema.GroupKind{Group: r.Group, Kind: r.Kind}
}

// Short returns the form of progress lines: lower-case kind, group if any, and name, without the
// namespace, as in deployment.apps/web.
func (r Ref) Short() string {
	kind := strings.ToLower(r.Kind)
	if r.Group != "" {
		kind += "." + r.Group
	}
	return kind + "/" + r.Name
}

// String returns the form of plans and errors: Short after the namespace, if there is one, as in
// demo/deployment.apps/web.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Short()
	}
	return r.Namespace + "/" + r.Short()
}

// Compare compares references by group, kind, namespace and name, as slices.SortFunc expects.
func Compare(a, b Ref) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind),
		strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}
