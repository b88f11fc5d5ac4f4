package config

import "time"

// add appends the rules of a document. version is that of kapp.
func (c *Config) add(doc node, version string) {
	doc.get("minimumRequiredVersion").checkMinimumVersion(version)
	for number, rule := range doc.get("rebaseRules").items() {
		c.addRebase(rule, number)
	}
	for _, rule := range doc.get("waitRules").items() {
		c.waits.add(rule.matchers(), rule.wait())
	}
	addPaths(&c.owned, doc.get("ownershipLabelRules"), node.plainPath)
	for _, rule := range doc.get("labelScopingRules").items() {
		c.scoped.add(rule.matchers(), scope{rule.get("path").plainPath(), rule.get("isDefault").flag()})
	}
	for _, rule := range doc.get("templateRules").items() {
		c.templates.add(rule.matchers(), rule.references())
	}
	c.addLabels(doc.get("additionalLabels").labels())
	addPaths(&c.notApplied, doc.get("diffAgainstLastAppliedFieldExclusionRules"), node.wholePath)
	addPaths(&c.notCompared, doc.get("diffAgainstExistingFieldExclusionRules"), node.wholePath)
	addPaths(&c.masked, doc.get("diffMaskRules"), node.plainPath)
	for _, group := range doc.get("changeGroupBindings").items() {
		c.groups.add(group.matchers(), group.get("name").text())
	}
	for _, rule := range doc.get("changeRuleBindings").items() {
		c.bindings.add(rule.matchers(),
			binding{rule.get("rules").texts(), rule.get("ignoreIfCyclical").flag()})
	}
	for _, rule := range doc.get("preflightRules").items() {
		c.checks = append(c.checks, Check{rule.get("name").requiredText(), rule.get("config").fields()})
	}
}

// addPaths appends the rules of a section with matchers and a path.
func addPaths(to *table[path], section node, read func(node) path) {
	for _, rule := range section.items() {
		to.add(rule.matchers(), read(rule.get("path")))
	}
}

// duration reads a duration, 0 if there is none.
func (n node) duration() time.Duration {
	text := n.text()
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		n.addInvalid("expected a duration, such as 50s")
	}
	return d
}

// requiredText reads a string that must not be empty.
func (n node) requiredText() string {
	text := n.text()
	if text == "" {
		n.addInvalid("expected a text that is not empty")
	}
	return text
}
