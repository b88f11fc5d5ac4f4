package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/podlogs"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// LogPrinter prints the logs of containers.
type LogPrinter interface {
	Note(text string)      // the state of reading
	Line(tag, text string) // a line of a log; the tag names the container
	Block(text string)     // an error, which ends with a newline
}

// LogsRequest asks for the logs of an app's pods.
type LogsRequest struct {
	App        app.Name
	Follow     bool     // print new lines and new pods until the context ends
	Lines      int      // of older lines; -1 for all
	Pod        string   // a pattern of names; empty for all
	Containers []string // patterns of names; none for all
	Printer    LogPrinter
}

// Check returns an error for a request that would print nothing.
func (r LogsRequest) Check() error {
	if !r.Follow && r.Lines <= 0 && r.Lines != -1 {
		return errors.New("Expected --lines to be greater than zero since --follow is not specified")
	}
	return nil
}

// Logs prints the logs of an app's pods.
func (c *Client) Logs(ctx context.Context, r LogsRequest) error {
	target, err := c.Existing(ctx, r.App)
	if err != nil {
		return err
	}
	print := kappLogs{r.Printer}
	tail := &podlogs.Tail{
		Cluster: c.Cluster, Printer: print, Now: c.Now,
		Log: cluster.LogOptions{Follow: r.Follow},
		Choose: func(_ context.Context, pod liveObject) (func(string) bool, bool) {
			return filter.MatchAny(r.Containers), r.Pod == "" || filter.MatchPattern(r.Pod, pod.GetName())
		},
	}
	if r.Lines > 0 {
		tail.Log.Lines = &r.Lines
	}
	tail.Run(ctx, podlogs.Selection{
		Labels: target.Selector(), Everywhere: true, Namespaces: c.FallbackOf(target),
	}, print.failed)
	return nil
}

// kappLogs prints logs in kapp's words.
type kappLogs struct{ LogPrinter }

// tag returns what kapp calls a container.
func (kappLogs) tag(c podlogs.Container) string { return c.Pod.Name + " > " + c.Name }

// Line prints a line of a log.
func (p kappLogs) Line(c podlogs.Container, text string) { p.LogPrinter.Line(p.tag(c), text) }

// Event prints what happens with a log.
func (p kappLogs) Event(c podlogs.Container, e podlogs.Event, err error) {
	switch e {
	case podlogs.Waiting:
		p.Note(fmt.Sprintf("waiting for '%s' logs to become available...", p.tag(c)))
	case podlogs.Started:
		p.Note(fmt.Sprintf("starting tailing '%s' logs", p.tag(c)))
	case podlogs.Stopped:
		p.Note(fmt.Sprintf("container stopped '%s' logs", p.tag(c)))
	case podlogs.Ended:
		p.Note(fmt.Sprintf("ending tailing '%s' logs", p.tag(c)))
	case podlogs.Broken:
		p.Note(fmt.Sprintf("reading '%s' logs: %v", p.tag(c), err))
	}
}

// failed prints an error of listing pods.
func (p kappLogs) failed(err error) { p.Block(fmt.Sprintf("Pod watching error: %v\n", err)) }

// logsTimeout limits how long an ended deployment reads logs that were written before its end.
const logsTimeout = 3 * time.Second

// followLogs prints the logs of annotated pods during a deployment. The returned function ends it.
func (d *Deployment) followLogs(ctx context.Context) (stop func()) {
	if d.req.Logs == nil {
		return func() {}
	}
	print := kappLogs{d.req.Logs}
	tail := &podlogs.Tail{
		Cluster: d.Cluster, Printer: print, Now: d.Now, Log: cluster.LogOptions{Follow: true},
		Choose: func(_ context.Context, pod liveObject) (func(string) bool, bool) {
			patterns, ok := d.chooseContainers(pod)
			return filter.MatchAny(patterns), ok
		},
		Listed: make(chan struct{}), Ending: make(chan struct{}),
	}
	tailing, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	// The caller waits for it by the returned function.
	go func() {
		defer close(ended)
		tail.Run(tailing, podlogs.Selection{
			Labels: d.App().Selector(), Everywhere: true, Namespaces: d.Fallback(),
		}, print.failed)
	}()
	return func() {
		timeout := time.AfterFunc(logsTimeout, cancel)
		<-tail.Listed // so that an error of listing pods is printed
		close(tail.Ending)
		<-ended
		timeout.Stop()
		cancel()
	}
}

// chooseContainers returns the containers of a pod whose logs a deployment prints, by annotations.
func (d *Deployment) chooseContainers(pod liveObject) (patterns []string, ok bool) {
	if text := pod.GetAnnotations()[resource.AnnDeployLogsContainers]; text != "" {
		patterns = strings.Split(text, ",")
	}
	if d.req.AllLogs {
		return patterns, true
	}
	existed := d.pods[pod.GetUID()]
	value, annotated := pod.GetAnnotations()[resource.AnnDeployLogs]
	switch value {
	case "", "for-new":
		return patterns, annotated && !existed
	case "for-existing":
		return patterns, existed
	default:
		return patterns, value == "for-new-or-existing"
	}
}
