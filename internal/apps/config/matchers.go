package config

// matchers reads the matchers of a rule, of which one has to match. Without any, none does.
func (n node) matchers() anyMatcher { return n.get("resourceMatchers").anyOf() }

// anyOf reads a list of matchers.
func (n node) anyOf() anyMatcher {
	matchers := anyMatcher{}
	for _, item := range n.items() {
		matchers = append(matchers, item.matcher())
	}
	return matchers
}

// matcher reads one matcher. Where several are given in one entry, only the first in this order counts, as with kapp.
func (n node) matcher() matcher {
	if m := n.get("allMatcher"); m.set() {
		return allMatcher{}
	}
	if m := n.get("anyMatcher"); m.set() {
		return m.get("matchers").anyOf()
	}
	if m := n.get("andMatcher"); m.set() {
		return andMatcher(m.get("matchers").anyOf())
	}
	if m := n.get("notMatcher"); m.set() {
		return notMatcher{matcher: m.get("matcher").matcher()}
	}
	if m := n.get("kindNamespaceNameMatcher"); m.set() {
		return nameMatcher{m.get("kind").text(), m.get("namespace").text(), m.get("name").text()}
	}
	if m := n.get("apiGroupKindMatcher"); m.set() {
		return kindMatcher{m.get("apiGroup").text(), m.get("kind").text(), false}
	}
	if m := n.get("apiVersionKindMatcher"); m.set() {
		return kindMatcher{m.get("apiVersion").text(), m.get("kind").text(), true}
	}
	if m := n.get("hasAnnotationMatcher"); m.set() {
		return annotationMatcher{keys: m.get("keys").texts()}
	}
	if m := n.get("hasNamespaceMatcher"); m.set() {
		return namespaceMatcher{names: m.get("names").texts()}
	}
	if m := n.get("customResourceMatcher"); m.set() {
		return customMatcher{}
	}
	if m := n.get("emptyFieldMatcher"); m.set() {
		return emptyMatcher{path: m.get("path").plainPath()}
	}
	n.panics("one of allMatcher, anyMatcher, andMatcher, notMatcher, kindNamespaceNameMatcher, apiGroupKindMatcher, "+
		"apiVersionKindMatcher, hasAnnotationMatcher, hasNamespaceMatcher, customResourceMatcher and emptyFieldMatcher",
		"Unknown resource matcher specified")
	return allMatcher{}
}

// set tells whether a value is given that has to be a map, be it an empty one.
func (n node) set() bool {
	if _, ok := n.value.(map[string]any); !ok && n.value != nil {
		n.malformed("a map")
	}
	return n.value != nil
}
