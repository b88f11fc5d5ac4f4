package ytt

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// remark, code and directive are the kinds of comments: "# …" and "#! …", "#@ …", and "#@name …".
const (
	remark    kind = "remark"
	code      kind = "code"
	directive kind = "directive"
)

// comment is one comment of a template.
type comment struct {
	kind   kind
	line   int
	at     int    // where it begins in its line, in bytes
	beside bool   // something else stands before it on its line
	name   string // of a directive
	text   string // the code, or the arguments of a directive
}

func newComment(line int, text string, at int) comment {
	c := comment{kind: remark, line: line, at: at, beside: strings.TrimSpace(text[:at]) != ""}
	body, ours := strings.CutPrefix(strings.TrimRight(text[at+1:], " \t\r"), "@")
	if !ours {
		return c
	}
	if body == "" || body[0] == ' ' || body[0] == '\t' {
		c.kind, c.text = code, body
		if c.beside && strings.TrimSpace(body) == "" {
			c.kind = remark
		}
		return c
	}
	c.kind, c.name = directive, body
	if end := strings.IndexAny(body, " \t"); end >= 0 {
		c.name, c.text = body[:end], strings.TrimSpace(body[end:])
	}
	return c
}

// commentsOf finds the comments of a text, by line. What looks like one inside a string is none, which the nodes tell.
func commentsOf(lines []string, docs []*yaml.Node) map[int]comment {
	taken := &spans{lines: lines, whole: map[int]bool{}, upTo: map[int]int{}}
	for _, doc := range docs {
		taken.walk(doc, 0)
	}
	found := map[int]comment{}
	for i, text := range lines {
		if taken.whole[i+1] {
			continue
		}
		for at := range text {
			if text[at] == '#' && at >= taken.upTo[i+1] && (at == 0 || text[at-1] == ' ' || text[at-1] == '\t') {
				found[i+1] = newComment(i+1, text, at)
				break
			}
		}
	}
	return found
}
