package plaintext

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// LogWriter writes lines to the log of a job in which its service finds no commands. What runs
// print has texts of servers, manifests and containers: GitHub, GitLab, Azure Pipelines and
// TeamCity take lines of certain forms for commands to the job, wherever they come from.
type LogWriter struct {
	Out io.Writer

	mutex  sync.Mutex
	inLine bool // the line has more than white space
}

// Write writes a text.
func (w *LogWriter) Write(text []byte) (int, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if _, err := io.WriteString(w.Out, w.harmless(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// WithoutCommands returns lines of a log without commands to a job.
func WithoutCommands(text string) string { return new(LogWriter).harmless(text) }

// The commands that count anywhere in a line: ##[error], ##vso[task.setvariable …],
// ##teamcity[…], and the sections of GitLab.
var (
	bracketCommand = regexp.MustCompile(`##(\w*)\[`)
	sectionCommand = regexp.MustCompile(`section_(start|end):`)
)

// harmless returns a text without commands. Each keeps its words, with a space between its signs.
func (w *LogWriter) harmless(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case strings.ContainsRune("\n\v\f\r\u0085\u2028\u2029", r): // somebody takes each for an end
			w.inLine = false
		case unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Cc):
		default:
			if !w.inLine && strings.HasPrefix(text[i:], "::") {
				b.WriteString(": ")
			} else {
				b.WriteRune(r)
			}
			w.inLine = true
			continue
		}
		b.WriteRune(r)
	}
	plain := bracketCommand.ReplaceAllString(b.String(), "## $1[")
	return sectionCommand.ReplaceAllString(plain, "section_$1 :")
}
