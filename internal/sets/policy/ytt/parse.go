package ytt

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/base/yamlsize"
)

// kind is the kind of a node: in the first group, of the item; in the second, of its value.
type kind string

const (
	document kind = "document"
	entry    kind = "map item"
	element  kind = "array item"

	stream   kind = "documents"
	mapping  kind = "map"
	sequence kind = "array"
	scalar   kind = "value"
)

// part is a node in the text of a template: a document, or an item of a map or an array.
type part struct {
	id      int
	kind    kind
	line    int // 0 for the first document if it has no ---
	key     string
	parent  *part // nil for a document
	holds   kind  // mapping, sequence or scalar
	scalar  any
	aliased bool // it stands elsewhere in the text, where an anchor is

	children []*part
	before   []comment // on the lines before it
	beside   []comment // on its line
}

// template is a parsed text: all parts in order, and the comments after the last one.
type template struct {
	parts []*part
	after []comment
}

// parseTemplate parses YAML with its comments.
func parseTemplate(text string) (*template, error) {
	if tooMany := (*yamlsize.TooManyError)(nil); errors.As(yamlsize.Check([]byte(text)), &tooMany) {
		return nil, fmt.Errorf("line %d: %w", tooMany.Line, tooMany)
	}
	p := &parser{lines: strings.Split(text, "\n")}
	decoder := yaml.NewDecoder(strings.NewReader(text))
	var docs []*yaml.Node
	for {
		doc := &yaml.Node{}
		err := decoder.Decode(doc)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	p.comments = commentsOf(p.lines, docs)
	for _, doc := range docs {
		if err := p.document(doc); err != nil {
			return nil, err
		}
	}
	return p.attach()
}

// parser walks the nodes of a text.
type parser struct {
	lines    []string
	comments map[int]comment // by line
	parts    []*part

	aliasLine int // of the alias whose content is added, or 0
	aliased   int // nodes that aliases stood for
}

func (p *parser) add(parent *part, of kind, line int, value *yaml.Node) (*part, error) {
	made := &part{id: len(p.parts), kind: of, line: line, parent: parent}
	if p.aliasLine > 0 {
		if err := p.checkAliased(); err != nil {
			return nil, err
		}
		made.line, made.aliased = p.aliasLine, true
	}
	p.parts = append(p.parts, made)
	if parent != nil {
		parent.children = append(parent.children, made)
	}
	return made, p.fill(made, value)
}

func (p *parser) document(doc *yaml.Node) error {
	line := doc.Line
	if line > len(p.lines) || line > 0 && !strings.HasPrefix(p.lines[line-1], "---") {
		line = 0
	}
	if len(doc.Content) == 0 {
		return nil
	}
	_, err := p.add(nil, document, line, doc.Content[0])
	return err
}

func (p *parser) fill(in *part, value *yaml.Node) error {
	switch value.Kind {
	case yaml.MappingNode:
		in.holds = mapping
		entries, err := p.entries(value)
		if err != nil {
			return err
		}
		for i := 0; i < len(entries); i += 2 {
			child, err := p.add(in, entry, entries[i].Line, entries[i+1])
			if err != nil {
				return err
			}
			child.key = entries[i].Value
		}
	case yaml.SequenceNode:
		in.holds = sequence
		for _, item := range value.Content {
			line := item.Line
			if value.Style&yaml.FlowStyle == 0 {
				line = p.dashLine(item)
			}
			if _, err := p.add(in, element, line, item); err != nil {
				return err
			}
		}
	case yaml.ScalarNode:
		in.holds = scalar
		return in.decode(value)
	default:
		return p.fillAlias(in, value)
	}
	return nil
}

// yaml11Bools matches the words that are booleans in YAML 1.1, and so in ytt.
var yaml11Bools = regexp.MustCompile(`^([yY]|yes|Yes|YES|on|On|ON|([nN]|no|No|NO|off|Off|OFF))$`)

// decode reads a scalar as Kubernetes does: numbers are int64 or float64, and dates are strings.
func (in *part) decode(value *yaml.Node) error {
	if value.ShortTag() == "!!timestamp" {
		in.scalar = value.Value
		return nil
	}
	if word := yaml11Bools.FindStringSubmatch(value.Value); word != nil && value.Style == 0 {
		in.scalar = word[2] == ""
		return nil
	}
	var decoded any
	if err := value.Decode(&decoded); err != nil {
		return err
	}
	plain, err := copyData(decoded)
	if err != nil {
		return fmt.Errorf("line %d: %w", value.Line, err)
	}
	in.scalar = plain
	return nil
}

// dashLine returns the line of the dash before an item, which may be above the item.
func (p *parser) dashLine(item *yaml.Node) int {
	line := item.Line
	if line < 1 || line > len(p.lines) {
		return line
	}
	before := prefix(p.lines[line-1], item.Column-1)
	for {
		before = strings.TrimSpace(before)
		if strings.HasSuffix(before, "-") {
			return line
		}
		if before != "" || line == 1 {
			return item.Line
		}
		line--
		before = p.lines[line-1]
		if c, ok := p.comments[line]; ok {
			before = before[:c.at]
		}
	}
}

// attach assigns each comment to its node: the node on the same line, or else the next one.
func (p *parser) attach() (*template, error) {
	t := &template{parts: p.parts}
	for line := range p.lines {
		c, ok := p.comments[line+1]
		if !ok || c.kind == plainComment {
			continue
		}
		next := sort.Search(len(p.parts), func(i int) bool { return p.parts[i].line > c.line })
		last := next - 1
		for last >= 0 && p.parts[last].aliased {
			last--
		}
		switch {
		case c.beside && (last < 0 || p.parts[last].line != c.line):
			return nil, fmt.Errorf("line %d: #@%s stands beside no node of the YAML", c.line, c.text)
		case c.beside:
			p.parts[last].beside = append(p.parts[last].beside, c)
		case next < len(p.parts):
			p.parts[next].before = append(p.parts[next].before, c)
		default:
			t.after = append(t.after, c)
		}
	}
	return t, nil
}
