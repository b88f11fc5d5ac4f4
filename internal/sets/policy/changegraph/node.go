package changegraph

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// NodeOf returns the change of an object. Its groups and rules are those of its annotations, in the
// order of their keys, then those of the configuration, with placeholders replaced. For a deletion,
// obj is the existing object.
func NodeOf(
	name string, op Op, obj *unstructured.Unstructured, conf Rules,
) (Node, error) {
	node, err := Read(obj, conf)
	if invalid := (*ruleError)(nil); errors.As(err, &invalid) {
		err = fmt.Errorf("Resource %s: %w", resource.Describe(obj), err)
	}
	if err != nil {
		return Node{}, fmt.Errorf("Change graph: Calculating required deps: %w", err)
	}
	node.Name, node.Op = name, op
	return node, nil
}

// Rules are the groups and rules of objects besides those of their annotations. Placeholders are
// not replaced.
type Rules interface {
	ChangeGroups(obj *unstructured.Unstructured) []string
	ChangeRules(obj *unstructured.Unstructured) []config.RuleBinding
}

// Read returns the groups and rules of an object as a Node without a name and an operation. The
// error does not name the object.
func Read(obj *unstructured.Unstructured, conf Rules) (Node, error) {
	r := reader{obj: obj}
	node := Node{}
	for _, text := range r.annotations(resource.AnnChangeGroup) {
		node.Groups = r.group(node.Groups, text)
	}
	for _, text := range conf.ChangeGroups(obj) {
		node.Groups = r.group(node.Groups, text)
	}
	for _, text := range r.annotations(resource.AnnChangeRule) {
		node.Rules = r.rule(node.Rules, text, false, 0)
	}
	for _, binding := range conf.ChangeRules(obj) {
		for _, text := range binding.Rules {
			node.Rules = r.rule(node.Rules, text, binding.Optional, binding.Weight)
		}
	}
	return node, r.err
}

// ruleError reports a rule that cannot be parsed.
type ruleError struct{ error }

func (e *ruleError) Unwrap() error { return e.error }

// reader reads the groups and rules of an object up to the first error.
type reader struct {
	obj *unstructured.Unstructured
	err error
}

// annotations returns the values of a key, and of the key with a suffix after a dot, in the order
// of the keys.
func (r *reader) annotations(key string) []string {
	field, _, _ := unstructured.NestedFieldNoCopy(r.obj.Object, "metadata", "annotations")
	all, _ := field.(map[string]any)
	var keys []string
	for name := range all {
		if suffix, ok := strings.CutPrefix(name, key); ok && (suffix == "" || suffix[0] == '.') {
			keys = append(keys, name)
		}
	}
	slices.Sort(keys)
	for i, name := range keys {
		keys[i], _ = all[name].(string)
	}
	return keys
}

func (r *reader) group(to []string, text string) []string {
	name := r.replaced(text)
	if r.err == nil {
		r.err = checkGroup(name)
	}
	return append(to, name)
}

func (r *reader) rule(to []Rule, text string, optional bool, weight int) []Rule {
	text = r.replaced(text)
	if r.err != nil {
		return to
	}
	rule, err := ParseRule(text)
	if err != nil {
		r.err = &ruleError{err}
	}
	rule.Optional, rule.Weight = optional, weight
	return append(to, rule)
}

// replaced returns text with the values of {api-group}, {kind}, {name}, {namespace}, {crd-kind} and
// {crd-group}.
func (r *reader) replaced(text string) string {
	rest := text
	var b strings.Builder
	for {
		open := strings.IndexByte(rest, '{')
		if open < 0 || len(rest) < open+2 {
			break
		}
		length := strings.IndexByte(rest[open+2:], '}')
		if length < 0 {
			break
		}
		end := open + 2 + length
		value := r.value(rest[open+1 : end])
		if value == "" && r.err == nil {
			r.err = fmt.Errorf("Placeholder %s does not have a value for target resource "+
				"(hint: placeholders with the 'crd-' prefix can only be used with CRDs)", rest[open:end+1])
		}
		b.WriteString(rest[:open])
		b.WriteString(value)
		rest = rest[end+1:]
	}
	if b.Len() == 0 && len(rest) == len(text) {
		return text
	}
	b.WriteString(rest)
	return b.String()
}

// value returns the value of a placeholder, or "" if there is none.
func (r *reader) value(placeholder string) string {
	gk := r.obj.GroupVersionKind().GroupKind()
	var field []string
	switch placeholder {
	case "api-group":
		return gk.Group
	case "kind":
		return r.obj.GetKind()
	case "namespace":
		return r.obj.GetNamespace()
	case "name":
		if name := r.obj.GetName(); name != "" || r.obj.GetGenerateName() == "" {
			return name
		}
		return r.obj.GetGenerateName() + "*"
	case "crd-kind":
		field = []string{"spec", "names", "kind"}
	case "crd-group":
		field = []string{"spec", "group"}
	}
	if field == nil || gk.Group != "apiextensions.k8s.io" || gk.Kind != "CustomResourceDefinition" {
		return ""
	}
	value, _, _ := unstructured.NestedString(r.obj.Object, field...)
	return value
}
