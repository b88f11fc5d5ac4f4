package apps

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/apps/resource"
)

// LogPrinter prints the logs of containers.
type LogPrinter interface {
	Note(text string)      // the state of reading
	Line(tag, text string) // a line of a log; the tag names the container
	Block(text string)     // an error, which ends with a newline
}

// LogsRequest asks for the logs of an app's pods.
type LogsRequest struct {
	App        Name
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
	tail := &logTail{
		cluster: c.Cluster,
		printer: r.Printer,
		now:     c.Now,
		follow:  r.Follow,
		lines:   r.Lines,
	}
	tail.choose = func(pod liveObject) ([]string, bool) {
		return r.Containers, r.Pod == "" || filter.MatchPattern(r.Pod, pod.GetName())
	}
	tail.run(ctx, target.Selector(), c.fallback(target))
	return nil
}

// logsTimeout limits how long an ended deployment reads logs that were written before its end.
const logsTimeout = 3 * time.Second

// followLogs prints the logs of annotated pods during a deployment. The returned function ends it.
func (d *Deployment) followLogs(ctx context.Context) (stop func()) {
	if !d.wantsLogs() {
		return func() {}
	}
	tail := &logTail{
		cluster: d.Cluster, printer: d.req.Logs, now: d.Now, follow: true,
		choose: d.chooseContainers,
		listed: make(chan struct{}), ending: make(chan struct{}),
	}
	tailing, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	// The caller waits for it by the returned function.
	go func() {
		defer close(ended)
		tail.run(tailing, d.app.Selector(), d.fallback)
	}()
	return func() {
		timeout := time.AfterFunc(logsTimeout, cancel)
		<-tail.listed // so that an error of listing pods is printed
		close(tail.ending)
		<-ended
		timeout.Stop()
		cancel()
	}
}

// wantsLogs reports whether the deployment may have to print logs. Watching all pods of a large app
// costs more than deploying it, so they are watched only if the annotation that asks for logs
// occurs in an input or a live object.
func (d *Deployment) wantsLogs() bool {
	if d.req.Logs == nil || d.req.AllLogs || d.req.AlwaysWatch {
		return d.req.Logs != nil
	}
	asks := func(obj liveObject) bool { return mentions(obj.Object, resource.AnnDeployLogs) }
	return slices.ContainsFunc(unwrap(d.inputs), asks) || slices.ContainsFunc(d.live.objects, asks)
}

// mentions reports whether a text occurs in a key or a string of a JSON value.
func mentions(value any, text string) bool {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			if strings.Contains(key, text) || mentions(field, text) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, func(item any) bool { return mentions(item, text) })
	case string:
		return strings.Contains(value, text)
	}
	return false
}

// chooseContainers returns the containers of a pod whose logs a deployment prints, by annotations.
func (d *Deployment) chooseContainers(pod liveObject) (patterns []string, ok bool) {
	if text := pod.GetAnnotations()[resource.AnnDeployLogsContainers]; text != "" {
		patterns = strings.Split(text, ",")
	}
	if d.req.AllLogs {
		return patterns, true
	}
	existed := d.live.pods[pod.GetUID()]
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
