package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/cli/setflags"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/podlogs"
	"github.com/muster-deploy/muster/internal/sets"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
)

// logsFlags are the flags of logs.
type logsFlags struct {
	setflags.Flags
	follow, previous, timestamps, prefix bool
	allContainers                        bool // the default; kubectl's users give it
	tail                                 int
	since                                time.Duration
	pods, containers                     []string // patterns of names; none for all
	selector                             string
}

// NewLogs returns the command that prints the logs of the pods of a set.
func NewLogs(env *cli.Env, kube *cli.Kube) *cobra.Command {
	f := &logsFlags{}
	cmd := &cobra.Command{
		Use:   "logs [FOLDER | -] | -a NAME | --record NAME",
		Short: "Print the logs of the pods of a package or an app",
		Long: `Print the logs of the pods of a set: those that it has itself, and those that controllers created
for its objects. The set is the package in a folder (default: the working folder) or on the standard
input (-), an app (-a), a package without its folder (--record), or what a Set of the controller
keeps (set/NAME).

Control characters in the lines, such as those of colours, are replaced, wherever the output goes:
kubectl logs prints them.

Exit codes:
  0    the logs were printed, also if there are no pods
  1    a log could not be read: the error says why; with --previous: no container was restarted
  130  interrupted, as --follow always ends`,
		Example: "  # The last lines of every container\n" +
			"  " + env.Name() + " logs shop\n\n" +
			"  # New lines of two containers, and of pods that come, until Ctrl-C\n" +
			"  " + env.Name() + " logs -a web -f --tail 0 -c web -c proxy\n\n" +
			"  # Why a container was restarted\n" +
			"  " + env.Name() + " logs shop --previous --tail 50 --pod 'web-*'",
		ValidArgsFunction: setflags.CompleteArgument(kube),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), env, kube, args)
		},
	}
	f.AddRecordName(cmd)
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false,
		"Print new lines too, and those of new pods, until interrupted")
	flags.IntVar(&f.tail, "tail", 10, "Number of last lines of each log; -1 for all")
	flags.DurationVar(&f.since, "since", 0, "Only lines newer than this, such as 5s, 2m or 3h")
	flags.BoolVar(&f.timestamps, "timestamps", false, "Begin each line with the time of its writing")
	flags.BoolVarP(&f.previous, "previous", "p", false,
		"Print the logs of the containers before their last restart")
	flags.BoolVar(&f.prefix, "prefix", true, "Begin each line with the pod and the container")
	flags.StringSliceVarP(&f.containers, "container", "c", nil,
		"Only containers of this name; * matches any characters (can repeat)")
	flags.BoolVar(&f.allContainers, "all-containers", true,
		"All containers of each pod, if --container names none")
	flags.StringSliceVar(&f.pods, "pod", nil,
		"Only pods of this name; * matches any characters (can repeat)")
	flags.StringVarP(&f.selector, "selector", "l", "", "Only pods that this label query selects")
	return cmd
}

// check returns an error for invalid flags.
func (f *logsFlags) check() error {
	if _, err := labels.Parse(f.selector); err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	switch {
	case f.tail < -1:
		return fmt.Errorf("--tail %d: give a number of lines, or -1 for all", f.tail)
	case f.since < 0:
		return fmt.Errorf("--since %s: give a positive duration such as 5m", f.since)
	case f.follow && f.previous:
		return errors.New("--follow and --previous exclude each other: a log of the past does not grow")
	case !f.allContainers && len(f.containers) == 0:
		return errors.New("--all-containers=false: name containers with --container")
	case f.tail == 0 && !f.follow:
		return errors.New("--tail 0 prints nothing without --follow")
	}
	return nil
}

func (f *logsFlags) run(ctx context.Context, env *cli.Env, kube *cli.Kube, args []string) error {
	if err := f.check(); err != nil {
		return err
	}
	args, err := f.UseSet(ctx, env, kube, args)
	if err != nil {
		return err
	}
	set, client, err := f.OpenRecord(ctx, env, kube, args, nil)
	if err != nil {
		return f.Unrecorded(err)
	}
	targets, err := set.Targets(ctx, client)
	if err != nil {
		return f.Unrecorded(err)
	}
	p := &logPrinter{env: env, prefix: f.prefix}
	request := sets.LogsRequest{
		Objects: targets.All.Refs(), Labels: f.selector, Now: env.Now, Printer: p,
		Pod: filter.MatchAny(f.pods), Container: filter.MatchAny(f.containers), Failed: p.fail,
		Log: cluster.LogOptions{
			Follow: f.follow, Previous: f.previous, Timestamps: f.timestamps,
		},
	}
	if f.tail >= 0 {
		request.Log.Lines = &f.tail
	}
	if f.since > 0 {
		request.Log.Since = env.Now().Add(-f.since)
	}
	found := sets.Logs(ctx, client, request)
	switch {
	case p.broken != nil:
		return p.broken
	case ctx.Err() != nil:
		return &cli.ResultError{Interrupted: true}
	case p.failed || p.absent && !p.started:
		return &cli.ExitCodeError{Code: cli.ExitError}
	case found == 0 && len(f.pods)+len(f.containers) == 0 && f.selector == "":
		env.Notice("no pods of " + set.Title() + " found")
	case found == 0:
		return fmt.Errorf("no such pods or containers of %s found", set.Title())
	}
	return nil
}

// logPrinter prints logs as kubectl does.
type logPrinter struct {
	env    *cli.Env
	prefix bool

	mu     sync.Mutex
	broken error // the standard output cannot be written
	failed bool

	started bool // a log was read
	absent  bool // a container has no previous log
}

// Line prints a line of a log, without control characters: kubectl prints them.
func (p *logPrinter) Line(c podlogs.Container, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.prefix {
		text = "[pod/" + c.Pod.Name + "/" + c.Name + "] " + text
	}
	_, err := fmt.Fprintln(p.env.Out, plaintext.Printable(strings.TrimRight(text, "\r\n")))
	p.broken = cmp.Or(p.broken, err)
}

// Event prints why a log is not read.
func (p *logPrinter) Event(c podlogs.Container, e podlogs.Event, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.started, p.absent = p.started || e == podlogs.Started, p.absent || e == podlogs.Absent
	switch {
	case e == podlogs.Absent:
		p.env.Notice(fmt.Sprintf("container %q in pod %q was not restarted: it has no previous log",
			c.Name, c.Pod.Name))
	case e == podlogs.Waiting && err == nil:
		p.env.Notice(fmt.Sprintf("container %q in pod %q is waiting to start", c.Name, c.Pod.Name))
	case err != nil:
		p.failed = true
		p.env.Notice("error: " + err.Error())
	}
}

// fail prints an error of listing pods.
func (p *logPrinter) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = true
	p.env.Notice("error: " + err.Error())
}
