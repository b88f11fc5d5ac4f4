package config

import (
	"fmt"
	"maps"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/sets/policy/ytt"
)

// rebaseRule is a rule that copies or removes a path, or an overlay.
type rebaseRule struct {
	path    path
	sources []source // of a copied path, in order of preference
	remove  bool
	overlay *string
}

// source is the object that a value is copied from.
type source int

const (
	fromNew source = iota
	fromExisting
)

// Rebase returns the object that replaces existing: a copy of new, changed by the rebase rules in
// order. Each rule is matched against the result of the rules before it. Without an existing
// object the result is a copy. The arguments do not change and share nothing with the result.
func (c *Config) Rebase(existing, new *unstructured.Unstructured) (
	*unstructured.Unstructured, error) {
	return c.rebase(existing, new, false)
}

// rebase returns what Rebase does. If named is set, items of lists are paired by their names.
func (c *Config) rebase(existing, new *unstructured.Unstructured, named bool) (
	*unstructured.Unstructured, error) {
	result := new.DeepCopy()
	if existing == nil {
		return result, nil
	}
	var sources []map[string]any
	for _, step := range c.rebases.matching(result.Object) {
		var err error
		switch {
		case step.overlay != nil:
			err = applyOverlay(result, existing, new, *step.overlay)
		case step.remove:
			err = remove(step.path, result.Object)
		default:
			sources = sources[:0]
			for _, from := range step.sources {
				sources = append(sources,
					[...]map[string]any{fromNew: new.Object, fromExisting: existing.Object}[from])
			}
			p := step.path
			p.named = named
			err = copyPath(p, result.Object, sources)
		}
		if err != nil {
			return nil, err
		}
	}
	return result, nil
}

// applyOverlay replaces an object by the result of an overlay. The overlay reads the live object
// without its identity annotation.
func applyOverlay(result, existing, new *unstructured.Unstructured, text string) error {
	live := object.WithMetadata(existing, func(metadata map[string]any) {
		annotations, _ := metadata["annotations"].(map[string]any)
		delete(annotations, resource.AnnIdentity)
	}).Object
	made, err := ytt.ApplyOverlay(result.Object, text,
		map[string]any{"existing": live, "new": new.Object, "_current": result.Object})
	if err != nil {
		said := object.HideValues(new, object.HideValues(existing, err.Error()))
		return fmt.Errorf("Applying ytt (overlayContractV1): resource '%s': %s",
			resource.Describe(result), said)
	}
	clear(result.Object)
	maps.Copy(result.Object, made)
	return nil
}

// addRebase appends a rebase rule. number is its index in the document for kapp's errors.
func (c *Config) addRebase(rule node, number int) {
	invalid := func(words string) {
		rule.kappError("Validating rebase rule " + strconv.Itoa(number) + ": " + words)
	}
	matchers, kind, sources := rule.matchers(), rule.get("type"), rule.get("sources").sources()
	paths := rule.paths(invalid)
	if contract := rule.get("ytt"); contract.isSet() {
		if len(paths) > 0 || kind.text() != "" || len(sources) > 0 {
			invalid("Expected only resourceMatchers specified with ytt configuration")
		}
		text := contract.contract("rebase rule", "overlayContractV1", "overlay.yml")
		c.rebases.add(matchers, rebaseRule{overlay: &text})
		c.overlaid = append(c.overlaid, rule.where)
		return
	}
	if len(paths) == 0 {
		invalid("Expected either path or paths to be specified")
	}
	if kind.text() != "copy" && kind.text() != "remove" {
		kind.addInvalid("Unknown rebase rule type: " + kind.text() + " (supported: copy, remove)")
	}
	for _, p := range paths {
		c.rebases.add(matchers, rebaseRule{path: p, sources: sources, remove: kind.text() == "remove"})
	}
}

// paths reads the path of a rule, or its paths.
func (n node) paths(invalid func(words string)) []path {
	one, many := n.get("path").path(), n.get("paths").items()
	var paths []path
	if len(one.parts) > 0 {
		paths = append(paths, one)
	}
	if len(one.parts) > 0 && len(many) > 0 {
		invalid("Expected only one of path or paths specified")
	}
	for _, each := range many {
		paths = append(paths, each.wholePath())
	}
	return paths
}

func (n node) sources() []source {
	var origins []source
	for _, item := range n.items() {
		switch item.text() {
		case "new":
			origins = append(origins, fromNew)
		case "existing":
			origins = append(origins, fromExisting)
		default:
			item.addInvalid("expected new or existing, but found " + strconv.Quote(item.text()))
		}
	}
	return origins
}

// contract reads the script of a rule, which is stored under the version of a contract with ytt.
func (n node) contract(rule, name, file string) string {
	contract := n.get(name)
	if !contract.isSet() {
		n.addInvalid("Unknown " + rule + " ytt contract (supported: " + name + ")")
	}
	return contract.get(file).text()
}
