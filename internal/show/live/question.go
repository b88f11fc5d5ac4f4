package live

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Question is a question about a plan.
type Question struct {
	Changes []Change
	// All returns the text of all changes with their differences, for a width. It may have styles.
	All    func(columns int) string
	Totals string
	Notes  []string // below the totals
	Text   string   // the question, as it stands in front of the answer
	ASCII  bool
}

// Change is the planned change of one object.
type Change struct {
	Sign byte // as in view.Row
	Line string
	More []string // explanations
	// Difference returns the text of the change with its difference, for a width. It may have styles.
	Difference func(columns int) string
}

// Ask shows a plan on a screen until the question is answered. It returns what was typed: only y
// or yes, followed by Enter, means yes. The end of the context ends it. Text for the terminal
// beside the screen is printed afterwards.
func Ask(
	ctx context.Context, q Question, o fullscreen.Options, beside *view.TerminalWriter,
) (string, error) {
	a := newAsking(q)
	o.Discard = true // what was typed before the plan is seen is no answer to it
	screen, err := fullscreen.Open(o, a)
	if err != nil {
		return "", err
	}
	release := beside.Divert(func(string) {})
	defer release()
	defer screen.Close()
	select {
	case <-a.answered:
		return a.answer, nil
	case <-screen.Done():
		return "", cmp.Or(screen.Err(), fullscreen.ErrUnsupported)
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// asking is the state of a question on the screen.
type asking struct {
	question Question
	answer   string
	answered chan struct{} // closed when the answer is complete
	once     sync.Once

	open     map[int]bool // changes whose differences are shown
	all      bool         // the text of all differences is shown
	selected int          // a change or, of that text, the first line on the screen
	top      int          // the first line on the screen
	page     int
	last     int // what can be selected last
	help     bool
}

func newAsking(q Question) *asking {
	return &asking{question: q, open: map[int]bool{}, answered: make(chan struct{})}
}

// answerLetters are the letters of answers. No other key has one of them.
const answerLetters = "yesno"

// Key handles a key.
func (a *asking) Key(k fullscreen.Key) {
	select {
	case <-a.answered:
		return // the answer is final
	default:
	}
	if letter := strings.ToLower(string(rune(k))); k > ' ' && strings.Contains(answerLetters, letter) {
		if len(a.answer) <= len("yes") { // one more letter makes it no answer
			a.answer += letter
		}
		return
	}
	switch k {
	case fullscreen.Enter:
		a.finish(a.answer)
	case fullscreen.Escape, fullscreen.EndOfFile, 'q':
		a.finish("n")
	case fullscreen.Backspace:
		a.answer = a.answer[:max(0, len(a.answer)-1)]
	case fullscreen.Up, 'k':
		a.selected--
	case fullscreen.Down, 'j':
		a.selected++
	case fullscreen.PageUp, 'b':
		a.selected -= max(1, a.page-1)
	case fullscreen.PageDown, ' ':
		a.selected += max(1, a.page-1)
	case fullscreen.Home, 'g':
		a.selected = 0
	case fullscreen.End, 'G':
		a.selected = a.last
	case fullscreen.Right:
		a.open[a.selected] = true
	case fullscreen.Left:
		delete(a.open, a.selected)
	case 'd':
		a.all, a.selected, a.top = !a.all, 0, 0
	}
	a.selected = min(max(0, a.selected), a.last)
	a.help = k == '?' && !a.help
}

func (a *asking) finish(answer string) {
	a.once.Do(func() {
		a.answer = answer
		close(a.answered)
	})
}

// questionKeys are the keys and what they do. docs/output.md has the same list.
var questionKeys = [][2]string{
	{"Up Down, k j", "select another change"},
	{"PgUp PgDn, b Space", "one page up or down"},
	{"Home End, g G", "the first or the last change"},
	{"Right Left", "show or hide the difference of the change"},
	{"d", "show the whole plan with its differences, or the list"},
	{"y Enter", "yes"},
	{"n Enter, Esc, q", "no; nothing is changed"},
	{"?", "show or hide the keys"},
}

// Frame returns the screen: the changes, the totals, the keys and the question.
func (a *asking) Frame(columns, rows int) []fullscreen.Line {
	q := &a.question
	foot := []fullscreen.Line{{{Text: ellipsis(plaintext.Line(q.Totals), columns, q.ASCII),
		Style: fullscreen.Bold}}}
	for _, note := range q.Notes {
		foot = append(foot, fullscreen.Line{{Text: ellipsis(plaintext.Line(note), columns, q.ASCII)}})
	}
	if room := max(1, rows/2-1); len(foot) > room { // most of the screen is for the changes
		more := fmt.Sprintf("... and %d more", len(foot)-room+1)
		foot = append(foot[:room-1:room-1], fullscreen.Line{{Text: more}})
	}
	keys := "y or n and Enter  d differences  ? keys"
	foot = append(foot, fullscreen.Line{{Text: ellipsis(keys, columns, q.ASCII),
		Style: fullscreen.Faint}})
	// It is below all else, as without a screen.
	for _, line := range wrap(plaintext.Line(q.Text)+a.answer, max(10, columns)) {
		foot = append(foot, fullscreen.Line{{Text: line, Style: fullscreen.Bold}})
	}
	foot = foot[max(0, len(foot)-rows):]
	height := rows - len(foot)
	body := a.body(columns, height)
	for len(body) < height {
		body = append(body, nil)
	}
	return cut(spell(slices.Concat(body[:height], foot), q.ASCII), columns)
}

// body returns the lines of the changes that are on the screen, or the keys.
func (a *asking) body(columns, height int) []fullscreen.Line {
	a.page = height
	if a.help {
		var lines []fullscreen.Line
		for _, k := range questionKeys {
			lines = append(lines, fullscreen.Line{{Text: fmt.Sprintf("  %-19s %s", k[0], k[1])}})
		}
		return lines
	}
	var lines []fullscreen.Line
	from, to := 0, 0
	if a.all {
		lines = styledLines(a.question.All(columns), columns)
		a.last = max(0, len(lines)-height)
		a.selected = min(a.selected, a.last)
		return lines[a.selected:]
	}
	a.last = max(0, len(a.question.Changes)-1)
	for i, c := range a.question.Changes {
		if i == a.selected {
			from = len(lines)
		}
		lines = append(lines, a.change(i, c, columns)...)
		if i == a.selected {
			to = len(lines)
		}
	}
	a.top = max(a.top, to-height)
	a.top = min(a.top, from)
	a.top = max(0, min(a.top, len(lines)-height))
	return lines[a.top:]
}

// signStyles are the styles of changes, by their signs.
var signStyles = map[byte]fullscreen.Style{
	'+': fullscreen.Green, '-': fullscreen.Red, '!': fullscreen.Red, '~': fullscreen.Yellow,
}

// change returns the lines of one change.
func (a *asking) change(i int, c Change, columns int) []fullscreen.Line {
	mark := fullscreen.Span{Text: " "}
	if i == a.selected {
		mark = fullscreen.Span{Text: ">", Style: fullscreen.Reversed}
	}
	if a.open[i] && c.Difference != nil {
		lines := styledLines(c.Difference(columns-1), columns-1)
		for n := range lines {
			lines[n] = append(fullscreen.Line{mark}, lines[n]...)
			mark = fullscreen.Span{Text: " "}
		}
		return lines
	}
	text := fmt.Sprintf("%c %s", c.Sign, plaintext.Line(c.Line))
	lines := []fullscreen.Line{
		{mark, {Text: ellipsis(text, columns-1, a.question.ASCII), Style: signStyles[c.Sign]}},
	}
	for _, line := range c.More {
		for _, part := range wrap(plaintext.Line(line), max(10, columns-len(detailIndent))) {
			lines = append(lines, fullscreen.Line{{Text: detailIndent + part}})
		}
	}
	return lines
}

// styledLines returns the lines of a text that has escape sequences for styles and no others, each
// in as many lines of the screen as it needs.
func styledLines(text string, columns int) []fullscreen.Line {
	var lines []fullscreen.Line
	for line := range strings.Lines(text) {
		lines = append(lines, wrapSpans(spansOf(strings.TrimSuffix(line, "\n")), columns)...)
	}
	return lines
}

// spansOf returns a line that has escape sequences for styles.
func spansOf(text string) fullscreen.Line {
	var line fullscreen.Line
	style := fullscreen.Plain
	for text != "" {
		before, after, found := strings.Cut(text, "\x1b[")
		if before != "" {
			before = strings.ReplaceAll(before, "\t", "  ")
			line = append(line, fullscreen.Span{Text: before, Style: style})
		}
		if !found {
			return line
		}
		code, rest, _ := strings.Cut(after, "m")
		switch {
		case code == "" || code == "0":
			style = fullscreen.Plain
		case style == fullscreen.Plain:
			style = fullscreen.Style(code)
		default:
			style += fullscreen.Style(";" + code)
		}
		text = rest
	}
	return line
}

// wrapSpans returns a line as lines of at most the given columns.
func wrapSpans(line fullscreen.Line, columns int) []fullscreen.Line {
	columns = max(10, columns)
	var lines []fullscreen.Line
	var current fullscreen.Line
	room := columns
	for _, span := range line {
		for fullscreen.Width(span.Text) > room {
			part := fullscreen.Cut(span.Text, room)
			current = append(current, fullscreen.Span{Text: part, Style: span.Style})
			lines, current, room = append(lines, current), nil, columns
			span.Text = span.Text[len(part):]
		}
		room -= fullscreen.Width(span.Text)
		current = append(current, span)
	}
	return append(lines, current)
}
