// Package access finds out which permissions a user lacks, and describes the roles that grant them.
package access

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/cluster"
)

// Permission is one verb on one resource: in a namespace, or in the whole cluster if that is empty.
// Resource is a plural name, with the subresource: pods/log.
type Permission struct {
	Verb      string `json:"verb"`
	Group     string `json:"group"`
	Resource  string `json:"resource"`
	Namespace string `json:"namespace,omitempty"`
}

// String returns the permission as kubectl writes it: create deployments.apps in namespace shop.
func (p Permission) String() string {
	resource, sub, _ := strings.Cut(p.Resource, "/")
	if p.Group != "" {
		resource += "." + p.Group
	}
	if sub != "" {
		resource += "/" + sub
	}
	if p.Namespace == "" {
		return p.Verb + " " + resource + " in the whole cluster"
	}
	return p.Verb + " " + resource + " in namespace " + p.Namespace
}

// Compare compares permissions by namespace, group, resource and verb.
func Compare(a, b Permission) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Group, b.Group),
		cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Verb, b.Verb))
}

// concurrent is how many questions are asked at the same time.
const concurrent = 10

// Missing returns those of the permissions that the user does not have. It sends one request for
// each namespace, which lists rules, and one for each permission that the rules do not grant: a
// server may know more than it lists.
func Missing(
	ctx context.Context, c cluster.Reader, permissions []Permission,
) (map[Permission]bool, error) {
	namespaces := map[string][]rule{}
	for _, p := range permissions {
		if p.Namespace != "" {
			namespaces[p.Namespace] = nil
		}
	}
	var mu sync.Mutex
	reviews, reviewing := errgroup.WithContext(ctx)
	reviews.SetLimit(concurrent)
	for _, namespace := range slices.Sorted(maps.Keys(namespaces)) {
		reviews.Go(func() error {
			rules, err := listRules(reviewing, c, namespace)
			mu.Lock()
			defer mu.Unlock()
			namespaces[namespace] = rules
			return err
		})
	}
	if err := reviews.Wait(); err != nil {
		return nil, err
	}
	missing := map[Permission]bool{}
	questions, asking := errgroup.WithContext(ctx)
	questions.SetLimit(concurrent)
	for _, p := range permissions {
		if slices.ContainsFunc(namespaces[p.Namespace], func(r rule) bool { return r.grants(p) }) {
			continue
		}
		questions.Go(func() error {
			resource, sub, _ := strings.Cut(p.Resource, "/")
			allowed, err := c.Allowed(asking, p.Verb, p.Group, resource, sub, p.Namespace, "")
			mu.Lock()
			defer mu.Unlock()
			if err == nil && !allowed {
				missing[p] = true
			}
			return err
		})
	}
	return missing, questions.Wait()
}

// rule is a rule of a SelfSubjectRulesReview.
type rule struct {
	Verbs         []string `json:"verbs"`
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames"`
}

// listRules returns the rules that grant the user permissions in a namespace. They may be
// incomplete.
func listRules(ctx context.Context, c cluster.Reader, namespace string) ([]rule, error) {
	status, err := c.Rules(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var answer struct {
		ResourceRules []rule `json:"resourceRules"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &answer); err != nil {
		return nil, fmt.Errorf("read the permissions in namespace %s: %w", namespace, err)
	}
	return answer.ResourceRules, nil
}

// grants reports whether the rule grants a permission on all objects of the resource.
func (r rule) grants(p Permission) bool {
	has := func(list []string, text string) bool {
		return slices.Contains(list, text) || slices.Contains(list, "*")
	}
	return len(r.ResourceNames) == 0 && has(r.Verbs, p.Verb) && has(r.APIGroups, p.Group) &&
		has(r.Resources, p.Resource)
}
