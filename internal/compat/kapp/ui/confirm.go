package ui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// ErrStopped is the error of a prompt that was answered with no.
var ErrStopped = errors.New("Stopped")

const (
	promptText = "Continue? [yN]: "
	maxPrompts = 10
	maxAnswer  = 4 << 10 // bytes
)

// Confirm asks the user to continue. It returns nil for yes, and ErrStopped for no and for an empty
// line. Input that ends without an answer is an error, as is --json without --yes. A read that is
// under way when the context ends is left behind.
func (u *UI) Confirm(ctx context.Context, in io.Reader) error {
	if u.options.Yes {
		return nil
	}
	if u.options.Mode == JSON {
		return errors.New("Cannot ask for confirmation with --json (hint: add --yes)")
	}
	u.mu.Lock()
	u.separate(loose)
	u.mu.Unlock()
	for range maxPrompts {
		u.output.put(toOut, promptText)
		u.output.drain()
		answer, err := answerOf(ctx, in)
		if err != nil {
			return fmt.Errorf("Asking for confirmation: %w", err)
		}
		if !echoes(in) {
			u.output.put(toOut, answer+"\n")
		}
		switch answer {
		case "y", "Y", "yes":
			return nil
		case "n", "N", "no", "":
			return ErrStopped
		}
		u.output.put(toOut, "invalid input (not y, n, yes, or no)\n")
	}
	return fmt.Errorf("Asking for confirmation: no answer in %d tries", maxPrompts)
}

// echoes reports whether what is typed shows by itself.
func echoes(in io.Reader) bool {
	file, ok := in.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// answerOf reads a line, and not a byte more, without its end.
func answerOf(ctx context.Context, in io.Reader) (string, error) {
	type answer struct {
		text string
		err  error
	}
	read := make(chan answer, 1)
	// A read of a terminal cannot be cancelled: if the context ends first, the goroutine ends with
	// the process.
	go func() {
		text, err := readLine(in)
		read <- answer{text, err}
	}()
	select {
	case a := <-read:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func readLine(in io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		n, err := in.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return string(line), nil
		case n == 1 && one[0] != '\r' && len(line) < maxAnswer:
			line = append(line, one[0])
		}
		if err != nil {
			return "", err
		}
	}
}
