package input

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// setNamespaces sets the namespaces of namespaced objects and removes those of all others.
func (p Preparation) setNamespaces(all []resource.Resource) error {
	mapped, err := p.parseMapNs()
	if err != nil {
		return err
	}
	scopes := p.scopes(all)
	for _, r := range all {
		namespaced, err := scopes.isNamespaced(r.Unstructured)
		if err != nil {
			return err
		}
		if !namespaced {
			unstructured.RemoveNestedField(r.Object, "metadata", "namespace")
			continue
		}
		namespace := r.GetNamespace()
		if namespace == "" {
			namespace = p.Namespace
		}
		if p.IntoNs != "" {
			namespace = p.IntoNs
		}
		if len(mapped) > 0 {
			to, ok := mapped[namespace]
			if !ok {
				return fmt.Errorf("Expected to find mapped namespace for '%s'", namespace)
			}
			namespace = to
		}
		if namespace != r.GetNamespace() {
			r.SetNamespace(namespace)
		}
	}
	return nil
}

// parseMapNs parses MapNs.
func (p Preparation) parseMapNs() (map[string]string, error) {
	mapped := make(map[string]string, len(p.MapNs))
	for _, text := range p.MapNs {
		from, to, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("Expected map namespace '%s' to be in 'src-ns=dst-ns' format", text)
		}
		mapped[from] = to
	}
	return mapped, nil
}

// CheckNamespaces returns an error with all objects outside the allowed namespaces. The objects
// are those that Run returned.
func (p Preparation) CheckNamespaces(all []resource.Resource) error {
	if !p.AllowCheck {
		return nil
	}
	mapped, err := p.parseMapNs()
	if err != nil {
		return err
	}
	allowed := append([]string{p.Namespace, p.IntoNs}, p.AllowNs...)
	for _, to := range mapped {
		allowed = append(allowed, to)
	}
	everywhere := p.AllowAllNs && len(p.AllowNs) == 0
	var problems []string
	for _, r := range all {
		namespace := r.GetNamespace()
		switch {
		case namespace == "" && !p.AllowCluster:
			problems = append(problems, fmt.Sprintf("Cluster level resource '%s' is not allowed (%s)",
				resource.Describe(r.Unstructured), r.Origin))
		case namespace != "" && !everywhere && !slices.Contains(allowed, namespace):
			problems = append(problems, fmt.Sprintf("Resource '%s' is outside of allowed namespaces (%s)",
				resource.Describe(r.Unstructured), r.Origin))
		}
	}
	return joinProblems("Validation", problems)
}

// scopes caches which kinds are namespaced.
type scopes struct {
	known map[schema.GroupVersionKind]bool
	ask   func(schema.GroupVersionKind) (namespaced, known bool, err error)
}

// scopes returns the scopes of the kinds that the objects define, in all versions. These take
// precedence over the cluster.
func (p Preparation) scopes(all []resource.Resource) *scopes {
	s := &scopes{known: map[schema.GroupVersionKind]bool{}, ask: p.Kinds}
	for _, r := range all {
		gk := r.GroupVersionKind().GroupKind()
		if gk.Group != "apiextensions.k8s.io" || gk.Kind != "CustomResourceDefinition" {
			continue
		}
		for _, gvk := range definedKinds(r.Object) {
			spec, _ := r.Object["spec"].(map[string]any)
			s.known[gvk] = spec["scope"] == "Namespaced"
		}
	}
	return s
}

// definedKinds returns the kinds of a definition: those of all versions, and of the single version
// in old definitions.
func definedKinds(definition map[string]any) []schema.GroupVersionKind {
	group, _, _ := unstructured.NestedString(definition, "spec", "group")
	kind, _, _ := unstructured.NestedString(definition, "spec", "names", "kind")
	var kinds []schema.GroupVersionKind
	if version, _, _ := unstructured.NestedString(definition, "spec", "version"); version != "" {
		kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	}
	list, _, _ := unstructured.NestedFieldNoCopy(definition, "spec", "versions")
	versions, _ := list.([]any)
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		if name, _ := fields["name"].(string); name != "" {
			kinds = append(kinds, schema.GroupVersionKind{Group: group, Version: name, Kind: kind})
		}
	}
	return kinds
}

// isNamespaced reports whether the kind of an object is namespaced.
func (s *scopes) isNamespaced(obj *unstructured.Unstructured) (bool, error) {
	gv, err := schema.ParseGroupVersion(obj.GetAPIVersion())
	if err != nil {
		return false, unknownKindError(obj)
	}
	gvk := gv.WithKind(obj.GetKind())
	if namespaced, ok := s.known[gvk]; ok {
		return namespaced, nil
	}
	namespaced, ok, err := s.ask(gvk)
	if err != nil {
		return false, err
	}
	if !ok {
		return false, unknownKindError(obj)
	}
	s.known[gvk] = namespaced
	return namespaced, nil
}

// unknownKindError returns the error for an object of an unknown kind.
func unknownKindError(obj *unstructured.Unstructured) error {
	version := obj.GetAPIVersion()
	if !strings.Contains(version, "/") {
		version = "/" + version
	}
	return fmt.Errorf("Expected to find kind '%s/%s', but did not:\n"+
		"- Kubernetes API server did not have matching apiVersion + kind\n"+
		"- No matching CRD was found in given configuration", version, obj.GetKind())
}
