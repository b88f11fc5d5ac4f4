package kapp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/input"
)

// manager is the field manager of all writes.
const manager = app.Manager

// session is one run of a command.
type session struct {
	*program
	ui        *ui.UI
	client    cluster.Writer // nil until the command has connected
	apps      *deploy.Client
	namespace string // of resources that name none
}

// newSession returns a session without a connection.
func (p *program) newSession(tty bool) *session {
	s := &session{program: p, ui: p.newUI(tty)}
	s.apps = &deploy.Client{
		Client: app.Client{Printer: s.ui, Now: p.env.Now},
		Notice: func(text string) { fmt.Fprintln(p.env.Err, plaintext.Printable(text)) },
	}
	if !p.global.yes {
		s.apps.Confirm = func(ctx context.Context) error {
			_, err := s.env.Ask(ctx, func() (string, error) { return "", s.ui.Confirm(ctx, s.env.In) })
			return err
		}
	}
	return s
}

// command adds the flag --tty to a command, and makes it run with a session. Its errors are
// printed in kapp's form, and its exit code is kapp's. A command without a rule for its arguments
// takes none.
func (p *program) command(
	cmd *cobra.Command, tty bool, run func(context.Context, *session) error,
) *cobra.Command {
	cmd.Flags().BoolVar(&tty, "tty", tty, "Force TTY-like output")
	check := func(*cobra.Command, []string) error { return nil }
	if cmd.Args == nil {
		cmd.Args, check = cobra.ArbitraryArgs, alone
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, started := p.newSession(tty), p.env.Now()
		s.ui.Debug("start", "CommandRun")
		err := check(cmd, args)
		if err == nil {
			err = run(cmd.Context(), s)
		}
		s.ui.Debug(fmt.Sprintf("end (%s)", p.env.Now().Sub(started)), "CommandRun")
		return p.end(cmd.Context(), s.ui, err)
	}
	return cmd
}

// exit returns the exit code of the program. If no command has printed its end, it prints an
// error of the command line, or that the program succeeded. As in kapp, help and shell completion
// print nothing.
func (p *program) exit(ctx context.Context, err error) int {
	coded := (*cli.ExitCodeError)(nil)
	if err == nil && p.closed {
		return 0
	}
	if !errors.As(err, &coded) {
		if u := p.helpUI(); slices.Contains(silent, p.commandName()) {
			u.Quiet()
		}
		err = p.end(ctx, p.helpUI(), err)
	}
	if errors.As(err, &coded) {
		return coded.Code
	}
	return 0
}

