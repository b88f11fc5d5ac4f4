// Package cli holds the parts that all commands share: environment, cluster flags, signals, and the
// mapping of errors to exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/show/view"
)

// Env is the part of the process that commands may use: its arguments, beginning with the name of
// the program, its three streams, its environment variables and its clock.
type Env struct {
	Args   []string
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
	Getenv func(string) string // returns a variable of the environment
	Now    func() time.Time    // returns the time of day

	// AnswerTime is how long a server of the cluster may take to begin an answer, and to continue it.
	// If it is not set, it is the default of package cluster.
	AnswerTime limit.Time

	// Restorer restores a terminal on which a screen is drawn. Nil means that none is drawn on.
	Restorer *fullscreen.Restorer

	kube   *Kube         // that of the command; nil before there is one
	asking *atomic.Int32 // the open questions; nil if no signals are handled
}

// ProcessEnv returns the environment of this process. On a terminal, Err is a writer that other
// output to the terminal can be coordinated with.
func ProcessEnv() *Env {
	env := &Env{
		Args: os.Args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		Getenv: os.Getenv, Now: time.Now, Restorer: new(fullscreen.Restorer),
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		err := &view.TerminalWriter{Out: os.Stderr}
		if env.IsASCII() {
			err.Out = asciiTerminal{os.Stderr}
		}
		env.Err = err
	} else if env.inJob() {
		env.Err = &plaintext.LogWriter{Out: os.Stderr}
	}
	if env.inJob() && !env.IsTerminal() && !isFile(os.Stdout) {
		env.Out = &plaintext.LogWriter{Out: os.Stdout}
	}
	return env
}

