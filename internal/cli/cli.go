// Package cli is what every command shares: the environment it runs in, the flags that find the cluster, signals, and the
// mapping of errors to exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/klog/v2"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/view"
)

// Env is what a command may use of the process: its arguments (the first is the name by which it was called), its
// three streams, its environment and its clock.
type Env struct {
	Args   []string
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Getenv func(string) string // returns a variable of the environment
	Now    func() time.Time    // returns the time of day
}

// ProcessEnv is the environment of this process. What is written to Err on a terminal stands beside what is drawn there.
func ProcessEnv() *Env {
	env := &Env{
		Args: os.Args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: os.Getenv, Now: time.Now,
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		env.Err = &view.TerminalWriter{Out: os.Stderr}
	}
	return env
}

// Name is the name by which the program was called, without its folder.
func (e *Env) Name() string {
	return strings.TrimSuffix(filepath.Base(e.Args[0]), ".exe")
}

// Exit codes, as every command's help lists them.
const (
	exitDone        = 0
	exitError       = 1
	exitChanges     = 2
	exitIncomplete  = 3
	exitInterrupted = ExitInterrupted
	exitUnread      = 141 // what shells give for a process that SIGPIPE has ended
)

// ExitInterrupted is the exit code of a run that was told to end.
const ExitInterrupted = 130

// ExitCodes is the paragraph of help that lists the exit codes of commands that change a cluster.
const ExitCodes = `Exit codes:
  0    everything was done
  1    nothing was done, or the record could not be saved, or everything was done but the output could
       not be written: the error says which
  3    the run finished, but an object failed or was not ready in time
  130  the run was interrupted; the record is complete and the same command continues`

// ResultError says that a run ended otherwise than well. It has no text of its own: the run's output told it already.
type ResultError struct{ Interrupted bool }

func (e *ResultError) Error() string {
	if e.Interrupted {
		return "interrupted"
	}
	return "not everything succeeded"
}

// ErrChanges says that a plan would change something, to those who asked for it. It has no text of its own.
var ErrChanges = errors.New("something would change")

// ExitCodeError ends the process with a code of its command's own. It has no text: the command told what there was to tell.
type ExitCodeError struct{ Code int }

func (e *ExitCodeError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// TextError is an error with the text that is printed for it, to its last newline, instead of the usual line.
type TextError struct {
	Text string
	Err  error
}

func (e *TextError) Error() string { return e.Err.Error() }

// Unwrap gives the error itself.
func (e *TextError) Unwrap() error { return e.Err }

// IsBrokenPipe reports whether an error is that nobody reads the output any more, as when it goes to a program that has ended.
func IsBrokenPipe(err error) bool {
	file := (*fs.PathError)(nil) // a connection that broke has an error of another type
	return errors.As(err, &file) && errors.Is(file, syscall.EPIPE)
}

// RunError is the error of a run, by its summary: nil if all went well.
func RunError(s event.Summary) error {
	if s.Interrupted {
		return &ResultError{Interrupted: true}
	}
	if s.Failures() > 0 {
		return &ResultError{}
	}
	return nil
}

// Group is the commands of one grammar.
type Group struct {
	Title    string // above them in the help
	Name     string // a program that is called so has them alone, without the title; none for most groups
	Commands func(*Env, *Kube) []*cobra.Command
}

// Program runs a command line of its own, for a name by which this program may be called, and gives the exit code.
type Program func(context.Context, *Env, *Kube) int

// Main runs the command line of the environment and gives the exit code: that of the program of its name, or else of one with
// the group of its name, or else of one with all groups.
func Main(env *Env, programs map[string]Program, groups ...Group) int {
	klog.SetLogger(klog.Logger{}) // libraries have nothing to say to our users
	spare()
	ctx, stop := interruptible(env)
	defer stop()
	if run, ok := programs[env.Name()]; ok {
		return run(ctx, env, newKube(env))
	}
	root := newRoot(env, groups)
	return exitCode(env, root.ExecuteContext(ctx))
}

func newRoot(env *Env, groups []Group) *cobra.Command {
	kube := newKube(env)
	root := &cobra.Command{
		Use:   env.Name(),
		Short: "Deploy sets of Kubernetes objects as one unit",
		Long: `Deploy sets of Kubernetes objects as one unit: apply them in order, wait until they are
really ready, prune what is gone, and remember what was deployed.

A package is a folder that says which record is its own; an app is a name and any manifests.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetArgs(env.Args[1:])
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	kube.addFlags(root.PersistentFlags())
	root.AddCommand(newVersion(env))
	for _, group := range groups {
		if group.Name != "" && group.Name == env.Name() {
			root.AddCommand(group.Commands(env, kube)...)
			return root
		}
	}
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.Title, Title: group.Title + ":"})
		for _, cmd := range group.Commands(env, kube) {
			cmd.GroupID = group.Title
			root.AddCommand(cmd)
		}
	}
	return root
}

// exitCode prints the error, if it has something to say, and maps it to the exit code.
func exitCode(env *Env, err error) int {
	result, told, coded := (*ResultError)(nil), (*TextError)(nil), (*ExitCodeError)(nil)
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &coded):
		return coded.Code
	case errors.As(err, &result) && result.Interrupted:
		return exitInterrupted
	case errors.As(err, &result):
		return exitIncomplete
	case errors.Is(err, ErrChanges):
		return exitChanges
	case IsBrokenPipe(err):
		return exitUnread
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(env.Err, "error: interrupted")
		return exitInterrupted
	case errors.As(err, &told):
		fmt.Fprint(env.Err, told.Text)
		return exitError
	default:
		fmt.Fprintln(env.Err, "error:", err)
		return exitError
	}
}
