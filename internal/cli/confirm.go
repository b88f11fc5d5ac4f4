package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// IsInteractive reports whether somebody can be asked: the standard input and output are a
// terminal.
func (e *Env) IsInteractive() bool {
	file, ok := e.In.(*os.File)
	return ok && term.IsTerminal(int(file.Fd())) && e.IsTerminal()
}

// Question asks whether something is done.
type Question struct {
	What  string // an imperative
	Place string // the cluster, as Place of Kube returns it; empty if none is concerned
}

// String returns the line in front of the answer. It ends with what matters most: where.
func (q Question) String() string {
	if q.Place == "" {
		return q.What + "? [y/N]: "
	}
	return fmt.Sprintf("%s (%s)? [y/N]: ", q.What, q.Place)
}

// Confirm asks a question on the standard error, and reports whether the answer is yes. The end of
// the input is no.
func (e *Env) Confirm(ctx context.Context, q Question) (bool, error) {
	answer, err := e.Ask(ctx, func() (string, error) {
		fmt.Fprint(e.Err, plaintext.Line(q.String()))
		answers := make(chan string, 1)
		// A read of a terminal cannot be cancelled: if the context ends first, the goroutine ends with
		// the process.
		go func() {
			line, _ := bufio.NewReader(io.LimitReader(e.In, 4<<10)).ReadString('\n')
			answers <- strings.ToLower(strings.TrimSpace(line))
		}()
		select {
		case answer := <-answers:
			return answer, nil
		case <-ctx.Done():
			fmt.Fprintln(e.Err)
			return "", context.Cause(ctx)
		}
	})
	return err == nil && IsYes(answer), err
}

// Ask calls ask, which waits for the answer to a question. If a signal ends it, the error says that
// nothing was changed. Nothing is written before the answer.
func (e *Env) Ask(ctx context.Context, ask func() (string, error)) (string, error) {
	if e.asking != nil {
		e.asking.Add(1)
		defer e.asking.Add(-1)
	}
	answer, err := ask()
	if err != nil && context.Cause(ctx) == (interruption{}) {
		err = unanswered{}
	}
	return answer, err
}

// IsYes reports whether an answer means yes.
func IsYes(answer string) bool { return answer == "y" || answer == "yes" }
