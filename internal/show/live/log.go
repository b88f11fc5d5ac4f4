package live

import (
	"fmt"
	"strings"
	"sync"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
)

// LogLine is a line of a log, or a note about one.
type LogLine struct {
	Container string // the pod and the container; empty for a note about all
	Text      string
	Note      bool // what happens with the log, instead of a line of it
}

// Log is the log of the pods of one object on the screen. It may be used concurrently.
type Log struct {
	name    string // of the object
	stop    func() // ends the reading
	changed func()

	mu      sync.Mutex
	lines   []LogLine
	dropped int    // lines before the first
	first   string // the first container
	several bool   // there are other containers
	top     int    // the first line on the screen, counted with those that are dropped
	shown   int    // lines on the screen
	paused  bool   // lines are shown from top on; else the last ones
}

// The limits of a log: lines, and bytes of a line.
const (
	maxLogLines = 5000
	maxLogLine  = 4 << 10
)

// Add adds a line at the end.
func (l *Log) Add(line LogLine) {
	line.Text = strings.TrimRight(line.Text, "\r\n")
	if len(line.Text) > maxLogLine {
		line.Text = strings.ToValidUTF8(line.Text[:maxLogLine], "")
	}
	l.mu.Lock()
	l.lines = append(l.lines, line)
	if len(l.lines) > maxLogLines {
		l.lines = l.lines[1:]
		l.dropped++
	}
	switch {
	case line.Container == "":
	case l.first == "":
		l.first = line.Container
	case l.first != line.Container:
		l.several = true
	}
	l.mu.Unlock()
	l.changed()
}

// body returns the title of the log and the lines that are on the screen.
func (l *Log) body(columns, height int, ascii bool) []fullscreen.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	title := "log of " + l.name
	if l.first != "" && !l.several {
		title += ": " + l.first
	}
	head := fullscreen.Line{{
		Text: ellipsis(plaintext.Line(title), columns, ascii), Style: fullscreen.Bold,
	}}
	if height < 2 {
		return []fullscreen.Line{head}
	}
	if len(l.lines) == 0 {
		text := "no lines yet: those of its pods appear here"
		return []fullscreen.Line{head, {{Text: ellipsis(text, columns, ascii)}}}
	}
	return append([]fullscreen.Line{head}, l.page(columns, height-1)...)
}

// page returns the lines from the top on or, unless those fill the screen, the last ones.
func (l *Log) page(columns, height int) []fullscreen.Line {
	var lines []fullscreen.Line
	if l.paused {
		l.top = max(l.top, l.dropped)
		i := l.top - l.dropped
		for ; i < len(l.lines) && len(lines) < height; i++ {
			lines = append(lines, l.line(i, columns)...)
		}
		if i < len(l.lines) || len(lines) > height {
			l.shown = i - (l.top - l.dropped)
			return lines[:height]
		}
		l.paused, lines = false, nil
	}
	i := len(l.lines)
	for i > 0 && len(lines) < height {
		i--
		lines = append(l.line(i, columns), lines...)
	}
	l.top, l.shown = i+l.dropped, len(l.lines)-i
	return lines[max(0, len(lines)-height):]
}

// line returns a line of the log as lines of the screen.
func (l *Log) line(i, columns int) []fullscreen.Line {
	line, prefix := l.lines[i], ""
	if line.Container != "" && (l.several || line.Note) {
		prefix = "[" + line.Container + "] "
	}
	style := fullscreen.Plain
	if line.Note {
		style = fullscreen.Yellow
	}
	text := strings.ReplaceAll(line.Text, "\t", "    ")
	text = plaintext.Printable(strings.ToValidUTF8(text, "\ufffd"))
	return wrapSpans(fullscreen.Line{
		{Text: plaintext.Line(prefix), Style: fullscreen.Faint}, {Text: text, Style: style},
	}, columns)
}

// key handles a key, and reports whether it closes the log.
func (l *Log) key(k fullscreen.Key) (closes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	by := 0
	switch k {
	case fullscreen.Escape, fullscreen.Left, 'l', 'q':
		return true
	case fullscreen.End, 'G':
		l.paused = false
		return false
	case fullscreen.Home, 'g':
		by = -l.top
	case fullscreen.Up, 'k':
		by = -1
	case fullscreen.Down, 'j':
		by = 1
	case fullscreen.PageUp, 'b':
		by = -max(1, l.shown-1)
	case fullscreen.PageDown, ' ':
		by = max(1, l.shown-1)
	}
	if by != 0 {
		l.top, l.paused = max(0, l.top+by), true
	}
	return false
}

// state returns whether the log follows, for the line of the keys.
func (l *Log) state() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.paused {
		return "paused at " + fmt.Sprintf("%d/%d", l.top+l.shown, l.dropped+len(l.lines))
	}
	return "following"
}

// logKeys are the keys of a log and what they do. docs/output.md has the same list.
var logKeys = [][2]string{
	{"Up Down, k j", "scroll by a line"},
	{"PgUp PgDn, b Space", "scroll by a page"},
	{"Home, g", "the first line"},
	{"End, G", "the last line, and those that follow"},
	{"Esc, Left, l, q", "back to the objects"},
	{"Ctrl-C", "finish writes in progress and stop; twice: stop at once"},
	{"?", "show or hide the keys"},
}

// openLog shows the log of the selected object or, of a section, of its first object.
func (r *Run) openLog(all []item) {
	if len(all) == 0 || r.options.Logs == nil {
		return
	}
	i := r.find(all)
	if all[i].step < 0 && i+1 < len(all) && all[i+1].step >= 0 {
		i++
	}
	r.list.selected, r.list.position, r.list.chosen = all[i], i, true
	step := all[i].step
	if step < 0 {
		r.hint = "unfold the section (Enter) and select an object to read its log"
		return
	}
	l := &Log{name: r.rows[step].name, changed: r.changed}
	l.stop = r.options.Logs(step, l)
	r.log = l
}

// closeLog ends the reading of a log.
func (r *Run) closeLog() {
	if r.log != nil {
		r.log.stop()
		r.log = nil
	}
}
