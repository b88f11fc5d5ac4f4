package config

// matchers reads the matchers of a rule, of which one has to match. Without matchers none does.
func (n node) matchers() anyMatcher { return n.get("resourceMatchers").matcherList() }

// matcherList reads a list of matchers.
func (n node) matcherList() anyMatcher {
	matchers := anyMatcher{}
	for _, item := range n.items() {
		matchers = append(matchers, item.matcher())
	}
	return matchers
}

// matcher reads one matcher. Like kapp, it ignores all but the first in this order.
func (n node) matcher() matcher {
	if m := n.get("allMatcher"); m.isSet() {
		return allMatcher{}
	}
	if m := n.get("anyMatcher"); m.isSet() {
		return m.get("matchers").matcherList()
	}
	if m := n.get("andMatcher"); m.isSet() {
		return andMatcher(m.get("matchers").matcherList())
	}
	if m := n.get("notMatcher"); m.isSet() {
		return notMatcher{matcher: m.get("matcher").matcher()}
	}
	if m := n.get("kindNamespaceNameMatcher"); m.isSet() {
		return nameMatcher{m.get("kind").text(), m.get("namespace").text(), m.get("name").text()}
	}
	if m := n.get("apiGroupKindMatcher"); m.isSet() {
		return kindMatcher{m.get("apiGroup").text(), m.get("kind").text(), false}
	}
	if m := n.get("apiVersionKindMatcher"); m.isSet() {
		return kindMatcher{m.get("apiVersion").text(), m.get("kind").text(), true}
	}
	if m := n.get("hasAnnotationMatcher"); m.isSet() {
		return annotationMatcher{keys: m.get("keys").texts()}
	}
	if m := n.get("hasNamespaceMatcher"); m.isSet() {
		return namespaceMatcher{names: m.get("names").texts()}
	}
	if m := n.get("customResourceMatcher"); m.isSet() {
		return customMatcher{}
	}
	if m := n.get("emptyFieldMatcher"); m.isSet() {
		return emptyMatcher{path: m.get("path").plainPath()}
	}
	n.panicError("one of allMatcher, anyMatcher, andMatcher, notMatcher, kindNamespaceNameMatcher, "+
		"apiGroupKindMatcher, apiVersionKindMatcher, hasAnnotationMatcher, hasNamespaceMatcher, "+
		"customResourceMatcher and emptyFieldMatcher",
		"Unknown resource matcher specified")
	return allMatcher{}
}

// isSet reports whether there is a value, which has to be a map and may be empty.
func (n node) isSet() bool {
	if _, ok := n.value.(map[string]any); !ok && n.value != nil {
		n.addMalformed("a map")
	}
	return n.value != nil
}
