package ready

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// read takes one rule out of a file and checks that it has what every rule needs.
func (w *written) read(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return w.wrong(node, errors.New("a rule must be an object"))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], resolve(node.Content[i+1])
		if seen[key.Value] {
			return w.wrong(key, fmt.Errorf("%s is given twice", key.Value))
		}
		seen[key.Value] = true
		if err := w.set(key.Value, value); err != nil {
			return w.wrong(value, err)
		}
	}
	switch {
	case !seen["group"]:
		return w.wrong(node, errors.New(`group is missing; the core group is written as ""`))
	case !seen["kind"]:
		return w.wrong(node, errors.New("kind is missing"))
	case w.failed == nil && w.current == nil && w.inProgress == nil:
		return w.wrong(node, errors.New("one of failed, current and inProgress is needed"))
	}
	return nil
}

// set takes in one field of a rule.
func (w *written) set(field string, value *yaml.Node) error {
	var target **expression
	switch field {
	case "group":
		return w.setGroup(value)
	case "kind":
		return w.setKinds(value)
	case "version":
		_, err := stringOf(field, value)
		return err
	case "ignoreGeneration":
		if value.Tag != "!!bool" || value.Decode(&w.ignoreGeneration) != nil {
			return fmt.Errorf("%s must be true or false", field)
		}
		return nil
	case "failed":
		target = &w.failed
	case "current":
		target = &w.current
	case "inProgress":
		target = &w.inProgress
	case "message":
		target = &w.message
	case "reason":
		target = &w.reason
	default:
		return fmt.Errorf("unknown field %q", field)
	}
	text, err := expressionOf(field, value)
	*target = text
	return err
}

func (w *written) setGroup(value *yaml.Node) error {
	group, err := stringOf("group", value)
	if strings.Contains(strings.TrimPrefix(group, anything), anything) {
		return fmt.Errorf(`group %q: "*" may only stand at the beginning`, group)
	}
	w.group = group
	return err
}

// setKinds takes one kind or a list of kinds.
func (w *written) setKinds(value *yaml.Node) error {
	nodes := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		nodes = value.Content
	}
	for _, node := range nodes {
		kind, err := stringOf("kind", resolve(node))
		if err != nil {
			return err
		}
		if kind == "" {
			return errors.New("kind is empty")
		}
		w.kinds = append(w.kinds, kind)
	}
	if len(w.kinds) == 0 {
		return errors.New("kind is an empty list")
	}
	return nil
}

// expressionOf takes a CEL expression. YAML may take it for something else than a string, as the expression true.
func expressionOf(field string, value *yaml.Node) (*expression, error) {
	if value.Kind != yaml.ScalarNode || isNull(value) || strings.TrimSpace(value.Value) == "" {
		return nil, fmt.Errorf("%s must be a CEL expression", field)
	}
	line := value.Line
	if value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
		line++ // a block begins below its mark
	}
	return &expression{field: field, text: value.Value, line: line}, nil
}

func stringOf(field string, value *yaml.Node) (string, error) {
	if value.Kind != yaml.ScalarNode || value.Tag != "!!str" {
		return "", fmt.Errorf("%s must be a string", field)
	}
	return value.Value, nil
}

// wrong puts the place of a node before an error.
func (w *written) wrong(node *yaml.Node, err error) error {
	return w.locate(node.Line, err)[0]
}
