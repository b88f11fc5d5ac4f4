// Package rules reads readiness rules as data: the rules that users write in YAML with CEL
// expressions (Parse), and the rules for well-known operators that come with muster (Builtin).
//
// In goes text; out come rules for ready.Of. The package reads no files but its embedded ones.
package rules

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
	"github.com/muster-deploy/muster/internal/ready"
)

// Parse reads rules that users write. A file is a list of rules, or an object with such a list
// under "rules":
//
//	rules:
//	- group: example.com      # "" is the core group, "*.example.com" all groups that end like this
//	  kind: Database          # or a list of kinds; "*" is every kind
//	  failed: self.status.phase == "Broken"
//	  current: condition(self, "Ready").status == "True"
//	  inProgress: has(self.status)
//	  message: condition(self, "Ready").message
//	  reason: condition(self, "Ready").reason
//
// The conditions failed, current and inProgress are evaluated in this order, and the first that
// holds decides. Each is optional, but one is required. If none holds, the next rule decides, with
// two exceptions. If a rule has current and no inProgress, every other object is in progress. If
// current or inProgress cannot be evaluated, most often because a field is missing, the object is
// in progress, and the message names what is missing. Any other error of evaluation means that the
// condition does not hold.
//
// All fields but group, kind, version and ignoreGeneration are CEL expressions over self, the
// object, as in the validation rules of custom resource definitions. They may use the standard
// functions, those of cel-go for strings and lists, and optional values
// (self.?status.?phase.orValue("")). condition(self, TYPE) returns type, status, reason and message
// of a condition: empty if there is none, Unknown if it is about an earlier generation.
// compact(VALUE) returns a value without fields that are empty, false or 0, at any depth: two such
// values are equal whether or not defaults were written. message and reason return strings, so a
// fixed text is quoted twice: message: '"waiting for the broker"'. Both are optional, and ignored
// if they cannot be evaluated. An evaluation that takes too much time or memory is an error.
//
// An object whose status.observedGeneration differs from its generation is in progress, unless the
// rule has ignoreGeneration: true. A rule applies to all versions of a type; version is ignored.
//
// The error lists the mistakes of all expressions with file, line, rule and column. name is the
// name of the file.
func Parse(name string, data []byte) ([]ready.Rule, error) {
	parsed, err := parseFile(name, data)
	if err != nil || len(parsed) == 0 {
		return nil, err
	}
	env, err := newEnv()
	if err != nil {
		return nil, err
	}
	var rules []ready.Rule
	var errs []error
	for _, r := range parsed {
		errs = append(errs, r.compile(env))
		rules = append(rules, r.forKinds(r.judge)...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return rules, nil
}

// maxRules limits the rules of a file: compiling that many takes about a second.
const maxRules = 1000

// parseFile reads the rules of all documents of a file without compiling them.
func parseFile(name string, data []byte) ([]*rule, error) {
	if tooMany := (*yamlsize.TooManyError)(nil); errors.As(yamlsize.Check(data), &tooMany) {
		return nil, fmt.Errorf("%s:%d: %w", name, tooMany.Line, tooMany)
	}
	var rules []*rule
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return rules, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		nodes, err := ruleNodes(name, resolveAlias(document.Content[0]))
		if err != nil {
			return nil, err
		}
		for _, node := range nodes {
			if len(rules) == maxRules {
				return nil, fmt.Errorf("%s:%d: more than %d rules", name, node.Line, maxRules)
			}
			r := &rule{file: name, number: len(rules) + 1}
			if err := r.parse(resolveAlias(node)); err != nil {
				return nil, err
			}
			rules = append(rules, r)
		}
	}
}

// ruleNodes returns the rules of one document.
func ruleNodes(name string, root *yaml.Node) ([]*yaml.Node, error) {
	switch {
	case root.Kind == yaml.SequenceNode:
		return root.Content, nil
	case isNull(root):
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("%s:%d: want a list of rules, or an object with the list rules", name,
			root.Line)
	}
	var nodes []*yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], resolveAlias(root.Content[i+1])
		if key.Value != "rules" {
			return nil, fmt.Errorf("%s:%d: unknown field %q, want rules", name, key.Line, key.Value)
		}
		if value.Kind != yaml.SequenceNode && !isNull(value) {
			return nil, fmt.Errorf("%s:%d: rules must be a list", name, value.Line)
		}
		nodes = append(nodes, value.Content...)
	}
	return nodes, nil
}

func resolveAlias(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.Tag == "!!null"
}
