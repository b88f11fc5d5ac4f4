package preflight

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rbac is the group of roles and bindings, which are checked in version 1.
const rbac = "rbac.authorization.k8s.io"

func rbacKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: rbac, Version: "v1", Kind: kind}
}

// grantKind is a kind whose objects grant permissions. A user with the verb may grant any
// permission; other users may grant the permissions that they have.
type grantKind struct {
	verb  string
	rules func(ctx context.Context, deps Cluster, obj *unstructured.Unstructured) ([]rule, error)
}

// grantKinds are the kinds that grant permissions.
var grantKinds = map[schema.GroupVersionKind]grantKind{
	rbacKind("Role"):               {"escalate", rulesOfRole},
	rbacKind("ClusterRole"):        {"escalate", rulesOfRole},
	rbacKind("RoleBinding"):        {"bind", rulesOfBinding},
	rbacKind("ClusterRoleBinding"): {"bind", rulesOfBinding},
}

// rule is one rule of a role.
type rule struct {
	Verbs           []string `json:"verbs"`
	APIGroups       []string `json:"apiGroups"`
	Resources       []string `json:"resources"`
	ResourceNames   []string `json:"resourceNames"`
	NonResourceURLs []string `json:"nonResourceURLs"`
}

// accesses returns the permissions of the rule, for one verb, group, resource and name each.
func (r rule) accesses(namespace string) []access {
	names := r.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	var out []access
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			for _, verb := range r.Verbs {
				for _, name := range names {
					out = append(out, access{verb, schema.GroupVersionResource{Group: group, Resource: resource},
						namespace, name})
				}
			}
		}
	}
	return out
}

func rulesOfRole(_ context.Context, _ Cluster, obj *unstructured.Unstructured) ([]rule, error) {
	rules, err := rulesIn(obj)
	if err != nil {
		return nil, fmt.Errorf("parsing rules for role: converting resource to typed %s object: %w",
			obj.GetKind(), err)
	}
	return rules, nil
}

func rulesIn(obj *unstructured.Unstructured) ([]rule, error) {
	var role struct {
		Rules []rule `json:"rules"`
	}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &role)
	return role.Rules, err
}

// rulesOfBinding returns the rules of the role that a binding names.
func rulesOfBinding(ctx context.Context, deps Cluster, obj *unstructured.Unstructured) (
	[]rule, error) {
	rules, err := readReferencedRole(ctx, deps, obj)
	if err != nil {
		return nil, fmt.Errorf("fetching rules for binding: %w", err)
	}
	return rules, nil
}

func readReferencedRole(ctx context.Context, deps Cluster, obj *unstructured.Unstructured) (
	[]rule, error) {
	var binding struct {
		RoleRef struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"roleRef"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, &binding); err != nil {
		return nil, fmt.Errorf("converting resource to typed %s object: %w", obj.GetKind(), err)
	}
	kind, name, namespace, resource := binding.RoleRef.Kind, binding.RoleRef.Name, "", "clusterroles"
	switch {
	case obj.GetKind() == "ClusterRoleBinding":
		kind = "ClusterRole"
	case kind == "Role":
		namespace, resource = obj.GetNamespace(), "roles"
	case kind != "ClusterRole":
		return nil, fmt.Errorf("unknown role reference kind: %q", kind)
	}
	role, err := deps.Get(ctx, rbacKind(kind), namespace, name)
	if err == nil && role == nil {
		err = fmt.Errorf("%s.%s %q not found", resource, rbac, name)
	}
	if err != nil {
		return nil, fmt.Errorf("fetching %s %q for %s %q: %w", kind, name, obj.GetKind(), obj.GetName(),
			err)
	}
	return rulesIn(role)
}
