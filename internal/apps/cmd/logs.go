package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/apps/ui"
)

// follow tells, during a deployment, the logs of the pods that ask for it. The function ends it.
func (d *deployment) follow(ctx context.Context) (stop func()) {
	if !d.deploy.logs {
		return func() {}
	}
	tail := &logTail{
		client: d.client, logs: ui.Logs{UI: d.ui, Prefix: "logs", Tagged: true}, follow: true,
		listed: make(chan struct{}), ending: make(chan struct{}),
	}
	tail.picks = func(pod live) ([]string, bool) {
		var names []string
		if text := pod.GetAnnotations()[resource.AnnDeployLogsContainers]; text != "" {
			names = strings.Split(text, ",")
		}
		if d.deploy.logsAll {
			return names, true
		}
		value, asked := pod.GetAnnotations()[resource.AnnDeployLogs]
		switch value {
		case "", "for-new":
			return names, asked && !d.pods[pod.GetUID()]
		case "for-existing":
			return names, d.pods[pod.GetUID()]
		default:
			return names, value == "for-new-or-existing"
		}
	}
	tailing, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	// The caller waits for it by the function that is returned.
	go func() {
		defer close(ended)
		tail.watch(tailing, d.target.Selector(), d.within)
	}()
	return func() {
		late := time.AfterFunc(logsEnd, cancel)
		<-tail.listed // else what cannot be seen would not be told
		close(tail.ending)
		<-ended
		late.Stop()
		cancel()
	}
}

// logsEnd bounds how long a deployment that has ended reads logs that were written before that.
const logsEnd = 3 * time.Second

// logReading is a run of logs.
type logReading struct {
	app        appFlags
	follow     bool
	lines      int
	tagged     bool
	pod        string
	containers []string
}

func (p *program) newLogs() *cobra.Command {
	l := &logReading{}
	cmd := &cobra.Command{
		Use: "logs", Aliases: []string{"l"}, Short: "Print app's Pod logs",
		Long: `Print app's Pod logs: those of all pods that carry its label.`,
		Example: p.named(`  # Print what the pods of app 'web' log from now on
  NAME logs -a web --follow --lines 0

  # Print all that the containers 'main' of some of them have logged
  NAME logs -a web --pod-name 'front%' --container-name main --lines -1`),
	}
	l.app.add(cmd)
	cmd.Flags().BoolVarP(&l.follow, "follow", "f", false, "As new Pods are added, new Pod logs will be printed")
	cmd.Flags().IntVar(&l.lines, "lines", 10, "Limit to number of lines (use -1 to remove limit)")
	cmd.Flags().BoolVar(&l.tagged, "container-tag", true, "Include container tag")
	cmd.Flags().StringVarP(&l.pod, "pod-name", "m", "", "Set Pod name to filter logs (can use % or * as wildcard)")
	cmd.Flags().StringSliceVarP(&l.containers, "container-name", "c", nil, "Set container name to filter logs (can be specified multiple times) (can use % or * as wildcard)")
	return p.speaks(cmd, false, l.run)
}

func (l *logReading) run(ctx context.Context, s *session) error {
	if !l.follow && l.lines <= 0 && l.lines != -1 {
		return fmt.Errorf("Expected --lines to be greater than zero since --follow is not specified")
	}
	target, err := s.existing(ctx, l.app)
	if err != nil {
		return err
	}
	tail := &logTail{client: s.client, logs: ui.Logs{UI: s.ui, Tagged: l.tagged}, follow: l.follow, lines: l.lines}
	tail.picks = func(pod live) ([]string, bool) {
		return l.containers, l.pod == "" || filter.MatchPattern(l.pod, pod.GetName())
	}
	tail.watch(ctx, target.Selector(), s.fallback(target))
	return nil
}
