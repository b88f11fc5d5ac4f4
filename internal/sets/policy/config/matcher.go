package config

import "slices"

// matcher reports whether a rule applies to an object.
type matcher interface {
	matches(s *subject) bool
	// kinds returns the only kinds that can match; named is false if any kind can.
	kinds() (kinds []string, named bool)
}

// anyKind is embedded in matchers that ignore the kind.
type anyKind struct{}

func (anyKind) kinds() ([]string, bool) { return nil, false }

type allMatcher struct{ anyKind }

func (allMatcher) matches(*subject) bool { return true }

// anyMatcher matches if one of its matchers does, and never without any.
type anyMatcher []matcher

func (m anyMatcher) matches(s *subject) bool {
	for _, one := range m {
		if one.matches(s) {
			return true
		}
	}
	return false
}

func (m anyMatcher) kinds() ([]string, bool) {
	var kinds []string
	for _, one := range m {
		more, named := one.kinds()
		if !named {
			return nil, false
		}
		for _, kind := range more {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds, true
}

// andMatcher matches if all of its matchers do.
type andMatcher []matcher

func (m andMatcher) matches(s *subject) bool {
	for _, one := range m {
		if !one.matches(s) {
			return false
		}
	}
	return true
}

func (m andMatcher) kinds() ([]string, bool) {
	for _, one := range m {
		if kinds, named := one.kinds(); named {
			return kinds, true
		}
	}
	return nil, false
}

type notMatcher struct {
	anyKind
	matcher matcher
}

func (m notMatcher) matches(s *subject) bool { return !m.matcher.matches(s) }

// kindMatcher matches objects of a kind in one API version or, if exact is false, in all versions
// of an API group.
type kindMatcher struct {
	api, kind string
	exact     bool
}

func (m kindMatcher) matches(s *subject) bool {
	f := s.facts()
	if m.exact {
		return f.apiVersion == m.api && f.kind == m.kind
	}
	return f.group == m.api && f.kind == m.kind
}

func (m kindMatcher) kinds() ([]string, bool) { return []string{m.kind}, true }

type nameMatcher struct{ kind, namespace, name string }

func (m nameMatcher) matches(s *subject) bool {
	f := s.facts()
	return f.kind == m.kind && f.name == m.name && f.namespace == m.namespace
}

func (m nameMatcher) kinds() ([]string, bool) { return []string{m.kind}, true }

// annotationMatcher matches objects that have all annotations, whatever their values.
type annotationMatcher struct {
	anyKind
	keys []string
}

func (m annotationMatcher) matches(s *subject) bool {
	f := s.facts()
	for _, key := range m.keys {
		if _, found := f.annotations[key]; !found {
			return false
		}
	}
	return true
}

// namespaceMatcher matches objects in one of the namespaces or, without names, in any namespace.
type namespaceMatcher struct {
	anyKind
	names []string
}

func (m namespaceMatcher) matches(s *subject) bool {
	namespace := s.facts().namespace
	return namespace != "" && (len(m.names) == 0 || slices.Contains(m.names, namespace))
}

// customMatcher matches objects of API groups that are not part of Kubernetes.
type customMatcher struct{ anyKind }

func (customMatcher) matches(s *subject) bool {
	switch s.facts().group {
	case "", "admissionregistration.k8s.io", "apiextensions.k8s.io", "apiregistration.k8s.io", "apps",
		"authentication.k8s.io", "authorization.k8s.io", "autoscaling", "batch", "certificates.k8s.io",
		"coordination.k8s.io", "discovery.k8s.io", "events.k8s.io", "extensions",
		"flowcontrol.apiserver.k8s.io", "internal.apiserver.k8s.io", "metrics.k8s.io",
		"migration.k8s.io", "networking.k8s.io", "node.k8s.io", "policy",
		"rbac.authorization.k8s.io", "scheduling.k8s.io",
		"storage.k8s.io":
		return false
	}
	return true
}

// emptyMatcher matches objects that have no value at any place of a path.
type emptyMatcher struct {
	anyKind
	path path
}

func (m emptyMatcher) matches(s *subject) bool { return empty(s.obj, m.path.parts) }

func empty(value any, parts []part) bool {
	if len(parts) == 0 {
		switch value := value.(type) {
		case nil:
			return true
		case []any:
			return len(value) == 0
		case map[string]any:
			return len(value) == 0
		}
		return false
	}
	first, rest := parts[0], parts[1:]
	if first.form == byKey {
		fields, ok := value.(map[string]any)
		if !ok {
			return value == nil
		}
		child, found := fields[first.key]
		return !found || empty(child, rest)
	}
	items, ok := value.([]any)
	if !ok {
		return value == nil
	}
	if first.form == byIndex {
		return first.index >= len(items) || empty(items[first.index], rest)
	}
	return !slices.ContainsFunc(items, func(item any) bool { return !empty(item, rest) })
}
