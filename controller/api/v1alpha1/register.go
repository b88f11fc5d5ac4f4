package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the kinds of this package.
var GroupVersion = schema.GroupVersion{Group: "muster.dev", Version: "v1alpha1"}

// AddToScheme adds the kinds to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion, &Set{}, &SetList{})
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
