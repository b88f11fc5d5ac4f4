// Package ui prints what kapp prints, to the byte: lines, blocks and tables in three modes, the prompt, errors and the lines of
// a run. In go texts, cells and small events; out come bytes on two streams. It knows nothing of objects or clusters.
//
// Output has two manners. Lines and tables stand alone, with a blank line before them; parts and blocks follow each other
// closely. Lines and parts inform and are left out in plain mode; blocks and tables are what was asked for.
package ui

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Mode is the form of the output.
type Mode int

// The modes.
const (
	Decorated Mode = iota // on a terminal, or with --tty
	Plain                 // for pipes: data alone, in tables that cut reads
	JSON                  // one document at the end, with --json
)

// Options says how to print. The zero value but for the streams is decorated, without colour.
type Options struct {
	Out, Err io.Writer        // where output and errors go; written to by one goroutine of the UI
	Name     string           // the name by which the program was called; begins every error
	Mode     Mode             // the form of the output
	Colour   bool             // the output may be coloured, as Colours tells
	NoColour bool             // errors and tables are not coloured all the same: --color=false
	Columns  []string         // the columns that tables show, by their keys; all when empty: --column
	Yes      bool             // prompts are answered with yes: --yes
	Debug    bool             // lines of Debug are printed: --debug
	Now      func() time.Time // the time of day for lines that begin with it; nil is the real one
}

// manner is how a piece of output stands to the one before it.
type manner int

const (
	first  manner = iota // nothing was printed yet
	joined               // parts and blocks
	apart                // lines, tables, errors and the prompt
)

// UI prints. Its methods may be called at the same time by several goroutines; each piece stays whole.
type UI struct {
	options Options
	output  *output

	mu     sync.Mutex
	last   manner
	doc    document
	warned map[string]bool
	banner bool
	hushed bool
}

// New makes a UI. Close ends it.
func New(options Options) *UI {
	if options.Now == nil {
		options.Now = time.Now
	}
	return &UI{options: options, output: newOutput(options.Out, options.Err), warned: map[string]bool{}}
}

// Line tells something, as a line that stands apart. Text has no newline at its end.
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
		u.stand(apart)
		u.output.put(toOut, text+"\n")
	}
}

// Part tells something that follows closely on other parts and blocks, as the lines of a run do. Text is printed as it is, with
// the newline that ends it.
func (u *UI) Part(text string) { u.parts([]string{text}) }

// parts tells several parts with nothing between them.
func (u *UI) parts(texts []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch u.options.Mode {
	case JSON:
		u.doc.Lines = append(u.doc.Lines, texts...)
	case Decorated:
		u.stand(joined)
		for _, text := range texts {
			u.output.put(toOut, text)
		}
	}
}

// Block gives data, which follows closely on other parts and blocks. Text is printed as it is.
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
	u.stand(joined)
	u.output.put(toOut, text)
}

// Table gives a table. The error names the columns of Options.Columns that it does not have; then nothing is printed.
func (u *UI) Table(t Table) error {
	t, err := t.only(u.options.Columns)
	if err != nil {
		return err
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.options.Mode == JSON {
		u.doc.Tables = append(u.doc.Tables, t.json())
		return nil
	}
	u.stand(apart)
	u.output.put(toOut, t.text(u.options.Mode == Plain, u.options.Colour && !u.options.NoColour))
	return nil
}

// Banner tells once which cluster is worked on: the address of its server, and its oldest node and how many more it has. Without
// a node the line tells the address alone.
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

// Warn passes a warning of the server on, once.
func (u *UI) Warn(text string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.warned[text] {
		return
	}
	u.warned[text] = true
	u.block("Warning: " + text + "\n")
}

// Quiet makes Close print no "Succeeded", as after help.
func (u *UI) Quiet() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.hushed = true
}

// stand prints the blank line that parts a piece of output from the one before it, where there is one.
func (u *UI) stand(next manner) {
	if u.last != first && (u.last != joined || next != joined) {
		u.output.put(toOut, "\n")
	}
	u.last = next
}

// Close prints how the command ended, waits until all is written, and gives the exit code: that of an error with a method
// ExitStatus, else 1 for an error and 0 for nil. Where output could not be written the code is 1 at least; see Lost.
func (u *UI) Close(failed error) int {
	u.mu.Lock()
	defer u.mu.Unlock()
	if failed != nil {
		u.fail(BreakLines(failed.Error()))
	} else if !u.hushed {
		u.line("Succeeded")
	}
	if text := u.doc.text(); text != "" {
		u.output.put(toOut, text)
	}
	u.output.drain()
	code := exitCode(failed)
	if lost := u.output.failure(); lost != nil {
		if !unread(lost) {
			u.output.put(toErr, u.failure("Writing output: "+lost.Error())+"\n")
			u.output.drain()
		}
		code = max(code, 1)
	}
	return code
}

// WriteError is the first error of writing to the standard output, if one occurred. What was printed after it is lost.
func (u *UI) WriteError() error { return u.output.failure() }

// fail prints an error: to the other stream, or into the document.
func (u *UI) fail(text string) {
	if u.options.Mode == JSON {
		u.doc.Lines = append(u.doc.Lines, u.options.Name+": Error: "+text)
		return
	}
	u.stand(apart)
	u.output.put(toErr, u.failure(text)+"\n")
}

func (u *UI) failure(text string) string {
	text = u.options.Name + ": Error: " + text
	if u.options.NoColour {
		return text
	}
	return u.Paint(Red, text)
}

// clock is the time of day that begins lines, in a layout of package time.
func (u *UI) clock(layout string) string { return u.options.Now().Local().Format(layout) }
