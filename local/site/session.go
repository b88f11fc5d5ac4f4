package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
)

// The measures of the drawing, in pixels, and its width in characters.
const (
	columns    = 100
	charWidth  = 8.0
	lineHeight = 19
	margin     = 16
)

// The session is read from a page, whose commands a test runs, and drawn into a picture.
const (
	sessionPage    = "local/site/session.md"
	sessionPicture = "docs/session.svg"
)

// drawSession returns the picture of the blocks of a page with commands and their output. Lines
// appear one after the other, unless the reader prefers less motion.
func drawSession(root string) (string, error) {
	source, err := os.ReadFile(filepath.Join(root, sessionPage))
	if err != nil {
		return "", err
	}
	p := page{source: source}
	p.parse()
	var lines []string
	for node := p.tree.FirstChild(); node != nil; node = node.NextSibling() {
		block, ok := node.(*ast.FencedCodeBlock)
		if !ok || string(block.Language(source)) != "console" {
			continue
		}
		for i := range block.Lines().Len() {
			line := block.Lines().At(i)
			lines = append(lines, strings.TrimSuffix(string(line.Value(source)), "\n"))
		}
	}
	var b strings.Builder
	width, height := columns*charWidth+2*margin, len(lines)*lineHeight+2*margin
	fmt.Fprintf(&b, sessionHead, width, height, width, height)
	seconds := 0.0
	for i, line := range lines {
		class := lineClass(line)
		seconds += 0.06
		if class == "command" {
			seconds += 1.2
		}
		fmt.Fprintf(&b, `<text class="%s" x="%d" y="%d" style="animation-delay:%.2fs">%s</text>`+"\n",
			class, margin, margin+lineHeight*(i+1)-5, seconds, html.EscapeString(shorten(line)))
	}
	b.WriteString("</svg>\n")
	return b.String(), nil
}

// lineClass returns how a line is coloured.
func lineClass(line string) string {
	trimmed := strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "$ "):
		return "command"
	case strings.HasPrefix(line, "error:"), strings.Contains(line, "reconcile failed"),
		strings.HasPrefix(line, "    -"), strings.Contains(line, "cannot be scheduled"):
		return "bad"
	case strings.HasPrefix(line, "    +"), strings.HasSuffix(trimmed, " reconciled"):
		return "good"
	case strings.HasPrefix(line, "context "), strings.HasSuffix(line, " pending"):
		return "dim"
	}
	return "plain"
}

// shorten cuts a line that is too long for the picture.
func shorten(line string) string {
	if utf8.RuneCountInString(line) <= columns {
		return line
	}
	return string([]rune(line)[:columns-1]) + "…"
}

const sessionHead = `<svg xmlns="http://www.w3.org/2000/svg" role="img"
 width="%g" height="%d" viewBox="0 0 %g %d">
<title>A plan, a deployment that fails with its cause, and the repaired one</title>
<style>
rect { fill: #0d1117 }
text { font: 13.3px ui-monospace, Menlo, Consolas, monospace; white-space: pre }
text { animation: show .1s both }
.plain { fill: #d6dde4 } .command { fill: #fff; font-weight: 700 } .dim { fill: #8b949e }
.good { fill: #56d364 } .bad { fill: #ff7b72 }
@keyframes show { from { opacity: 0 } to { opacity: 1 } }
@media (prefers-reduced-motion: reduce) { text { animation: none } }
</style>
<rect width="100%%" height="100%%" rx="8"/>
`
