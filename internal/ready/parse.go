package ready

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"
)

// Parse reads rules that users write. A file is a list of rules, or an object with such a list under "rules":
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
// The conditions failed, current and inProgress are asked in this order, and the first that holds decides; each may be
// left out, but not all. If none holds, the next rule is asked, with two exceptions in which the object is in progress: a
// rule that says what is current and not what is in progress takes all else for in progress; and when current or
// inProgress could not be evaluated, most often for a field that is not there yet, there is no telling. The message then
// says what was missing. Otherwise an error of evaluation means that a condition does not hold.
//
// Everything but group, kind, version and ignoreGeneration is a CEL expression over self, the object, as in the
// validation rules of custom resource definitions. Beside the standard functions there are those of cel-go for strings
// and lists, optional values (self.?status.?phase.orValue("")), and condition(self, TYPE), which gives type, status,
// reason and message of a condition, empty where there is none and Unknown where it is about an earlier generation.
// message and reason give strings, so a fixed text is quoted twice: message: '"waiting for the broker"'. They may be left
// out, and are taken for left out when they cannot be evaluated. An evaluation that costs too much is an error.
//
// An object whose status.observedGeneration is another than its generation is in progress without being asked, unless
// the rule says ignoreGeneration: true. A rule is for all versions of a type; version is allowed and says nothing.
//
// What is wrong is told for all expressions at once, with file, line, rule and column. name is the file's name for that.
func Parse(name string, data []byte) ([]Rule, error) {
	texts, err := read(name, data)
	if err != nil || len(texts) == 0 {
		return nil, err
	}
	env, err := newLanguage()
	if err != nil {
		return nil, err
	}
	return compiled(texts, env)
}

func compiled(texts []*written, env *cel.Env) ([]Rule, error) {
	var rules []Rule
	var errs []error
	for _, text := range texts {
		errs = append(errs, text.compile(env))
		rules = append(rules, text.rules(text.judge)...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return rules, nil
}

// read takes the rules out of a file, which may have several documents, without compiling them.
func read(name string, data []byte) ([]*written, error) {
	var texts []*written
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var document yaml.Node
		switch err := decoder.Decode(&document); {
		case errors.Is(err, io.EOF):
			return texts, nil
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		items, err := ruleNodes(name, resolve(document.Content[0]))
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			text := &written{file: name, number: len(texts) + 1}
			if err := text.read(resolve(item)); err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
	}
}

// ruleNodes gives the rules of one document.
func ruleNodes(name string, root *yaml.Node) ([]*yaml.Node, error) {
	switch {
	case root.Kind == yaml.SequenceNode:
		return root.Content, nil
	case isNull(root):
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("%s:%d: want a list of rules, or an object with the list rules", name, root.Line)
	}
	var rules []*yaml.Node
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], resolve(root.Content[i+1])
		if key.Value != "rules" {
			return nil, fmt.Errorf("%s:%d: unknown field %q, want rules", name, key.Line, key.Value)
		}
		if value.Kind != yaml.SequenceNode && !isNull(value) {
			return nil, fmt.Errorf("%s:%d: rules must be a list", name, value.Line)
		}
		rules = append(rules, value.Content...)
	}
	return rules, nil
}

// resolve gives what an alias stands for.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.Tag == "!!null"
}
