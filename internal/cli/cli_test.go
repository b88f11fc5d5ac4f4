package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/show/view"
)

// testEnv returns an environment whose output goes to buffers.
func testEnv(args ...string) (env *Env, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	env = &Env{Args: args, In: strings.NewReader(""), Out: out, Err: errs, Getenv: os.Getenv,
		Now: time.Now}
	return env, out, errs
}

func TestPrintError(t *testing.T) {
	broken := fmt.Errorf("write: %w", &fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE})
	for _, tc := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{errors.New("no cluster"), 1, "error: no cluster\n"},
		{fmt.Errorf("app: %w", &TextError{Text: "kapp: Error: x\n", Err: errors.New("x")}), 1,
			"kapp: Error: x\n"},
		{errors.New("a\x1b[31mb\a"), 1, "error: a�[31mb�\n"},
		{fmt.Errorf("kapp: %w", plainTest{}), 1, "error: a.yaml:1: bad\n"},
		{errors.Join(fmt.Errorf("kapp: %w", plainTest{}), errors.New("other")), 1,
			"error: a.yaml:1: bad\nother\n"},
		{errors.New(strings.Repeat("x", 5000)), 1,
			"error: " + strings.Repeat("x", 3000) + " … " + strings.Repeat("x", 500) + "\n"},
		{ErrChanges, 2, ""},
		{&ResultError{}, 3, ""},
		{&ResultError{Interrupted: true}, 130, ""},
		{fmt.Errorf("read: %w", context.Canceled), 130, "error: interrupted\n"},
		{fmt.Errorf("read: %w", interruption{}), 130, "error: interrupted\n"},
		{&ExitCodeError{Code: 7}, 7, ""},
		{broken, 141, ""},
		{syscall.EPIPE, 1, "error: broken pipe\n"}, // of a connection, not of the output
	} {
		env, out, errs := testEnv("muster")
		code := env.PrintError(tc.err, false)
		if code != tc.code || errs.String() != tc.text || out.Len() > 0 {
			t.Errorf("%v: exit code %d, %q, want %d, %q", tc.err, code, errs, tc.code, tc.text)
		}
	}
}

// TestPrintErrorAsJSON prints errors of commands whose output is JSON: those that the output does
// not have yet are a line of it, too.
func TestPrintErrorAsJSON(t *testing.T) {
	failed := errors.New("no cluster")
	for _, tc := range []struct {
		err  error
		line string // of the standard output, without the time
	}{
		{failed, `{"error":"no cluster","type":"error"}`},
		{fmt.Errorf("read: %w", context.Canceled), `{"error":"interrupted","type":"error"}`},
		{&TextError{Text: "two\nlines\n", Err: failed}, `{"error":"no cluster","type":"error"}`},
		{&LateError{Err: failed}, ""},
		{&ResultError{}, ""},
		{ErrChanges, ""},
		{nil, ""},
	} {
		env, out, _ := testEnv("muster")
		env.PrintError(tc.err, true)
		got := regexp.MustCompile(`,"timestamp":"[^"]+"`).ReplaceAllString(out.String(), "")
		if strings.TrimSuffix(got, "\n") != tc.line {
			t.Errorf("%v: %q, want %q", tc.err, got, tc.line)
		}
	}
}

// TestOnlyNativeErrorsAreJSON asks for JSON of a native command and of one that keeps the output of
// another tool.
func TestOnlyNativeErrorsAreJSON(t *testing.T) {
	commands := func(env *Env, _ *Kube) []*cobra.Command {
		output := Choice{Value: "text", Allowed: []string{"text", OutputJSON}}
		cmd := &cobra.Command{Use: "show", RunE: func(*cobra.Command, []string) error {
			return errors.New("no cluster")
		}}
		output.AddShortTo(cmd, "output", "o", "Output format")
		return []*cobra.Command{cmd}
	}
	tools := func(env *Env, kube *Kube) []*cobra.Command {
		live := &cobra.Command{Use: "live"}
		live.AddCommand(commands(env, kube)...)
		return []*cobra.Command{live}
	}
	for args, want := range map[string]string{
		"show -o json":                `^{"error":"no cluster",.*}\n$`,
		"show --output=json --naught": `^{"error":"unknown flag: --naught;.*}\n$`,
		"show":                        `^$`,
		"live show -o json":           `^$`,
	} {
		env, out, errs := testEnv(append([]string{"muster"}, strings.Fields(args)...)...)
		code := Main(env, nil, Group{Title: "Commands", Commands: commands},
			Group{Title: "Compatibility", Name: "kpt", Commands: tools})
		if code != ExitError || !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("%s: exit code %d, %q, %s, want %s", args, code, out, errs, want)
		}
	}
}