// silent has the commands that do not print that they succeeded.
var silent = []string{"help", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// commandName returns the first argument that is no flag.
func (p *program) commandName() string {
	at := slices.IndexFunc(p.env.Args[1:],
		func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	if at < 0 {
		return ""
	}
	return p.env.Args[1+at]
}

// helpUI returns the UI for help and errors of the command line. As in kapp, it is decorated even
// without a terminal.
func (p *program) helpUI() *ui.UI {
	if p.help == nil {
		p.help = p.newUI(true)
	}
	return p.help
}

// helpWriter is a writer to the UI for help.
type helpWriter struct{ *program }

// Write prints a text.
func (h helpWriter) Write(text []byte) (int, error) {
	h.helpUI().Block(string(text))
	return len(text), nil
}

// end prints how a command ended and returns the error with its exit code.
func (p *program) end(ctx context.Context, u *ui.UI, err error) error {
	p.closed = true
	code := u.Close(interruption(ctx, err))
	switch {
	case code == 0:
		return nil
	case ctx.Err() != nil && code == 1:
		return &cli.ExitCodeError{Code: cli.ExitInterrupted}
	}
	return &cli.ExitCodeError{Code: code}
}

// interruption returns an error that names the cause of the end of the context. Requests return
// that it was canceled.
func interruption(ctx context.Context, err error) error {
	if ctx.Err() == nil || err == nil {
		return err
	}
	what, ok := strings.CutSuffix(err.Error(), context.Canceled.Error())
	if !ok {
		return err
	}
	return errors.New(what + context.Cause(ctx).Error())
}

// newUI returns the UI of the global flags.
func (p *program) newUI(tty bool) *ui.UI {
	terminal := p.env.IsTerminal()
	options := ui.Options{
		Name: p.env.Name(), Out: p.env.Out, Err: p.env.Err, Mode: ui.Plain,
		Colour: ui.Colours(terminal, p.env.Getenv), NoColour: !p.global.color,
		Columns: p.global.columns, Yes: p.global.yes, Debug: p.global.debug,
	}
	switch {
	case p.global.json:
		options.Mode = ui.JSON
	case tty || terminal:
		options.Mode = ui.Decorated
	}
	return ui.New(options)
}

// connect connects to the cluster and prints its address and nodes.
func (s *session) connect(ctx context.Context) error {
	if s.client != nil {
		return nil
	}
	options := cluster.Options{Warn: s.warn()}
	if s.global.debug {
		options.Trace = s.trace
	}
	client, err := s.kube.Connect(options)
	if err != nil {
		return err
	}
	s.client = client
	s.apps.Cluster, s.apps.Namespace = client, s.namespace
	s.apps.Lock = func(
		ctx context.Context, set lock.Set, command string,
	) (*lock.Lock, context.Context, error) {
		return s.lock.Acquire(ctx, s.env, client, set, command)
	}
	s.apps.Records = &app.Store{
		Cluster: client, Manager: manager, Now: s.env.Now,
		FullNames: strings.EqualFold(s.env.Getenv("KAPP_FQ_CONFIGMAP_NAMES"), "true"),
	}
	limited, cancel := context.WithTimeout(ctx, nodesTimeout)
	defer cancel()
	first, more, err := client.Nodes(limited)
	if err != nil {
		first, more = "", 0 // the user may not list nodes
	}
	s.ui.Banner(client.Host(), first, more)
	return nil
}

// nodesTimeout limits the read of the nodes that the banner names.
const nodesTimeout = 10 * time.Second

// trace prints a request for --debug.
func (s *session) trace(r cluster.Request) { s.ui.Debug(r.String(), "Cluster") }

// warn returns a function that prints the warnings of the server about writes.
func (s *session) warn() cluster.Warn {
	return func(about object.Ref, text string) {
		if s.global.warnings && about != (object.Ref{}) {
			s.ui.Warn(text)
		}
	}
}

// inputs returns the options of reading files.
func (s *session) inputs(files []string) input.Options {
	return input.Options{Files: files, Stdin: s.env.In}
}

// inputsToDeploy returns the options of reading files whose objects are deployed.
func (s *session) inputsToDeploy(files []string) input.Options {
	options := s.inputs(files)
	options.Foreign = func(text string) {
		fmt.Fprintln(s.env.Err, plaintext.Printable("Warning: "+text))
	}
	return options
}

// namespaceOf returns the namespace of the flag, else of the environment, else of the kubeconfig.
func (s *session) namespaceOf(flag string) (string, error) {
	if namespace := s.flagOrEnv(flag, "KAPP_NAMESPACE"); namespace != "" {
		return namespace, validNamespace(namespace)
	}
	namespace, _, err := s.kube.Namespace()
	return namespace, err
}

// validNamespace returns an error for a text that cannot be the name of a namespace.
func validNamespace(namespace string) error {
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
		return fmt.Errorf("Expected namespace '%s' to be a name that a namespace can have: %s",
			namespace, problems[0])
	}
	return nil
}

// recordNamespace returns the namespace of an app's record.
func (s *session) recordNamespace(f appFlags) (string, error) {
	if f.appNamespace != "" {
		return f.appNamespace, validNamespace(f.appNamespace)
	}
	return s.namespaceOf(f.namespace)
}

// open connects to the cluster and returns the name of the app of the flags.
func (s *session) open(ctx context.Context, f appFlags) (app.Name, error) {
	var err error
	if s.namespace, err = s.namespaceOf(f.namespace); err != nil {
		return app.Name{}, err
	}
	namespace, err := s.recordNamespace(f)
	if err != nil {
		return app.Name{}, err
	}
	return app.Name{Name: f.name, Namespace: namespace}, s.connect(ctx)
}

// live is an object as it was read from the cluster.
type live = *unstructured.Unstructured
