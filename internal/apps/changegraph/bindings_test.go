package changegraph

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// bindings puts objects into groups and under rules by tests of them, as a configuration does.
type bindings struct {
	groups []groupBinding
	rules  []ruleBinding
}

type groupBinding struct {
	name  string
	takes func(*unstructured.Unstructured) bool
}

type ruleBinding struct {
	rules    []string
	optional bool
	takes    func(*unstructured.Unstructured) bool
}

// namedBinding stands for the type that a configuration gives its bindings.
type namedBinding struct {
	Rules    []string
	Optional bool
	Weight   int
}

func (b *bindings) ChangeGroups(obj *unstructured.Unstructured) []string {
	var names []string
	for _, group := range b.groups {
		if group.takes(obj) {
			names = append(names, group.name)
		}
	}
	return names
}

func (b *bindings) ChangeRules(obj *unstructured.Unstructured) []namedBinding {
	var found []namedBinding
	for i, rule := range b.rules {
		if rule.takes(obj) {
			found = append(found, namedBinding{rule.rules, rule.optional, 100 + i})
		}
	}
	return found
}

func kinds(names ...string) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool { return slices.Contains(names, obj.GetKind()) }
}

// defaults has the shape of the bindings that kapp has built in.
func defaults() *bindings {
	const prefix = "change-groups.kapp.k14s.io/"
	crd, roles, roleBindings := kinds("CustomResourceDefinition"), kinds("ClusterRole", "Role"), kinds("ClusterRoleBinding", "RoleBinding")
	volumes, account, rbac := kinds("PersistentVolume", "PersistentVolumeClaim"), kinds("ServiceAccount"), kinds("ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding")
	related := kinds("NetworkPolicy", "ResourceQuota", "LimitRange", "PodDisruptionBudget", "PriorityClass", "ServiceAccount", "Secret", "ConfigMap")
	custom := func(obj *unstructured.Unstructured) bool {
		group := obj.GroupVersionKind().Group
		return strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io")
	}
	not := func(takes func(*unstructured.Unstructured) bool) func(*unstructured.Unstructured) bool {
		return func(obj *unstructured.Unstructured) bool { return !takes(obj) }
	}
	all := func(tests ...func(*unstructured.Unstructured) bool) func(*unstructured.Unstructured) bool {
		return func(obj *unstructured.Unstructured) bool {
			return !slices.ContainsFunc(tests, func(takes func(*unstructured.Unstructured) bool) bool { return !takes(obj) })
		}
	}
	namespaced := func(obj *unstructured.Unstructured) bool { return obj.GetNamespace() != "" }
	enabled := func(obj *unstructured.Unstructured) bool {
		_, ok := obj.GetAnnotations()["kapp.k14s.io/disable-default-change-group-and-rules"]
		return !ok
	}
	return &bindings{
		groups: []groupBinding{
			{prefix + "crds", crd},
			{prefix + "crds-{crd-group}-{crd-kind}", crd},
			{prefix + "namespaces", kinds("Namespace")},
			{prefix + "namespaces-{name}", kinds("Namespace")},
			{prefix + "storage", volumes},
			{prefix + "rbac-roles", roles},
			{prefix + "rbac-role-bindings", roleBindings},
			{prefix + "rbac", rbac},
			{prefix + "pod-related", related},
			{prefix + "serviceaccount", account},
			{prefix + "kapp-controller-app", kinds("App")},
			{prefix + "kapp-controller-packageinstall", kinds("PackageInstall")},
		},
		rules: []ruleBinding{
			{[]string{"upsert after upserting " + prefix + "crds-{api-group}-{kind}"}, false, all(custom, enabled)},
			{[]string{"delete before deleting " + prefix + "crds"}, true, all(custom, enabled)},
			{[]string{"delete after deleting " + prefix + "crds"}, true, all(not(custom), not(crd), enabled)},
			{[]string{"upsert after upserting " + prefix + "namespaces-{namespace}"}, false, all(namespaced, enabled)},
			{[]string{"delete before deleting " + prefix + "namespaces-{namespace}"}, true, all(account, enabled)},
			{[]string{"upsert after upserting " + prefix + "rbac-roles"}, true, all(roleBindings, enabled)},
			{[]string{"upsert before upserting " + prefix + "kapp-controller-packageinstall", "upsert before upserting " + prefix + "kapp-controller-app",
				"delete after deleting " + prefix + "kapp-controller-packageinstall", "delete after deleting " + prefix + "kapp-controller-app"},
				true, all(kinds("ServiceAccount", "ClusterRole", "Role", "ClusterRoleBinding", "RoleBinding"), enabled)},
			{[]string{"upsert after upserting " + prefix + "storage-class"}, true, volumes},
			{[]string{"upsert after upserting " + prefix + "pod-related", "upsert after upserting " + prefix + "rbac",
				"upsert after upserting " + prefix + "storage-class", "upsert after upserting " + prefix + "storage"},
				true, all(namespaced, not(volumes), not(rbac), not(related))},
		},
	}
}

// parseBindings reads lines as "group NAME: KIND KIND", "rule: KIND: TEXT" and "optional: KIND: TEXT; TEXT", or "defaults" for
// those that are built in.
func parseBindings(text string) *bindings {
	b := &bindings{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, ": ")
		switch {
		case line == "defaults":
			b = defaults()
		case strings.HasPrefix(word, "group "):
			b.groups = append(b.groups, groupBinding{strings.TrimPrefix(word, "group "), kinds(strings.Fields(rest)...)})
		case word == "rule", word == "optional":
			takes, rules, _ := strings.Cut(rest, ": ")
			b.rules = append(b.rules, ruleBinding{strings.Split(rules, "; "), word == "optional", kinds(strings.Fields(takes)...)})
		default:
			panic("no binding: " + line)
		}
	}
	return b
}