func TestErrorsHaveTexts(t *testing.T) {
	cause := errors.New("cause")
	for err, want := range map[error]string{
		&ResultError{}:                  "not everything succeeded",
		&ResultError{Interrupted: true}: "interrupted",
		&ExitCodeError{Code: 3}:         "exit code 3",
		&TextError{Err: cause}:          "cause",
		&LateError{Err: cause}:          "cause",
	} {
		if err.Error() != want {
			t.Errorf("%T: %q, want %q", err, err, want)
		}
	}
	if !errors.Is(&TextError{Err: cause}, cause) {
		t.Error("TextError hides its cause")
	}
}

func TestRunError(t *testing.T) {
	for _, tc := range []struct {
		outcome event.Outcome
		want    error
	}{
		{event.Succeeded, nil},
		{event.Skipped, nil},
		{event.Failed, &ResultError{}},
		{event.Interrupted, &ResultError{Interrupted: true}},
	} {
		var s event.Summary
		s.Add(event.Event{Kind: event.Settled, Outcome: tc.outcome})
		if err := RunError(s); fmt.Sprint(err) != fmt.Sprint(tc.want) {
			t.Errorf("%s: %v, want %v", tc.outcome, err, tc.want)
		}
	}
}

func TestMainChoosesByName(t *testing.T) {
	group := func(title, name, command string) Group {
		return Group{Title: title, Name: name, Commands: func(env *Env, _ *Kube) []*cobra.Command {
			return []*cobra.Command{
				{Use: command, Short: "Run " + command, Run: func(*cobra.Command, []string) {
					fmt.Fprintln(env.Out, command)
				}},
			}
		}}
	}
	groups := []Group{group("Packages", "kpt", "apply"), group("Apps", "", "deploy")}
	programs := map[string]Program{"kapp": func(_ context.Context, env *Env, _ *Kube) int {
		fmt.Fprintln(env.Out, "program")
		return 9
	}, "broken": func(context.Context, *Env, *Kube) int { panic("no map") }}
	for _, tc := range []struct {
		args, out string
		code      int
	}{
		{"/bin/muster apply", "apply\n", 0},
		{"muster.exe deploy", "deploy\n", 0},
		{"muster unknown", "", 1},
		{"muster apply --unknown", "", 1},
		{"kpt apply", "apply\n", 0},
		{"kpt deploy", "", 1},
		{"kapp deploy", "program\n", 9},
		{"muster kapp deploy --unknown", "program\n", 9},
		{"muster version", "muster version " + newBuild(readBuild()).text() + "\n", 0},
		{"kpt version --short", newBuild(nil).kptText(true), 0},
		{"muster version --short", "", 1},
	} {
		env, out, _ := testEnv(strings.Fields(tc.args)...)
		code := Main(env, programs, groups...)
		if code != tc.code || tc.code != 1 && out.String() != tc.out {
			t.Errorf("%s: exit code %d, %q, want %d, %q", tc.args, code, out, tc.code, tc.out)
		}
	}
	env, _, errs := testEnv("broken")
	const internal = "error: internal error: no map; GOTRACEBACK=all prints where\n"
	if code := Main(env, programs); code != ExitError || errs.String() != internal {
		t.Errorf("a panic: exit code %d, %q", code, errs)
	}
	env, out, _ := testEnv("muster", "--help")
	Main(env, programs, groups...)
	for _, want := range []string{"Packages:\n  apply", "Apps:\n", "  deploy      Run",
		`Use "muster options" for`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the help lacks %q:\n%s", want, out)
		}
	}
}

// TestSignals sends signals to the test's own process, which waits for the context and not for
// time.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		env, _, errs := testEnv("muster")
		ctx, stop := interruptible(env)
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) ||
			cause.Error() != "interrupted" {
			t.Errorf("%s: cause %v", sig, cause)
		}
		if !strings.HasPrefix(errs.String(), "interrupted: finishing writes in progress") {
			t.Errorf("%s: printed %q", sig, errs)
		}
		stop()
	}
	env, _, errs := testEnv("muster")
	ctx, stop := interruptible(env)
	var in io.Closer
	env.In, in = io.Pipe()
	defer in.Close()
	copied := *env // as commands do to print elsewhere
	asked := make(chan error)
	env.Err = notifyingWriter{errs, "? [y/N]: ", func() {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			t.Error(err)
		}
	}}
	copied.Err = env.Err
	go func() {
		_, err := copied.Confirm(ctx, Question{What: "Delete all"})
		asked <- err
	}()
	if err := <-asked; err == nil || err.Error() != "interrupted: nothing was changed" {
		t.Errorf("at a question: error %v", err)
	}
	stop()
	if strings.Contains(errs.String(), "finishing writes") {
		t.Errorf("at a question: printed %q", errs)
	}
	env, _, errs = testEnv("muster")
	ctx, stop = interruptible(env)
	stop()
	if <-ctx.Done(); errs.Len() > 0 {
		t.Errorf("without a signal: printed %q", errs)
	}
}

// notifyingWriter calls a function after a write that ends in some text.
type notifyingWriter struct {
	io.Writer
	suffix string
	notify func()
}

