// Package owner recognizes whom an object in a cluster belongs to: a package, an app, a Helm
// release, a set of Flux or Argo CD, or an ApplySet. It reads the marks that these tools leave on
// their objects, and names the owner as a person would. It decides nothing.
package owner

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// Kind is the kind of an owner.
type Kind string

// The kinds of owners.
const (
	Package       Kind = "package"
	App           Kind = "app"
	HelmRelease   Kind = "Helm release"
	Kustomization Kind = "Flux Kustomization"
	FluxRelease   Kind = "Flux HelmRelease"
	Application   Kind = "Argo CD application"
	ApplySet      Kind = "ApplySet"
)

// Owner is a set of objects that somebody deploys. Packages and apps mark their objects with an ID
// alone; Names finds the name of the record. All others have a name.
type Owner struct {
	Kind      Kind
	ID        string // of packages: the inventory ID; of apps: the value of their label
	Name      string
	Namespace string // of the record; empty if unknown

	Labels, Annotations []string // the marks on the object, by key
}

// String returns the owner for messages: app "shop" in namespace demo.
func (o Owner) String() string {
	switch {
	case o.Name == "" && o.Kind == Package:
		return fmt.Sprintf("the package with inventory ID %s", o.ID)
	case o.Name == "" && o.Kind == App:
		return fmt.Sprintf("the app with label %s=%s", appLabel, o.ID)
	}
	text := fmt.Sprintf("%s %q", o.Kind, o.Name)
	if o.Namespace != "" {
		text += " in namespace " + o.Namespace
	}
	return text
}

// MarksOf returns the labels and annotations that are the marks of owners, by key.
func MarksOf(owners []Owner) (labels, annotations []string) {
	for _, o := range owners {
		labels, annotations = append(labels, o.Labels...), append(annotations, o.Annotations...)
	}
	return labels, annotations
}

// IsOwnMark reports whether a label or an annotation is the mark of packages or apps.
func IsOwnMark(key string) bool {
	return key == inventoryAnnotation || key == appLabel || key == associationLabel
}

// Is reports whether two owners are the same set.
func (o Owner) Is(other Owner) bool {
	return o.Kind == other.Kind && o.ID == other.ID && o.Name == other.Name &&
		o.Namespace == other.Namespace
}

// Of returns the owners whose marks an object carries. The first one is to be named: Flux marks
// the objects of a HelmRelease beside Helm.
func Of(obj *unstructured.Unstructured) []Owner {
	if obj == nil {
		return nil
	}
	labels, annotations := object.LabelsOf(obj), object.AnnotationsOf(obj)
	var owners []Owner
	if id := annotations.Get(inventoryAnnotation); id != "" {
		owners = append(owners, Owner{
			Kind: Package, ID: id, Annotations: []string{inventoryAnnotation}})
	}
	if id := labels.Get(appLabel); id != "" {
		owners = append(owners, Owner{
			Kind: App, ID: id, Labels: []string{appLabel, associationLabel},
			Annotations: appAnnotations})
	}
	for _, mark := range fluxMarks {
		if name := labels.Get(mark.name); name != "" {
			owners = append(owners, Owner{
				Kind: mark.kind, Name: name, Namespace: labels.Get(mark.namespace),
				Labels: []string{mark.name, mark.namespace}})
		}
	}
	if o := applicationOf(obj); o.Name != "" {
		o.Labels = []string{argoInstance}
		o.Annotations = []string{argoInstance, argoTracking, argoInstallation}
		owners = append(owners, o)
	}
	if name := annotations.Get(helmName); name != "" {
		owners = append(owners, Owner{
			Kind: HelmRelease, Name: name, Namespace: annotations.Get(helmNamespace),
			Annotations: []string{helmName, helmNamespace}})
	}
	if name := labels.Get(ApplySetLabel); name != "" {
		owners = append(owners, Owner{Kind: ApplySet, Name: name, Labels: []string{ApplySetLabel}})
	}
	return owners
}

// Others returns the owners of a live object other than a set. A mark that the set itself applied
// to an object of its own does not count: the manifest has it with the same value.
func Others(live, applied *unstructured.Unstructured, set Owner) []Owner {
	owners := Of(live)
	isMember := slices.ContainsFunc(owners, set.Is)
	var own []Owner
	if isMember {
		own = Of(applied)
	}
	return slices.DeleteFunc(owners, func(o Owner) bool {
		return o.Is(set) || slices.ContainsFunc(own, o.Is)
	})
}

// applicationOf returns the Argo CD application that an object belongs to, without a name if there
// is none. The common label for instances counts only on objects that Argo CD wrote.
func applicationOf(obj *unstructured.Unstructured) Owner {
	labels, annotations := object.LabelsOf(obj), object.AnnotationsOf(obj)
	if id := annotations.Get(argoTracking); id != "" && !isCopied(id, obj) {
		instance, _, _ := strings.Cut(id, ":") // INSTANCE:GROUP/KIND:NAMESPACE/NAME
		return application(instance)
	}
	for _, instance := range []string{labels.Get(argoInstance), annotations.Get(argoInstance)} {
		if instance != "" {
			return application(instance)
		}
	}
	for _, entry := range obj.GetManagedFields() {
		if argoManagers[entry.Manager] {
			return application(labels.Get(instanceLabel))
		}
	}
	return Owner{}
}

// application returns the owner for the value of a mark of Argo CD: NAME, or NAMESPACE_NAME of an
// application outside the namespace of Argo CD.
func application(instance string) Owner {
	o := Owner{Kind: Application, Name: instance}
	if namespace, name, found := strings.Cut(instance, "_"); found && namespace != "" && name != "" {
		o.Namespace, o.Name = namespace, name
	}
	return o
}

// isCopied reports whether the tracking ID of an object is that of another one, from which the
// annotations were copied. That of an object without a namespace has the namespace of the
// application.
func isCopied(id string, obj *unstructured.Unstructured) bool {
	namespace, name, found := strings.Cut(id[strings.LastIndex(id, ":")+1:], "/")
	return found && (obj.GetName() != "" && obj.GetName() != name ||
		obj.GetNamespace() != "" && obj.GetNamespace() != namespace)
}
