package input

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"
)

// maxWarnings limits the warnings about one file.
const maxWarnings = 20

// tagPattern matches what may be a tag of YAML.
var tagPattern = regexp.MustCompile(`(?m)(^|[ \t\[{,])![^\s=]`)

// knownTags are the tags that kapp does not ignore.
var knownTags = []string{"", "!", "!!str", "!!int", "!!float", "!!bool", "!!null", "!!map",
	"!!seq", "!!merge", "!!timestamp", "!!binary"}

// checker warns about the documents of a file: about keys that repeat earlier ones of the same map,
// and about tags that have no effect.
type checker struct {
	print  func(string)
	origin string // of the current document
	start  int    // lines before it
	count  int    // warnings so far
}

func (c *checker) warn(line int, format string, args ...any) {
	if c.count++; c.count <= maxWarnings {
		c.print(fmt.Sprintf("%s: line %d: ", c.origin, c.start+line) + fmt.Sprintf(format, args...))
	}
}

// end prints the number of warnings that were not printed.
func (c *checker) end(name string) {
	if more := c.count - maxWarnings; more > 0 {
		c.print(fmt.Sprintf("%s: and %d more warnings", name, more))
	}
}

// checkKey reports a key that is among the earlier ones, and adds it.
func (c *checker) checkKey(lines map[string]int, key, text string, line int) {
	if first, ok := lines[key]; ok {
		c.warn(line, "key %q is already on line %d; the last one counts", text, c.start+first)
	}
	lines[key] = line
}

// checkYAML checks a YAML document, which may be read otherwise than by this parser.
func (c *checker) checkYAML(document []byte) {
	var root yaml.Node
	if yaml.Unmarshal(document, &root) == nil {
		c.checkNode(&root)
	}
}

func (c *checker) checkNode(n *yaml.Node) {
	if !slices.Contains(knownTags, n.Tag) {
		c.warn(n.Line, "the tag is ignored")
	}
	lines := map[string]int{}
	for i, child := range n.Content {
		if key := child; n.Kind == yaml.MappingNode && i%2 == 0 && key.ShortTag() != "!!merge" {
			if key.Kind == yaml.AliasNode {
				key = key.Alias
			}
			c.checkKey(lines, key.ShortTag()+" "+key.Value, key.Value, child.Line)
		}
		c.checkNode(child)
	}
}

// checkJSON checks a valid JSON document.
func (c *checker) checkJSON(document []byte) {
	decoder := json.NewDecoder(bytes.NewReader(document))
	line, counted := 1, int64(0)
	token := func() json.Token {
		t, _ := decoder.Token() // valid JSON has no errors
		end := decoder.InputOffset()
		line += bytes.Count(document[counted:end], []byte("\n"))
		counted = end
		return t
	}
	var value func()
	value = func() {
		delim, ok := token().(json.Delim)
		if !ok {
			return
		}
		lines := map[string]int{}
		for decoder.More() {
			if delim == '{' {
				key, _ := token().(string)
				c.checkKey(lines, key, key, line)
			}
			value()
		}
		token()
	}
	value()
}
