// Package ui prints the output of kapp, to the byte: lines, blocks and tables in three modes, the
// prompt, errors and the lines of a run. Its input is texts, cells and events; its output is bytes
// on two streams. It knows nothing of objects and clusters.
//
// Lines and tables have a blank line before them; parts and blocks have none between them. Lines
// and parts are messages, which plain mode omits. Blocks and tables are the data of a command.
package ui

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// Mode is the form of the output.
type Mode int

// The modes.
const (
	Decorated Mode = iota // for terminals, and with --tty
	Plain                 // for pipes: data only, in tables with tabs
	JSON                  // one document at the end: --json
)

// Options are the settings of a UI. The zero value, with streams, is decorated and has no colours.
type Options struct {
	Out, Err io.Writer // one goroutine of the UI writes to them
	Name     string    // the name of the program, which begins every error
	Mode     Mode
	Colour   bool             // colours are allowed; see Colours
	NoColour bool             // errors and tables have no colours: --color=false
	Columns  []string         // the keys of the columns of tables; empty for all: --column
	Yes      bool             // prompts are skipped: --yes
	Debug    bool             // Debug prints: --debug
	Now      func() time.Time // the time of day; nil is time.Now
}

// spacing is the kind of a piece of output, which decides about blank lines.
type spacing int

const (
	none  spacing = iota // nothing was printed
	tight                // parts and blocks
	loose                // lines, tables, errors and the prompt
)

// UI prints. Several goroutines may call its methods at the same time; each piece stays whole.
type UI struct {
	options Options
	output  *output

	mu     sync.Mutex
	last   spacing
	doc    document
	warned map[string]bool
	banner bool
	quiet  bool
}

// New returns a UI. The caller must call Close.
func New(options Options) *UI {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &UI{
		options: options,
		output:  newOutput(options.Out, options.Err),
		warned:  map[string]bool{},
	}
}

// Line prints a message after a blank line. Text has no newline at its end.
func (u *UI) Line(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.line(text)
}

func (u *UI) line(text string) {
	switch u.options.Mode {
	case JSON:
		u.doc.Lines = append(u.doc.Lines, text)
	case Decorated:
		u.separate(loose)
		u.output.put(toOut, plaintext.Printable(text)+"\n")
	}
}

// Part prints a message without a blank line before it. Text ends with a newline.
func (u *UI) Part(text string) { u.parts([]string{text}) }

// parts prints several parts with nothing between them.
func (u *UI) parts(texts []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch u.options.Mode {
	case JSON:
		u.doc.Lines = append(u.doc.Lines, texts...)
	case Decorated:
		u.separate(tight)
		for _, text := range texts {
			u.output.put(toOut, text)
		}
	}
}

// Block prints data without a blank line before it. Text ends with a newline.
func (u *UI) Block(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.block(text)
}

func (u *UI) block(text string) {
	if u.options.Mode == JSON {
		u.doc.Blocks = append(u.doc.Blocks, text)
		return
	}
	u.separate(tight)
	u.output.put(toOut, text)
}

// Table prints a table. It returns an error and prints nothing if the table lacks a column of
// Options.Columns.
func (u *UI) Table(t Table) error {
	t, err := t.selectColumns(u.options.Columns)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.options.Mode == JSON {
		u.doc.Tables = append(u.doc.Tables, t.encode())
		return nil
	}
	u.separate(loose)
	u.output.put(toOut, t.text(u.options.Mode == Plain, u.options.Colour && !u.options.NoColour))
	return nil
}

// Banner prints the target cluster, once: the address of its server, its oldest node, and the
// number of its other nodes. Without a node it prints the address only.
func (u *UI) Banner(server, node string, more int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.banner {
		return
	}
	u.banner = true
	text := fmt.Sprintf("Target cluster '%s'", server)
	switch {
	case node != "" && more > 0:
		text += fmt.Sprintf(" (nodes: %s, %d+)", node, more)
	case node != "":
		text += fmt.Sprintf(" (nodes: %s)", node)
	}
	u.line(text)
}

// Warn prints a warning of the API server, once.
func (u *UI) Warn(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.warned[text] {
		return
	}
	u.warned[text] = true
	u.block("Warning: " + plaintext.Printable(text) + "\n")
}

// Quiet makes Close omit "Succeeded", as after help.
func (u *UI) Quiet() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.quiet = true
}

// separate prints the blank line that belongs before a piece of output, if any.
func (u *UI) separate(next spacing) {
	if u.last != none && (u.last != tight || next != tight) {
		u.output.put(toOut, "\n")
	}
	u.last = next
}

// Close prints the result of the command, waits until all output is written, and returns the exit
// code: that of an error with a method ExitStatus, 1 for other errors, and 0 for nil. The code is
// at least 1 if output could not be written, unless its reader closed it; see WriteError.
func (u *UI) Close(failed error) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if failed != nil {
		u.printError(BreakLines(failed.Error()))
	} else if !u.quiet {
		u.line("Succeeded")
	}
	if text := u.doc.encode(); text != "" {
		u.output.put(toOut, text)
	}
	u.output.drain()
	code := exitCode(failed)
	if lost := u.output.firstError(); lost != nil && !isClosedPipe(lost) {
		u.output.put(toErr, u.errorText("Writing output: "+lost.Error())+"\n")
		u.output.drain()
		code = max(code, 1)
	}
	return code
}

// WriteError returns the first error of writing to the standard output. All later output is lost.
func (u *UI) WriteError() error { return u.output.firstError() }

// printError prints an error to the standard error, or into the document.
func (u *UI) printError(text string) {
	if u.options.Mode == JSON {
		u.doc.Lines = append(u.doc.Lines, u.options.Name+": Error: "+text)
		return
	}
	u.separate(loose)
	u.output.put(toErr, u.errorText(text)+"\n")
}

func (u *UI) errorText(text string) string {
	text = u.options.Name + ": Error: " + plaintext.Printable(text)
	if u.options.NoColour {
		return text
	}
	return u.Paint(Red, text)
}

// clock formats the time of day.
func (u *UI) clock(layout string) string { return u.options.Now().Local().Format(layout) }
