package yamlsize

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// nodes returns the number of nodes that the library makes of the documents of a text before the
// first error, without those of documents.
func nodes(text []byte) (all int, valid bool) {
	for parser := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var document yaml.Node
		if err := parser.Decode(&document); err != nil {
			return all, err == io.EOF
		}
		for _, n := range document.Content {
			all += size(n)
		}
	}
}

func size(n *yaml.Node) int {
	all := 1
	for _, child := range n.Content {
		all += size(child)
	}
	return all
}

// texts are texts whose nodes are easily missed.
var texts = []string{
	"- 1\n- 2\n", "[1,2,[3],{a: b}]", "a: b\nc:\n- d\n- e: f\n  g:\n", "a:\nb:\nc:\n",
	"-\n-\n-\n", "?\n?\n: \n", "[a: b, c: d, e]", "{a, b, c: , : d, ? e}", "[? a, ? b : c]",
	"- - - a\n  - b\n- c\n", "a: b\n  \"c\n  d: e\nf: g\n", "a: b\n'c': d\n",
	"a: 'b''c'\nd: \"e\\\"f\"\n",
	"a: |\n  [1,2,3]\n  \"\nb: >-\n\n   x\n  y\nc: d\n",
	"a: |2\n   x\n  y\nb: c\n", "- |\n a\n- >+2\n   b\n",
	"a: b #\u2028c: [1,2,3]\n", "a: b #\u0085c: [1,2,3]\n", "# x\r[1,2,3]",
	"a: b\r\nc: d\re: f\n",
	"a: &a b\nc: *a\nd: &e\nf: !t\ng: !<x> h\n", "&a b: c\n!t d: e\n*a : f\n",
	"? a\n: b\n? - c\n: - d\n",
	"--- a\n--- |\n x\n...\n---\n- b\n", "%YAML 1.1\n---\na: b\n",
	"a: {b: c,\n d: [e,\nf]}\ng: h\n",
	"[a\n b, 'c\n d', \"e\n f\"]", "a#b: c#d #e\nf: '#'#g\n", "a: -b\nc: ?d\ne: :f\n", "é: ü\n- ",
	"[!t,'x 1,1,1,1]", "\"a\": b\n", "{\"a\":1,\"b\":[2,3]}", "a: b: c\n", "- a\n b\n-c\n- d\n",
	"\uFEFFa: b\n", "a:\n - b\n - c\nd:\n   e\n   f\n", "[[[[]]]]", "[{},{},{}]",
	"- {}\n- []\n- ''\n",
	"a: |\n\tb\nc: d\n", "a:\n  - |\n   b\n  - c\n", "|\n a\n b\n", ">1\n  a\n",
	"a: >\n\n\n  b\n\n\nc: d\n",
	strings.Repeat("x", 1025) + ": a\n", "a: [b\n]: c\n", "[a]: b\n{c: d}: e\n",
	"a: 'b\n---\nc: d\n",
}

// TestCount checks that no text has more nodes than are counted, and those of ordinary manifests
// have not many fewer.
func TestCount(t *testing.T) {
	for _, text := range texts {
		check(t, []byte(text))
	}
	found, err := filepath.Glob("../../ready/testdata/*.yaml")
	if err != nil || len(found) < 50 {
		t.Fatal(found, err)
	}
	for _, name := range found {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		counted, want := check(t, text)
		if counted > want+want/20 {
			t.Errorf("%s: counted %d, and there are %d", name, counted, want)
		}
	}
}

func check(t *testing.T, text []byte) (counted, want int) {
	t.Helper()
	counted, _ = count(text, 1<<30)
	if want, _ = nodes(text); counted < want {
		t.Errorf("counted %d, and there are %d in %.300q", counted, want, text)
	}
	return counted, want
}

// FuzzCount checks texts as TestCount does.
func FuzzCount(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		counted, want := check(t, text)
		if _, valid := nodes(text); valid && counted > 4*want+4 {
			t.Errorf("counted %d, and there are %d in %.300q", counted, want, text)
		}
	})
}
