package kapp

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
)

// logPrinter prints the logs of containers.
type logPrinter struct{ ui.Logs }

// Block prints an error.
func (p logPrinter) Block(text string) { p.UI.Block(text) }

// logsCommand is the command logs with its flags.
type logsCommand struct {
	app        appFlags
	follow     bool
	lines      int
	tagged     bool
	pod        string
	containers []string
}

func (p *program) newLogs() *cobra.Command {
	l := &logsCommand{}
	cmd := &cobra.Command{
		Use: "logs", Aliases: []string{"l"}, Short: "Print app's Pod logs",
		Long: `Print app's Pod logs: those of all pods that carry its label.`,
		Example: p.named(`  # Print what the pods of app 'web' log from now on
  NAME logs -a web --follow --lines 0

  # Print all that the containers 'main' of some of them have logged
  NAME logs -a web --pod-name 'front%' --container-name main --lines -1`),
	}
	l.app.add(cmd)
	cmd.Flags().
		BoolVarP(&l.follow, "follow", "f", false, "As new Pods are added, new Pod logs will be "+
			"printed")
	cmd.Flags().IntVar(&l.lines, "lines", 10, "Limit to number of lines (use -1 to remove limit)")
	cmd.Flags().BoolVar(&l.tagged, "container-tag", true, "Include container tag")
	cmd.Flags().
		StringVarP(&l.pod, "pod-name", "m", "", "Set Pod name to filter logs (can use % or * as "+
			"wildcard)")
	cmd.Flags().StringSliceVarP(&l.containers, "container-name", "c", nil,
		"Set container name to filter logs (can be specified multiple times) (can use % or * as "+
			"wildcard)")
	return p.command(cmd, false, l.run)
}

// run runs the command.
func (l *logsCommand) run(ctx context.Context, s *session) error {
	request := deploy.LogsRequest{
		Follow: l.follow, Lines: l.lines, Pod: l.pod, Containers: l.containers,
		Printer: logPrinter{ui.Logs{UI: s.ui, Tagged: l.tagged}},
	}
	err := request.Check()
	if err != nil {
		return err
	}
	if request.App, err = s.open(ctx, l.app); err != nil {
		return err
	}
	return s.apps.Logs(ctx, request)
}
