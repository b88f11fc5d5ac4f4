package access_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/access"
)

// reviewer lists the rules of one namespace, and knows more than it lists.
type reviewer struct {
	cluster.Reader // its other methods are not called

	mu    sync.Mutex
	asked []string
}

func (r *reviewer) Rules(_ context.Context, namespace string) (map[string]any, error) {
	if namespace == "broken" {
		return nil, fmt.Errorf("no rules")
	}
	if namespace != "shop" {
		return map[string]any{"incomplete": true}, nil
	}
	rule := func(group, resource string, verbs ...any) map[string]any {
		return map[string]any{
			"apiGroups": []any{group}, "resources": []any{resource}, "verbs": verbs,
		}
	}
	named := rule("", "secrets", "*")
	named["resourceNames"] = []any{"one"}
	return map[string]any{"resourceRules": []any{
		rule("apps", "*", "get", "list"), rule("", "configmaps", "*"), named,
	}}, nil
}

func (r *reviewer) Allowed(
	_ context.Context, verb, group, resource, subresource, namespace, name string,
) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, strings.Join([]string{verb, group, resource, subresource, namespace,
		name}, ","))
	return verb == "delete", nil
}

// What the rules give is not asked for, and what the server allows beyond them is not missing.
func TestMissing(t *testing.T) {
	permissions := []access.Permission{
		{"get", "apps", "deployments", "shop"},
		{"create", "apps", "deployments", "shop"},
		{"delete", "apps", "deployments", "shop"},
		{"patch", "", "configmaps", "shop"},
		{"get", "", "secrets", "shop"},
		{"get", "", "pods/log", "other"},
		{"list", "", "namespaces", ""},
	}
	r := &reviewer{}
	missing, err := access.Missing(t.Context(), r, permissions)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range permissions {
		if missing[p] {
			got = append(got, p.String())
		}
	}
	want := []string{
		"create deployments.apps in namespace shop", "get secrets in namespace shop",
		"get pods/log in namespace other", "list namespaces in the whole cluster",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	slices.Sort(r.asked)
	asked := []string{
		"create,apps,deployments,,shop,", "delete,apps,deployments,,shop,", "get,,pods,log,other,",
		"get,,secrets,,shop,", "list,,namespaces,,,",
	}
	if diff := cmp.Diff(asked, r.asked); diff != "" {
		t.Error(diff)
	}
	broken := []access.Permission{{"get", "", "secrets", "broken"}}
	if _, err := access.Missing(t.Context(), r, broken); err == nil {
		t.Error("a server that lists no rules is no error")
	}
}

func TestRoles(t *testing.T) {
	roles := access.Roles("muster-shop", []access.Permission{
		{"list", "", "namespaces", ""},
		{"patch", "apps", "statefulsets", "shop"},
		{"create", "apps", "statefulsets", "shop"},
		{"create", "apps", "deployments", "shop"},
		{"patch", "apps", "deployments", "shop"},
		{"create", "", "services", "shop"},
	})
	var got []map[string]any
	for _, role := range roles {
		got = append(got, role.Object)
	}
	rule := func(group string, resources, verbs []any) any {
		return map[string]any{"apiGroups": []any{group}, "resources": resources, "verbs": verbs}
	}
	want := []map[string]any{{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
		"metadata": map[string]any{"name": "muster-shop"},
		"rules":    []any{rule("", []any{"namespaces"}, []any{"list"})},
	}, {
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
		"metadata": map[string]any{"name": "muster-shop", "namespace": "shop"},
		"rules": []any{
			rule("", []any{"services"}, []any{"create"}),
			rule("apps", []any{"deployments", "statefulsets"}, []any{"create", "patch"}),
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