func (w notifyingWriter) Write(p []byte) (n int, err error) {
	n, err = w.Writer.Write(p)
	if strings.HasSuffix(string(p), w.suffix) {
		w.notify()
	}
	return n, err
}

// TestHangups sends what the end of a terminal does: SIGHUP more than once. Only another signal
// quits a run that finishes its writes.
func TestHangups(t *testing.T) {
	signals, done, ended := make(chan os.Signal), make(chan struct{}), make(chan struct{})
	first, again := 0, 0
	go func() {
		handleSignals(signals, done, func() { first++ }, func() { again++ })
		close(ended)
	}()
	signals <- syscall.SIGHUP
	signals <- syscall.SIGHUP
	signals <- syscall.SIGHUP
	signals <- syscall.SIGINT
	close(done)
	if <-ended; first != 1 || again != 1 {
		t.Errorf("%d signals interrupt and %d quit, want 1 and 1", first, again)
	}
}

// TestFullscreen checks on which terminals screens are drawn.
func TestFullscreen(t *testing.T) {
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal to test with: ", err)
	}
	defer tty.Close()
	for _, tc := range []struct {
		term, ci      string
		noColor       string
		drawn, colour bool
	}{
		{term: "xterm", drawn: true, colour: true},
		{term: "no-such-terminal", drawn: true, colour: true},
		{term: "xterm", noColor: "1", drawn: true},
		{term: "xterm", ci: "false", drawn: true, colour: true},
		{term: "xterm", ci: "0", drawn: true, colour: true},
		{term: "xterm", ci: "true"},
		{term: "xterm", ci: "woodpecker"},
		{term: ""}, {term: "dumb"}, {term: "unknown"}, {term: "emacs"},
	} {
		env, _, _ := testEnv("muster")
		env.In, env.Out = tty, tty
		env.Getenv = func(name string) string {
			return map[string]string{"TERM": tc.term, "CI": tc.ci, "NO_COLOR": tc.noColor}[name]
		}
		o, drawn := env.Fullscreen()
		if drawn != tc.drawn || o.Colour != tc.colour {
			t.Errorf("%+v: drawn %t, in colour %t", tc, drawn, o.Colour)
		}
	}
}

func TestTerminal(t *testing.T) {
	env, _, _ := testEnv("muster")
	if env.IsTerminal() || !reflect.DeepEqual(env.Terminal(), view.Terminal{}) {
		t.Error("a buffer is a terminal")
	}
	tty, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminal to test with: ", err)
	}
	defer tty.Close()
	stderr := &view.TerminalWriter{Out: tty}
	env.Out, env.Err = tty, stderr
	for _, tc := range []struct {
		term, noColor string
		live, colour  bool
	}{
		{"xterm", "", true, true},
		{"xterm", "1", true, false},
		{"dumb", "", false, false},
	} {
		t.Setenv("TERM", tc.term)
		t.Setenv("NO_COLOR", tc.noColor)
		got := env.Terminal()
		if !env.IsTerminal() || got.Live != tc.live || got.Colour != tc.colour || got.Stderr != stderr {
			t.Errorf("%+v: %+v", tc, got)
		}
	}
	if env := ProcessEnv(); env.Out != os.Stdout || len(env.Args) == 0 {
		t.Error("the environment of the process is another one")
	}
}

// A flag that users of other tools try names what to do instead, by its shorthand too.
func TestForeignFlags(t *testing.T) {
	for args, want := range map[string]string{
		"destroy -A":             "'list -A' shows all",
		"destroy --cascade=x":    "--delete-propagation-policy",
		"apply --prune":          "--no-prune",
		"apply -Rv":              "all folders below",
		"inspect -w":             "'status --watch'",
		"tree -l a=b":            "'inspect -l'",
		"list --no-headers":      "-o name",
		"list --cascade":         "see 'muster list --help'",
		"list -o jsonpath={.x}":  "-o json",
		"list -o go-template=xx": "-o json",
	} {
		words := strings.Fields(args)
		commands := func(*Env, *Kube) []*cobra.Command {
			output := Choice{Value: "table", Meaning: "output", Allowed: []string{"table", OutputJSON}}
			cmd := &cobra.Command{Use: words[0], RunE: func(*cobra.Command, []string) error {
				return output.Check()
			}}
			output.AddShortTo(cmd, "output", "o", "Output format")
			return []*cobra.Command{cmd}
		}
		env, _, errs := testEnv(append([]string{"muster"}, words...)...)
		code := Main(env, nil, Group{Title: "Commands", Commands: commands})
		if code != ExitError || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit code %d, %s, want %s", args, code, errs, want)
		}
	}
}

// plainTest is an error with a plain text.
type plainTest struct{}

func (plainTest) Error() string { return "panic: bad" }

func (plainTest) PlainText() string { return "a.yaml:1: bad" }
