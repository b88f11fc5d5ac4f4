package ytt

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// maxAliased limits the nodes that the aliases of a template stand for.
const maxAliased = 100_000

// fillAlias fills a part with a copy of what an alias stands for. All of it is on the line of the
// alias.
func (p *parser) fillAlias(in *part, alias *yaml.Node) error {
	outer := p.aliasLine
	if outer == 0 {
		p.aliasLine = alias.Line
	}
	defer func() { p.aliasLine = outer }()
	return p.fill(in, alias.Alias)
}

// checkAliased counts a node that an alias stands for.
func (p *parser) checkAliased() error {
	if p.aliased++; p.aliased > maxAliased {
		return fmt.Errorf("line %d: the aliases stand for more than %d values", p.aliasLine, maxAliased)
	}
	return nil
}

// entries returns the keys and values of a map, with those that it merges from others (<<) and does
// not have itself after its own.
func (p *parser) entries(node *yaml.Node) ([]*yaml.Node, error) {
	var own, merged []*yaml.Node
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		switch {
		case key.Tag == "!!merge":
			merged = append(merged, value)
		case key.Kind != yaml.ScalarNode:
			return nil, fmt.Errorf("line %d: a key that is not a scalar is not supported in a template",
				key.Line)
		default:
			own = append(own, key, value)
		}
	}
	for _, from := range merged {
		all := []*yaml.Node{from}
		if from.Kind == yaml.SequenceNode {
			all = from.Content
		}
		for _, source := range all {
			var err error
			if own, err = p.merge(own, source, from.Line); err != nil {
				return nil, err
			}
		}
	}
	return own, nil
}

// merge appends the entries of a map whose keys are not among those of entries.
func (p *parser) merge(entries []*yaml.Node, from *yaml.Node, line int) ([]*yaml.Node, error) {
	if from.Kind == yaml.AliasNode {
		from = from.Alias
	}
	if err := p.checkAliased(); err != nil {
		return nil, err
	}
	if from.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("line %d: << merges maps alone", line)
	}
	more, err := p.entries(from)
	if err != nil {
		return nil, err
	}
	for i := 0; i < len(more); i += 2 {
		known := false
		for j := 0; j < len(entries) && !known; j += 2 {
			known = entries[j].Value == more[i].Value
		}
		if !known {
			entries = append(entries, &yaml.Node{Kind: yaml.ScalarNode, Value: more[i].Value, Line: line},
				&yaml.Node{Kind: yaml.AliasNode, Alias: more[i+1], Line: line})
		}
	}
	return entries, nil
}
