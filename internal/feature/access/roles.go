package access

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Roles returns manifests of roles that grant permissions: a Role for each namespace and a
// ClusterRole for the whole cluster, all with the same name.
func Roles(name string, permissions []Permission) []*unstructured.Unstructured {
	byNamespace := map[string][]Permission{}
	for _, p := range permissions {
		byNamespace[p.Namespace] = append(byNamespace[p.Namespace], p)
	}
	var roles []*unstructured.Unstructured
	for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
		role := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
			"rules": rulesOf(byNamespace[namespace]),
		}}
		role.SetName(name)
		if role.SetNamespace(namespace); namespace == "" {
			role.SetKind("ClusterRole")
		}
		roles = append(roles, role)
	}
	return roles
}

// rulesOf returns the rules for permissions in one namespace. Resources of a group with the same
// verbs share a rule.
func rulesOf(permissions []Permission) []any {
	permissions = slices.Clone(permissions)
	slices.SortFunc(permissions, Compare)
	type resource struct{ group, name string }
	var resources []resource // sorted, as the permissions are
	verbs := map[resource][]string{}
	for _, p := range permissions {
		r := resource{p.Group, p.Resource}
		if verbs[r] == nil {
			resources = append(resources, r)
		}
		verbs[r] = append(verbs[r], p.Verb)
	}
	var rules []any
	index := map[string]map[string]any{} // of rules, by group and verbs
	for _, r := range resources {
		key := r.group + " " + strings.Join(verbs[r], " ")
		same := index[key]
		if same == nil {
			same = map[string]any{
				"apiGroups": []any{r.group}, "resources": []any{}, "verbs": anys(verbs[r]),
			}
			index[key] = same
			rules = append(rules, same)
		}
		same["resources"] = append(same["resources"].([]any), r.name)
	}
	return rules
}

// anys returns texts as JSON values.
func anys(texts []string) []any {
	values := make([]any, len(texts))
	for i, text := range texts {
		values[i] = text
	}
	return values
}
