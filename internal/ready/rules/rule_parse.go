package rules

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parse reads one rule and checks that the required fields are set.
func (r *rule) parse(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return r.errorAt(node, errors.New("a rule must be an object"))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], resolveAlias(node.Content[i+1])
		if seen[key.Value] {
			return r.errorAt(key, fmt.Errorf("%s is set twice", key.Value))
		}
		seen[key.Value] = true
		if err := r.set(key.Value, value); err != nil {
			return r.errorAt(value, err)
		}
	}
	switch {
	case !seen["group"]:
		return r.errorAt(node, errors.New(`group is missing; the core group is written as ""`))
	case !seen["kind"]:
		return r.errorAt(node, errors.New("kind is missing"))
	case r.failed == nil && r.current == nil && r.inProgress == nil:
		return r.errorAt(node, errors.New("one of failed, current and inProgress is needed"))
	}
	return nil
}

// set sets one field of a rule.
func (r *rule) set(field string, value *yaml.Node) error {
	var target **expression
	switch field {
	case "group":
		return r.setGroup(value)
	case "kind":
		return r.setKinds(value)
	case "version":
		_, err := stringOf(field, value)
		return err
	case "ignoreGeneration":
		if value.Tag != "!!bool" || value.Decode(&r.ignoreGeneration) != nil {
			return fmt.Errorf("%s must be true or false", field)
		}
		return nil
	case "failed":
		target = &r.failed
	case "current":
		target = &r.current
	case "inProgress":
		target = &r.inProgress
	case "message":
		target = &r.message
	case "reason":
		target = &r.reason
	default:
		return fmt.Errorf("unknown field %q", field)
	}
	text, err := expressionOf(field, value)
	*target = text
	return err
}

// wildcard as a kind matches every kind; as the prefix of a group it matches any prefix.
const wildcard = "*"

func (r *rule) setGroup(value *yaml.Node) error {
	group, err := stringOf("group", value)
	if strings.Contains(strings.TrimPrefix(group, wildcard), wildcard) {
		return fmt.Errorf(`group %q: "*" may only stand at the beginning`, group)
	}
	r.group = group
	return err
}

// setKinds sets the kinds from a string or a list.
func (r *rule) setKinds(value *yaml.Node) error {
	nodes := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		nodes = value.Content
	}
	for _, node := range nodes {
		kind, err := stringOf("kind", resolveAlias(node))
		if err != nil {
			return err
		}
		if kind == "" {
			return errors.New("kind is empty")
		}
		r.kinds = append(r.kinds, kind)
	}
	if len(r.kinds) == 0 {
		return errors.New("kind is an empty list")
	}
	return nil
}

// expressionOf reads a CEL expression. To YAML it may be another scalar than a string, as true is.
func expressionOf(field string, value *yaml.Node) (*expression, error) {
	if value.Kind != yaml.ScalarNode || isNull(value) || strings.TrimSpace(value.Value) == "" {
		return nil, fmt.Errorf("%s must be a CEL expression", field)
	}
	line := value.Line
	if value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		line++ // a block begins below its indicator
	}
	return &expression{field: field, text: value.Value, line: line}, nil
}

func stringOf(field string, value *yaml.Node) (string, error) {
	if value.Kind != yaml.ScalarNode || value.Tag != "!!str" {
		return "", fmt.Errorf("%s must be a string", field)
	}
	return value.Value, nil
}

// errorAt prefixes an error with the place of a node.
func (r *rule) errorAt(node *yaml.Node, err error) error {
	return r.locate(node.Line, err)[0]
}
