package preflight

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// access is a permission to check. The version is for the error only.
type access struct {
	verb            string
	resource        schema.GroupVersionResource
	namespace, name string
}

// accessChecker checks each access once: creating and updating a role check the same rules.
type accessChecker struct {
	deps    Cluster
	listed  ruleLists
	mu      sync.Mutex
	answers map[access]func() error
}

// checkPermissions checks for every object whether it may be deleted, or created, updated and,
// with server-side apply, patched.
func checkPermissions(ctx context.Context, subjects []PlannedWrite, deps Cluster) error {
	p := &accessChecker{deps: deps, answers: map[access]func() error{},
		listed: ruleLists{reviewer: deps.Reviewer, lists: map[string]func() ([]rule, error){}}}
	return forEach(ctx, len(subjects), func(i int) error {
		obj := subjects[i].object()
		rules := sync.OnceValues(func() ([]rule, error) {
			return grantKinds[obj.GroupVersionKind()].rules(ctx, deps, obj)
		})
		if subjects[i].Delete {
			return p.check(ctx, obj, "delete", nil)
		}
		errs := []error{p.check(ctx, obj, "create", rules), p.check(ctx, obj, "update", rules)}
		if deps.ServerSideApply {
			errs = append(errs, p.check(ctx, obj, "patch", rules))
		}
		return errors.Join(errs...)
	})
}

// allowed returns nil if the user has an access.
func (p *accessChecker) allowed(ctx context.Context, q access) error {
	p.mu.Lock()
	answer, ok := p.answers[q]
	if !ok {
		answer = sync.OnceValue(func() error { return p.ask(ctx, q) })
		p.answers[q] = answer
	}
	p.mu.Unlock()
	return answer()
}

func (p *accessChecker) ask(ctx context.Context, q access) error {
	allowed, err := p.review(ctx, q)
	if err != nil {
		return err
	}
	if !allowed {
		return fmt.Errorf("not permitted to %q %s", q.verb, q.resource)
	}
	return nil
}

// review returns the server's answer about an access.
func (p *accessChecker) review(ctx context.Context, q access) (bool, error) {
	if p.deps.RulesReview {
		return p.listed.allow(ctx, q)
	}
	resource, sub, _ := strings.Cut(q.resource.Resource, "/")
	allowed, err := p.deps.Reviewer.Allowed(ctx, q.verb, q.resource.Group, resource, sub, q.namespace,
		q.name)
	if err != nil {
		return false, fmt.Errorf("unable to validate permissions: %w", err)
	}
	return allowed, nil
}

// check checks a verb on an object. Writing a role or a binding needs the verb to grant
// permissions, or all permissions that it grants, which rules returns.
func (p *accessChecker) check(ctx context.Context, obj *unstructured.Unstructured, verb string,
	rules func() ([]rule, error)) error {
	gvk := obj.GroupVersionKind()
	resource, ok, err := p.deps.Resource(ctx, gvk)
	if err == nil && !ok {
		err = &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	if err != nil {
		return err
	}
	q := access{verb, resource, obj.GetNamespace(), obj.GetName()}
	guarded, ok := grantKinds[gvk]
	if !ok || verb == "delete" {
		return p.allowed(ctx, q)
	}
	grant := q
	grant.verb = guarded.verb
	if p.allowed(ctx, grant) == nil {
		return nil
	}
	if err := p.allowed(ctx, q); err != nil {
		return err
	}
	given, err := rules()
	if err != nil {
		return err
	}
	if missing := p.checkRules(ctx, given, obj.GetNamespace()); missing != nil {
		err := fmt.Errorf("potential privilege escalation, not permitted to %q %s", verb, gvk)
		return errors.Join(err, missing)
	}
	return nil
}

// checkRules returns an error with all permissions of the rules that the user does not have.
func (p *accessChecker) checkRules(ctx context.Context, rules []rule, namespace string) error {
	var failed []error
	for _, r := range rules {
		for _, q := range r.accesses(namespace) {
			failed = append(failed, p.allowed(ctx, q))
		}
		if len(r.NonResourceURLs) > 0 {
			failed = append(failed, fmt.Errorf("unable to validate permissions: "+
				"a rule gives URLs that are no resources (%s), for which there is no check",
				strings.Join(r.NonResourceURLs, ", ")))
		}
	}
	return errors.Join(failed...)
}
