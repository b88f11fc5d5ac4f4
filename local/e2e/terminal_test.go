package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
)

// terminal runs a command on a terminal of its own and checks its exit code. Afterwards stdout is
// what the screen shows at the end, and stderr the bytes that came. What somebody does meanwhile is
// in a file, a step in each line:
//
//	see REGEXP                  wait until the screen matches
//	type TEXT                   write a line; what is typed is Enter alone if there is no text
//	press ^C                    interrupt
//	keys TEXT                   type without Enter; as in Go, \x1b[B is the key Down
//	resize COLUMNS ROWS         change the size
//	hang up                     let the terminal disappear
//	run COMMAND [ARGUMENT]...   run a command beside it, which must succeed
//	fail COMMAND [ARGUMENT]...  run a command beside it, which must fail
func terminal(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 5, neg, "terminal CODE COLUMNS ROWS FILE COMMAND [ARGUMENT]...")
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	defer cancel()
	s := &session{
		ts:     ts,
		ctx:    ctx,
		screen: screen{columns: number(ts, args[1]), rows: number(ts, args[2])},
	}
	cmd := exec.CommandContext(ctx, args[4], args[5:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = append(
		os.Environ(),
		"KUBECONFIG="+ts.Getenv("KUBECONFIG"),
		"HOME="+ts.Getenv("HOME"),
		"PATH="+ts.Getenv("PATH"),
		defectVariable(ts),
		"TERM=xterm",
		"NO_COLOR=",
		"CI=",
		"LC_ALL=C.UTF-8",
		"FORCE_COLOR=",
	)
	var err error
	s.file, err = pty.StartWithSize(
		cmd,
		&pty.Winsize{Cols: uint16(s.screen.columns), Rows: uint16(s.screen.rows)},
	)
	ts.Check(err)
	defer s.file.Close()
	s.read()
	for line := range strings.Lines(ts.ReadFile(args[3])) {
		s.do(strings.TrimSpace(line))
	}
	for s.more() {
	}
	err = cmd.Wait()
	if exited := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exited) {
		ts.Check(err)
	}
	_, err = ts.Stdout().Write([]byte(s.screen.text()))
	ts.Check(err)
	_, err = ts.Stderr().Write(s.raw)
	ts.Check(err)
	if got := cmd.ProcessState.ExitCode(); got != number(ts, args[0]) {
		ts.Fatalf("%s ended with exit code %d, want %s", args[4], got, args[0])
	}
}

// session is a command on a terminal.
type session struct {
	ts     *testscript.TestScript
	ctx    context.Context
	file   *os.File
	chunks chan []byte // closed when nobody can write to the terminal any more
	screen screen
	raw    []byte
}

// read begins to read what is written to the terminal. It ends with the programs that hold it, or
// when the file is closed.
func (s *session) read() {
	s.chunks = make(chan []byte)
	go func() {
		defer close(s.chunks)
		for {
			chunk := make([]byte, 4<<10)
			n, err := s.file.Read(chunk)
			if err != nil {
				return
			}
			select {
			case s.chunks <- chunk[:n]:
			case <-s.ctx.Done():
				return
			}
		}
	}()
}

// more takes in what comes next, and reports whether there was anything.
func (s *session) more() bool {
	select {
	case chunk, ok := <-s.chunks:
		s.raw = append(s.raw, chunk...)
		if _, err := s.screen.Write(chunk); err != nil {
			s.ts.Fatalf("%v; the screen:\n%s", err, s.screen.text())
		}
		return ok
	case <-s.ctx.Done():
		s.ts.Fatalf("it does not end; the screen:\n%s", s.screen.text())
		return false
	}
}

// do takes a step.
func (s *session) do(step string) {
	what, rest, _ := strings.Cut(step, " ")
	switch what {
	case "see":
		for pattern := regexp.MustCompile(rest); !pattern.MatchString(s.screen.text()); {
			if !s.more() {
				s.ts.Fatalf("it has ended, and the screen has not come to match %q:\n%s", rest, s.screen.text())
			}
		}
	case "type":
		s.write(rest + "\r")
	case "press":
		if rest != "^C" {
			s.ts.Fatalf("unknown key %q", rest)
		}
		s.write("\x03")
	case "keys":
		text, err := strconv.Unquote(`"` + rest + `"`)
		s.ts.Check(err)
		s.write(text)
	case "resize":
		size := strings.Fields(rest)
		s.screen.resize(number(s.ts, size[0]), number(s.ts, size[1]))
		s.ts.Check(pty.Setsize(s.file, &pty.Winsize{
			Cols: uint16(s.screen.columns), Rows: uint16(s.screen.rows),
		}))
	case "hang":
		s.ts.Check(s.file.Close())
	case "run", "fail":
		command := strings.Fields(rest)
		if err := s.ts.Exec(command[0], command[1:]...); (err == nil) != (what == "run") {
			s.ts.Fatalf("%s: %v", step, err)
		}
	default:
		s.ts.Fatalf("unknown step %q", step)
	}
}

func (s *session) write(keys string) {
	_, err := s.file.WriteString(keys)
	s.ts.Check(err)
}
