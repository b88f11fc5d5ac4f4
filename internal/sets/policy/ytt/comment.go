package ytt

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// The kinds of comments: "# …" and "#! …", "#@ …", and "#@name …".
const (
	plainComment      kind = "remark"
	codeComment       kind = "code"
	annotationComment kind = "directive"
)

// comment is one comment of a template.
type comment struct {
	kind   kind
	line   int
	at     int    // offset in its line in bytes
	beside bool   // follows a node on its line
	name   string // of an annotation
	text   string // the code, or the arguments of an annotation
}

func newComment(line int, text string, at int) comment {
	c := comment{kind: plainComment, line: line, at: at, beside: strings.TrimSpace(text[:at]) != ""}
	body, ours := strings.CutPrefix(strings.TrimRight(text[at+1:], " \t\r"), "@")
	if !ours {
		return c
	}
	if body == "" || body[0] == ' ' || body[0] == '\t' {
		c.kind, c.text = codeComment, body
		if c.beside && strings.TrimSpace(body) == "" {
			c.kind = plainComment
		}
		return c
	}
	c.kind, c.name = annotationComment, body
	if end := strings.IndexAny(body, " \t"); end >= 0 {
		c.name, c.text = body[:end], strings.TrimSpace(body[end:])
	}
	return c
}

// commentsOf returns the comments of a text by line. A "#" inside a string begins no comment.
func commentsOf(lines []string, docs []*yaml.Node) map[int]comment {
	taken := &literals{lines: lines, whole: map[int]bool{}, upTo: map[int]int{}}
	for _, doc := range docs {
		taken.walk(doc, 0)
	}
	found := map[int]comment{}
	for i, text := range lines {
		if taken.whole[i+1] {
			continue
		}
		for at := range text {
			if text[at] == '#' && at >= taken.upTo[i+1] &&
				(at == 0 || text[at-1] == ' ' || text[at-1] == '\t') {
				found[i+1] = newComment(i+1, text, at)
				break
			}
		}
	}
	return found
}
