package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/cluster"
)

// The values of the key permissionValidatorResource in the configuration of PermissionValidation.
const (
	accessReview = "SelfSubjectAccessReview"
	rulesReview  = "SelfSubjectRulesReview"
)

// defaultNamespace is the namespace whose permissions are listed for objects that have none.
const defaultNamespace = "default"

// ReadConfig reads the configuration of the named check, nil for none, and reports whether it wants
// a SelfSubjectRulesReview. The error has kapp's words.
func ReadConfig(name string, config map[string]any) (bool, error) {
	if name != PermissionValidation {
		return false, nil
	}
	var c struct {
		Resource string `json:"permissionValidatorResource"`
	}
	text, err := json.Marshal(config)
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return false, fmt.Errorf("setting preflight config %q: parsing permissions preflight config: %w",
			name, err)
	}
	if !slices.Contains([]string{"", accessReview, rulesReview}, c.Resource) {
		return false, fmt.Errorf("setting preflight config %q: unknown permissionValidatorType %q", name,
			c.Resource)
	}
	return c.Resource == rulesReview, nil
}

// ruleLists are the permissions of the user in namespaces, each listed once.
type ruleLists struct {
	reviewer cluster.Reader
	mu       sync.Mutex
	lists    map[string]func() ([]rule, error)
}

// allow reports whether the permissions of the user contain an access.
func (l *ruleLists) allow(ctx context.Context, q access) (bool, error) {
	namespace := q.namespace
	if namespace == "" {
		namespace = defaultNamespace
	}
	l.mu.Lock()
	list, ok := l.lists[namespace]
	if !ok {
		list = sync.OnceValues(func() ([]rule, error) { return l.list(ctx, namespace) })
		l.lists[namespace] = list
	}
	l.mu.Unlock()
	rules, err := list()
	return slices.ContainsFunc(rules, func(r rule) bool { return r.allows(q) }), err
}

func (l *ruleLists) list(ctx context.Context, namespace string) ([]rule, error) {
	status, err := l.reviewer.Rules(ctx, namespace)
	if err != nil {
		return nil, fmt.Errorf("creating selfsubjectrulesreview: %w", err)
	}
	var answer struct {
		Incomplete    bool   `json:"incomplete"`
		ResourceRules []rule `json:"resourceRules"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &answer); err != nil {
		return nil, fmt.Errorf("creating selfsubjectrulesreview: %w", err)
	}
	if answer.Incomplete {
		return nil, errors.New("selfsubjectrulesreview is incomplete")
	}
	return answer.ResourceRules, nil
}

// allows reports whether a rule contains an access.
func (r rule) allows(q access) bool {
	has := func(list []string, text string) bool {
		return slices.Contains(list, text) || slices.Contains(list, "*")
	}
	return has(r.Verbs, q.verb) && has(r.APIGroups, q.resource.Group) &&
		has(r.Resources, q.resource.Resource) &&
		(len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, q.name))
}