// jobVariables are set in the jobs of services that take lines of a log for commands.
var jobVariables = []string{"GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "TEAMCITY_VERSION"}

// inJob reports whether what is printed may be the log of a job that takes lines for commands.
func (e *Env) inJob() bool {
	return slices.ContainsFunc(jobVariables, func(name string) bool { return e.Getenv(name) != "" })
}

// isFile reports whether a stream is a file, which is no log.
func isFile(stream *os.File) bool {
	info, err := stream.Stat()
	return err == nil && info.Mode().IsRegular()
}

// Raw returns a writer for what programs read, and for commands to a job: nothing of it is changed.
func Raw(out io.Writer) io.Writer {
	if log, ok := out.(*plaintext.LogWriter); ok {
		return log.Out
	}
	return out
}

// Name returns the name of the called program, without its folder.
func (e *Env) Name() string {
	return strings.TrimSuffix(filepath.Base(e.Args[0]), ".exe")
}

// Notice prints lines for the user on the standard error.
func (e *Env) Notice(text string) { fmt.Fprintln(e.Err, plaintext.Text(text)) }

// Print prints lines for people on the standard output.
func (e *Env) Print(text string) error {
	if _, err := fmt.Fprintln(e.Out, plaintext.Text(text)); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// Exit codes, as every command's help lists them.
const (
	exitDone        = 0
	ExitError       = 1
	exitChanges     = 2
	exitIncomplete  = 3
	ExitRolledBack  = 4
	ExitInterrupted = 130
	exitUnread      = 141 // the code of shells for a process ended by SIGPIPE
)

// ExitCodes is the help text on the exit codes of commands that change a cluster.
const ExitCodes = `Exit codes:
  0    everything was done
  1    nothing was done, or the record could not be saved, or everything was done but the output could
       not be written: the error says which
  3    the run finished, but an object failed, was not ready in time, was held back, or was not applied
       or destroyed because it belongs to others; or the run lost its lock, and the error says to whom
  130  the run was interrupted; the record is complete and the same command continues`

// ResultError reports that a run failed. It has no text to print: the output of the run has it.
type ResultError struct{ Interrupted bool }

func (e *ResultError) Error() string {
	if e.Interrupted {
		return "interrupted"
	}
	return "not everything succeeded"
}

// OutputError reports output of a run that could not be written. The result of the run counts more.
type OutputError struct {
	Err    error // of the output
	Result error // of the run; nil if it succeeded
}

func (e *OutputError) Error() string {
	if e.Result != nil {
		return e.Err.Error()
	}
	return e.Err.Error() + "; the run completed without it, and the record is complete"
}

// Unwrap returns the result of the run and the error of the output.
func (e *OutputError) Unwrap() []error {
	if e.Result == nil {
		return []error{e.Err}
	}
	return []error{e.Result, e.Err}
}

// ErrChanges reports that a plan has changes. It has no text to print.
var ErrChanges = errors.New("something would change")

// ExitCodeError ends the process with an exit code. It has no text to print.
type ExitCodeError struct{ Code int }

func (e *ExitCodeError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// TextError is an error that is printed as Text, instead of in the usual line.
type TextError struct {
	Text string
	Err  error
}

func (e *TextError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the text.
func (e *TextError) Unwrap() error { return e.Err }

// LateError is an error after the result was printed. JSON output that is one document does not
// have it.
type LateError struct{ Err error }

func (e *LateError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e *LateError) Unwrap() error { return e.Err }

// IsBrokenPipe reports whether the reader of the output has closed it.
func IsBrokenPipe(err error) bool {
	file := (*fs.PathError)(nil) // a connection that broke has an error of another type
	return errors.As(err, &file) && errors.Is(file, syscall.EPIPE)
}

// RunError returns the error for the summary of a run, nil if all steps succeeded and no object was
// refused.
func RunError(s event.Summary) error {
	if s.Interrupted {
		return &ResultError{Interrupted: true}
	}
	if s.Failures() > 0 || s.Refused > 0 {
		return &ResultError{}
	}
	return nil
}

// Group is a group of commands.
type Group struct {
	Title    string // heading in the help
	Name     string // a program with this name has these commands only
	Commands func(*Env, *Kube) []*cobra.Command
}

// Program runs the command line of a program that has a name of its own, and returns the exit code.
type Program func(context.Context, *Env, *Kube) int

// command returns the command that runs the program below the root, with all that follows its name.
// Flags of the root may be before that.
func (p Program) command(env *Env, kube *Kube, name string) *cobra.Command {
	return &cobra.Command{
		Use:                name,
		Short:              "Run a command as " + name + " does, with its flags, output and exit codes",
		DisableFlagParsing: true,
		ValidArgsFunction:  p.complete(env, kube, name),
		RunE: func(cmd *cobra.Command, _ []string) error {
			args, err := kube.parseLeading(env.Args[1:])
			if err != nil {
				return err
			}
			as := *env
			as.Args = args // the first is the name
			if code := p(cmd.Context(), &as, kube); code != exitDone {
				return &ExitCodeError{Code: code}
			}
			return nil
		},
	}
}

// Main runs the command line of the environment and returns the exit code. The name of the called
// program selects a program, else a group, else all groups. A panic is printed and returns the code
// of an error, since that of the runtime means something else to some commands. Stack traces are
// printed only if GOTRACEBACK asks for them.
func Main(env *Env, programs map[string]Program, groups ...Group) (code int) {
	defer func() {
		if cause := recover(); cause != nil {
			env.crash(cause, debug.Stack())
			code = ExitError
		}
	}()
	klog.SetLogger(klog.Logger{}) // log messages of libraries are not for users
	limitGarbage()
	ctx, stop := interruptible(env)
	defer stop()
	exit := func(cause any, stack []byte) {
		env.crash(cause, stack)
		os.Exit(ExitError)
	}
	ctx = crash.With(ctx, exit)
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, // in goroutines of the libraries
		func(_ context.Context, cause any) { exit(cause, debug.Stack()) })
	if run, ok := programs[env.Name()]; ok {
		return run(ctx, env, newKube(env))
	}
	root := NewRoot(env, programs, groups)
	cmd, err := root, checkArgs(root, env.Args[1:])
	if err == nil {
		cmd, err = root.ExecuteContextC(ctx)
	}
	return env.PrintError(err, printsJSON(cmd))
}

// crash restores the terminal and prints a panic. What was written beside a screen is lost.
func (e *Env) crash(cause any, stack []byte) {
	e.Restorer.Restore()
	out := e.Err
	if terminal, ok := out.(*view.TerminalWriter); ok {
		out = terminal.Out
	}
	fmt.Fprintf(out, "error: internal error: %s; GOTRACEBACK=all prints where\n",
		plaintext.Text(fmt.Sprint(cause)))
	if e.Getenv("GOTRACEBACK") != "" {
		fmt.Fprintf(out, "%s", stack)
	}
}

// native is the annotation of commands whose output and errors are not those of another tool.
const native = "native"

// printsJSON reports whether the output of a native command is JSON.
func printsJSON(cmd *cobra.Command) bool {
	output := cmd.Flags().Lookup("output")
	for ; cmd.HasParent() && cmd.Annotations[native] == ""; cmd = cmd.Parent() {
	}
	if output == nil || cmd.Annotations[native] == "" {
		return false
	}
	if readers, ok := output.Value.(interface{ PrintsJSON() bool }); ok {
		return readers.PrintsJSON()
	}
	return output.Value.String() == OutputJSON
}

// NewRoot returns the command with all commands of the programs and groups.
func NewRoot(env *Env, programs map[string]Program, groups []Group) *cobra.Command {
	kube := newKube(env)
	root := &cobra.Command{
		Use:   env.Name(),
		Short: "Deploy sets of Kubernetes objects as one unit",
		Long: `Deploy sets of Kubernetes objects as one unit: apply them in order, wait until they are
really ready, prune what is gone, and remember what was deployed.

A package is a folder of manifests with a file that identifies it in the cluster. An app is a name
that you give to any set of manifests.`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetArgs(env.Args[1:])
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	kube.addFlags(root.PersistentFlags())
	kube.addCompletion(root)
	root.AddCommand(newVersion(env))
	for _, group := range groups {
		if group.Name != "" && group.Name == env.Name() {
			root.AddCommand(group.Commands(env, kube)...)
			return root
		}
	}
	root.Version = newBuild(readBuild()).text()
	root.AddCommand(newOptions(env), newCompletion(env, root))
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd.HasParent() {
			return err // as other tools print it
		}
		return flagError(cmd, err)
	})
	root.SetUsageFunc(usage(root.UsageFunc()))
	for _, group := range groups {
		if !root.ContainsGroup(group.Title) {
			root.AddGroup(&cobra.Group{ID: group.Title, Title: group.Title + ":"})
		}
		as := env
		if group.Name == "" {
			as = env.inLocale()
		}
		for _, cmd := range group.Commands(as, kube) {
			cmd.GroupID = group.Title
			if group.Name == "" { // the others have the texts of the tools whose name they have
				cmd.SetFlagErrorFunc(flagError)
				hintValues(cmd)
				cmd.Annotations = map[string]string{native: group.Title}
			}
			root.AddCommand(cmd)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(programs)) {
		cmd := programs[name].command(env, kube, name)
		if len(groups) > 0 {
			cmd.GroupID = groups[len(groups)-1].Title
		}
		root.AddCommand(cmd)
	}
	suggestCommands(root, env.Args[1:])
	return root
}

// plainError is an error whose text is that of another tool. The plain text replaces it, and the
// texts of the errors that wrap it.
type plainError interface {
	error
	PlainText() string
}

// plainText returns the text of an error for users, and of each error that was joined.
func plainText(err error) string {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var was, texts []string
		for _, one := range joined.Unwrap() {
			was, texts = append(was, one.Error()), append(texts, plainText(one))
		}
		if strings.Join(was, "\n") == err.Error() {
			return strings.Join(texts, "\n")
		}
		return err.Error()
	}
	if plain, ok := err.(plainError); ok {
		return plain.PlainText()
	}
	if inner := errors.Unwrap(err); inner != nil {
		if text := plainText(inner); text != inner.Error() {
			return text
		}
	}
	return err.Error()
}

// PrintError prints the error of a command, unless the output has it already, and returns its exit
// code: 0 for nil. If the output is JSON, the error is a line of it, too, unless it is a LateError.
func (e *Env) PrintError(err error, isJSON bool) int {
	unwritten := (*OutputError)(nil)
	if errors.As(err, &unwritten) && unwritten.Result != nil {
		fmt.Fprintln(e.Err, "error:", plaintext.Text(unwritten.Error()))
		return e.PrintError(unwritten.Result, isJSON)
	}
	result, withText, coded := (*ResultError)(nil), (*TextError)(nil), (*ExitCodeError)(nil)
	lost := (*lock.LostError)(nil)
	code, text := ExitError, ""
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &coded):
		return coded.Code
	case errors.As(err, &lost):
		code, text = exitIncomplete, lost.Error()
	case errors.As(err, &result) && result.Interrupted:
		return ExitInterrupted
	case errors.As(err, &result):
		return exitIncomplete
	case errors.Is(err, ErrChanges):
		return exitChanges
	case IsBrokenPipe(err):
		return exitUnread
	case errors.Is(err, unanswered{}):
		code, text = ExitInterrupted, unanswered{}.Error()
	case errors.Is(err, context.Canceled):
		code, text = ExitInterrupted, "interrupted"
	default:
		text = plainText(err)
	}
	if isJSON && !errors.As(err, new(*LateError)) {
		_ = view.JSONLines{Out: e.Out, Now: e.Now}.Fail(text) // the text below matters more
	}
	if code == ExitError && errors.As(err, &withText) {
		fmt.Fprint(e.Err, plaintext.Printable(withText.Text)) // whole, as the other tool prints it
	} else {
		fmt.Fprintln(e.Err, "error:", plaintext.Text(text))
	}
	return code
}
