package main

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown reads what GitHub reads, and leaves out HTML, which in these pages is comments.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
)

// parse reads the page.
func (p *page) parse() {
	p.anchors = map[string]bool{}
	context := parser.NewContext(parser.WithIDs(headings(p.anchors)))
	p.tree = markdown.Parser().Parse(text.NewReader(p.source), parser.WithContext(context))
	p.Title = p.File
	for node := p.tree.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok && heading.Level == 1 {
			p.Title = plain(heading, p.source)
			return
		}
	}
}

// plain returns the text of a node without its form.
func plain(node ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(node, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := node.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// headings are the anchors of a page, which are those of GitHub.
type headings map[string]bool

// Generate returns the anchor of a heading.
func (h headings) Generate(value []byte, _ ast.NodeKind) []byte {
	var b strings.Builder
	for _, r := range strings.ToLower(string(value)) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	name := b.String()
	for n := 1; h[name]; n++ {
		name = fmt.Sprintf("%s-%d", b.String(), n)
	}
	h[name] = true
	return []byte(name)
}

// Put adds an anchor that the page names itself.
func (h headings) Put(value []byte) { h[string(value)] = true }

// blocks renders blocks of code, tables and HTML in other ways than the library.
type blocks struct{}

// RegisterFuncs registers the functions of the blocks.
func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	nothing := func(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
		return ast.WalkSkipChildren, nil
	}
	r.Register(ast.KindHTMLBlock, nothing)
	r.Register(ast.KindRawHTML, nothing)
	r.Register(ast.KindFencedCodeBlock, renderFenced)
	r.Register(ast.KindCodeBlock, renderIndented)
	r.Register(extast.KindTable, renderTable)
}

// renderTable puts a table into an element that can be scrolled, also with the keyboard.
func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<div class="wide" role="region" aria-label="table" tabindex="0">`)
		_, _ = w.WriteString("<table>\n")
	} else {
		_, _ = w.WriteString("</tbody>\n</table></div>\n")
	}
	return ast.WalkContinue, nil
}

// renderFenced renders a block of code: with the name of its file, and with marked commands.
func renderFenced(
	w util.BufWriter, source []byte, node ast.Node, entering bool,
) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	block := node.(*ast.FencedCodeBlock)
	lang, file := string(block.Language(source)), ""
	if block.Info != nil {
		_, file, _ = strings.Cut(string(block.Info.Segment.Value(source)), " ")
	}
	if lang == "yaml" && file != "" {
		fmt.Fprintf(w, "<p class=\"file\">%s</p>\n", util.EscapeHTML([]byte(file)))
	}
	writeCode(w, lang, string(block.Lines().Value(source)))
	return ast.WalkContinue, nil
}

// renderIndented renders a block of code without a language.
func renderIndented(
	w util.BufWriter, source []byte, node ast.Node, entering bool,
) (ast.WalkStatus, error) {
	if entering {
		writeCode(w, "", string(node.Lines().Value(source)))
	}
	return ast.WalkContinue, nil
}

// writeCode writes code as an element that can be scrolled with the keyboard.
func writeCode(w util.BufWriter, lang, code string) {
	fmt.Fprintf(w, "<pre class=\"%s\" tabindex=\"0\"><code>", util.EscapeHTML([]byte(lang)))
	for line := range strings.Lines(code) {
		escaped := string(util.EscapeHTML([]byte(strings.TrimSuffix(line, "\n"))))
		if lang == "console" && strings.HasPrefix(line, "$ ") {
			escaped = "<b>" + escaped + "</b>"
		}
		_, _ = w.WriteString(escaped + "\n")
	}
	_, _ = w.WriteString("</code></pre>\n")
}
