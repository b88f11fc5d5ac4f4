package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/muster-deploy/muster/internal/cli"
)

// TestRunMembers ends a group with the error of its first and of its second set.
func TestRunMembers(t *testing.T) {
	broken := &fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
	for _, tc := range []struct {
		err           error
		first, second int
		text, word    string
	}{
		{errors.New("no cluster"), 1, 3, "error: no cluster\n", "failed"},
		{&cli.ResultError{}, 3, 3, "", "failed"},
		{&cli.ResultError{Interrupted: true}, 130, 130, "", "was interrupted"},
		{fmt.Errorf("read: %w", context.Canceled), 130, 130, "error: interrupted\n", "was interrupted"},
		{fmt.Errorf("write: %w", broken), 141, 141, "", "failed"},
	} {
		run := func(failing string) (code int, text string) {
			var errs bytes.Buffer
			env := &cli.Env{Err: &errs}
			err := runMembers(env, []member{{app: "a"}, {app: "b"}}, false, func(m member) error {
				if m.app == failing {
					return tc.err
				}
				return nil
			})
			text = errs.String()
			return env.PrintError(err, false), text
		}
		code, text := run("a")
		want := "--- app \"a\"\n" + tc.text + "0 of 2 sets of the group succeeded; app \"a\" " + tc.word +
			"; not begun: app \"b\"\n"
		if code != tc.first || text != want {
			t.Errorf("first set: %v: code %d, %q, want %d, %q", tc.err, code, text, tc.first, want)
		}
		code, text = run("b")
		want = "--- app \"a\"\n--- app \"b\"\n" + tc.text + "1 of 2 sets of the group succeeded; " +
			"app \"b\" " + tc.word + "\n"
		if code != tc.second || text != want {
			t.Errorf("second set: %v: code %d, %q, want %d, %q", tc.err, code, text, tc.second, want)
		}
	}
}
