package preflight

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// rbac is the group in whose version 1 roles and bindings are checked.
const rbac = "rbac.authorization.k8s.io"

func rbacKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: rbac, Version: "v1", Kind: kind}
}

// giver is a kind whose objects give permissions: who may do the verb to it may give any; others those that the rules say, if
// they have them.
type grantKind struct {
	verb  string
	rules func(ctx context.Context, deps Cluster, obj *unstructured.Unstructured) ([]rule, error)
}

// giving are these kinds.
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

// questions are what the rule gives, broken down to one verb, group, resource and name.
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
					out = append(out, access{verb, schema.GroupVersionResource{Group: group, Resource: resource}, namespace, name})
				}
			}
		}
	}
	return out
}

func rulesOfRole(_ context.Context, _ Cluster, obj *unstructured.Unstructured) ([]rule, error) {
	rules, err := rulesIn(obj)
	if err != nil {
		return nil, fmt.Errorf("parsing rules for role: converting resource to typed %s object: %w", obj.GetKind(), err)
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

// rulesOfBinding reads the role that a binding names from the cluster.
func rulesOfBinding(ctx context.Context, deps Cluster, obj *unstructured.Unstructured) ([]rule, error) {
	rules, err := readReferencedRole(ctx, deps, obj)
	if err != nil {
		return nil, fmt.Errorf("fetching rules for binding: %w", err)
	}
	return rules, nil
}

func readReferencedRole(ctx context.Context, deps Cluster, obj *unstructured.Unstructured) ([]rule, error) {
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
		return nil, fmt.Errorf("fetching %s %q for %s %q: %w", kind, name, obj.GetKind(), obj.GetName(), err)
	}
	return rulesIn(role)
}
