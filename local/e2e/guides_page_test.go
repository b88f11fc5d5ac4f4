package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// A docBlock is a fenced block of a page of the documentation, with the marks above it.
type docBlock struct {
	lang string // the first word after the fence
	file string // the second: for yaml, the name under which the block is saved
	line int    // of the first line of text
	text []string
	mark docMarks
}

// docMarks are what comments above a block say, which readers of the page do not see:
//
//	<!-- test: not run: REASON -->          the block is not run
//	<!-- test: exit code N -->              its last command ends with N
//	<!-- test: excerpt: REASON -->          its lines are some of the output, in this order
//	<!-- test: after NAME -->               the script NAME of the page's archive runs before
type docMarks struct {
	skip, excerpt string
	exit          int
	after         []string
}

var (
	docFence = regexp.MustCompile("^( *)```(\\S*) ?(\\S*)")
	docMark  = regexp.MustCompile(`^ *<!-- test: (.*?) *-->$`)
)

// readBlocks returns the fenced blocks of a page.
func readBlocks(page string) ([]docBlock, error) {
	var blocks []docBlock
	var open *docBlock
	var marks docMarks
	indent := ""
	for i, line := range strings.Split(page, "\n") {
		fence := docFence.FindStringSubmatch(line)
		switch {
		case open != nil && fence != nil:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text = append(open.text, strings.TrimPrefix(line, indent))
		case fence != nil:
			indent = fence[1]
			open = &docBlock{lang: fence[2], file: fence[3], line: i + 2, mark: marks}
			marks = docMarks{}
		default:
			if mark := docMark.FindStringSubmatch(line); mark != nil {
				if err := marks.add(mark[1]); err != nil {
					return nil, fmt.Errorf("line %d: %w", i+1, err)
				}
			} else if strings.TrimSpace(line) != "" && marks.set() {
				return nil, fmt.Errorf("line %d: a test comment must stand above a block", i+1)
			}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block has no end", open.line)
	}
	return blocks, nil
}

func (m *docMarks) set() bool {
	return m.skip != "" || m.excerpt != "" || m.exit != 0 || len(m.after) > 0
}

// add adds what one comment says.
func (m *docMarks) add(text string) (err error) {
	if reason, ok := strings.CutPrefix(text, "not run: "); ok {
		m.skip = reason
	} else if reason, ok := strings.CutPrefix(text, "excerpt: "); ok {
		m.excerpt = reason
	} else if code, ok := strings.CutPrefix(text, "exit code "); ok {
		m.exit, err = strconv.Atoi(code)
	} else if name, ok := strings.CutPrefix(text, "after "); ok {
		m.after = append(m.after, name)
	} else {
		err = fmt.Errorf("unknown test comment %q", text)
	}
	return err
}

// A docCommand is a command of a block, and the output that the page shows below it.
type docCommand struct {
	text   string
	output []string
}

// commands returns the commands of a block. One of sh is a single script, whose output the page
// does not show. In one of console each follows a "$ ", and "> " continues it.
func (b docBlock) commands() []docCommand {
	if b.lang == "sh" {
		return []docCommand{{text: strings.Join(b.text, "\n")}}
	}
	var found []docCommand
	typed := false // whether the line before belongs to a command
	for _, line := range b.text {
		command, begins := strings.CutPrefix(line, "$ ")
		more, continues := strings.CutPrefix(line, "> ")
		switch {
		case begins:
			found = append(found, docCommand{text: command})
		case continues && typed:
			found[len(found)-1].text += "\n" + more
		case len(found) > 0:
			found[len(found)-1].output = append(found[len(found)-1].output, line)
		}
		typed = begins || continues && typed
	}
	return found
}

// docVarying are the parts of output that differ between runs.
var docVarying = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`https://(127\.0\.0\.1|staging):\d+`), "SERVER"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(Z| UTC)?`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{40}-\d{19}\b`), "ID"},
	{regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`), "UID"},
	{regexp.MustCompile(`\b1\d{18}\b`), "LABEL"},
	{regexp.MustCompile(`\b\d+:\d\d:\d\d[AP]M\b`), "TIME"},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?\d+(\.\d+)?(ms|s)\b`), "AGE"},
	{regexp.MustCompile(`^(error: .*?) after AGE`), "$1"}, // not printed if it took no second
	{regexp.MustCompile(`-[bcdf2456789]{5,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "-POD"},
	{regexp.MustCompile(`-[bcdf2456789]{5,10}\b`), "-HASH"},
	{regexp.MustCompile(`-change-[a-z0-9]{5}\b`), "-change-NAME"},
	{regexp.MustCompile(`(EndpointSlice\S*/\S+)-[bcdfghjklmnpqrstvwxz2456789]{5}\b`), "$1-NAME"},
	{regexp.MustCompile(`\b[0-9a-f]{7} main\b`), "COMMIT main"},
	{regexp.MustCompile(`\bv1\.[0-9a-f]{32}\b`), "v1.ASSOCIATION"},
	{regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b`), "ADDRESS"},
	{regexp.MustCompile(`@@ -\d+,(\d+) \+\d+,`), "@@ -LINE,$1 +LINE,"}, // servers have other fields
	{regexp.MustCompile(`-{3,}`), "-"},
	{regexp.MustCompile(`(\S) +`), "$1 "},
	{regexp.MustCompile(` +$`), ""},
}

// unvarying returns a line with a word for each of its varying parts.
func unvarying(line string) string {
	for _, part := range docVarying {
		line = part.pattern.ReplaceAllString(line, part.with)
	}
	return line
}
