package kustomize

import (
	"bytes"
	"context"
	"io"
	"log"
	"os"
	"strings"
)

// library is the output of the library of kustomize, which prints to standard error and to the
// standard logger of the process.
var library = output{turn: make(chan struct{}, 1)}

// output keeps what the library prints from the terminal, if the process is that of this program. A
// program that uses this one as a Go package may print there at the same time.
type output struct {
	turn chan struct{} // holds a value while a build has the output
	null *os.File      // nil: the process is another's
}

// OwnProcess declares that nothing else in this process prints to os.Stderr and to the standard
// logger. What the library of kustomize prints there becomes warnings from then on. It must be
// called before the first build.
func OwnProcess() {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err == nil {
		library.null = null
	}
}

// capture runs a build, and returns the lines that the library logged. The library prints only
// deprecated fields to standard error, and the tree warns of them.
func (o *output) capture(ctx context.Context, run func() error) (logged []string, err error) {
	if o.null == nil {
		return nil, run()
	}
	select {
	case o.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	lines := &bytes.Buffer{}
	restore := o.redirect(lines)
	defer func() {
		restore()
		<-o.turn
	}()
	err = run()
	for line := range strings.Lines(lines.String()) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "Warning: ")
		if line != "" && len(logged) < maxProblems {
			logged = append(logged, line)
		}
	}
	return logged, err
}

// redirect sends what is logged to a writer, and what is printed to standard error nowhere. The
// function that it returns ends that.
func (o *output) redirect(logged io.Writer) func() {
	stderr, writer, flags := os.Stderr, log.Writer(), log.Flags()
	os.Stderr = o.null
	log.SetOutput(logged)
	log.SetFlags(0)
	return func() {
		os.Stderr = stderr
		log.SetOutput(writer)
		log.SetFlags(flags)
	}
}
