package kapp

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/sets/app"
)

func (p *program) newAppChange() *cobra.Command {
	return parent("app-change", "App change",
		[]string{"ac", "app-changes", "appchange", "appchanges"}, p.newChangeList(),
		p.newChangeCollect())
}

// changeListCommand is the command app-change list with its flags.
type changeListCommand struct {
	app           appFlags
	before, after string
}

func (p *program) newChangeList() *cobra.Command {
	l := &changeListCommand{}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"l", "ls"}, Short: "List app changes",
		Long: `List app changes, the newest first.`,
		Example: p.named(`  # List what was done to app 'web' in May
  NAME app-change list -a web --after 2026-04-30 --before 2026-06-01`),
	}
	l.app.add(cmd)
	cmd.Flags().
		StringVar(&l.before, "before", "", "List app changes before given time (formats: "+
			"2006-01-02T15:04:05Z, 2006-01-02)")
	cmd.Flags().
		StringVar(&l.after, "after", "", "List app changes after given time (formats: "+
			"2006-01-02T15:04:05Z, 2006-01-02)")
	return p.command(cmd, false, l.run)
}

func (l *changeListCommand) run(ctx context.Context, s *session) error {
	before, err := parseTime("before", l.before)
	if err != nil {
		return err
	}
	after, err := parseTime("after", l.after)
	if err != nil {
		return err
	}
	if !before.IsZero() && !after.IsZero() && before.Before(after) {
		return fmt.Errorf("After time %s should be less than before time %s", l.after, l.before)
	}
	name, err := s.open(ctx, l.app)
	if err != nil {
		return err
	}
	changes, err := s.apps.Changes(ctx, deploy.ChangesRequest{App: name, After: after,
		Before: before})
	if err != nil {
		return err
	}
	return s.ui.Table(changeTable("App changes", "app changes", changes))
}

// parseTime parses a time, or a day in UTC.
func parseTime(flag, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf(
		"Parsing --%s '%s': expected a time as 2006-01-02T15:04:05Z or a day as 2006-01-02",
		flag,
		text,
	)
}

// changeTable returns the table of changes, newest first. Its input has the oldest first.
func changeTable(title, content string, changes []app.RecordedDeployment) ui.Table {
	table := ui.Table{
		Title: title, Content: content,
		Header: []ui.Column{
			{
				Key:   "name",
				Title: "Name",
			}, {Key: "started_at", Title: "Started At"}, {Key: "finished_at", Title: "Finished At"},
			{
				Key:   "successful",
				Title: "Successful",
			}, {Key: "description", Title: "Description"}, {Key: "namespaces", Title: "Namespaces",
				Hidden: true},
		},
		FillFirst: true,
	}
	for _, c := range slices.Backward(changes) {
		table.Rows = append(table.Rows, []ui.Cell{
			{
				Text: c.Name,
			}, timeCell(c.StartedAt), timeCell(c.FinishedAt), successCell(c.Successful),
			{Text: c.Description},
			{Text: strings.Join(c.Namespaces, ",")},
		})
	}
	return table
}

// timeCell returns the cell of a time; empty for the zero time.
func timeCell(t time.Time) ui.Cell {
	if t.IsZero() {
		return ui.Cell{}
	}
	return ui.Cell{Text: t.Format(time.RFC3339)}
}

// changeCollectCommand is the command app-change garbage-collect with its flags.
type changeCollectCommand struct {
	app  appFlags
	keep int
}

func (p *program) newChangeCollect() *cobra.Command {
	c := &changeCollectCommand{}
	cmd := &cobra.Command{
		Use: "garbage-collect", Aliases: []string{"gc"}, Short: "Garbage collect app changes",
		Long: `Garbage collect app changes: delete the records of all but the newest.`,
		Example: p.named(`  # Keep the last ten changes of app 'web'
  NAME app-change garbage-collect -a web --max 10`),
	}
	c.app.add(cmd)
	cmd.Flags().IntVar(&c.keep, "max", app.ChangesToKeep, "Maximum number of app changes to keep")
	return p.command(cmd, false, c.run)
}

func (c *changeCollectCommand) run(ctx context.Context, s *session) error {
	if err := checkKept("max", c.keep); err != nil {
		return err
	}
	name, err := s.open(ctx, c.app)
	if err != nil {
		return err
	}
	return s.apps.TrimChanges(ctx, deploy.TrimRequest{
		App: name, Keep: c.keep,
		Print: func(old []app.RecordedDeployment) error {
			return s.ui.Table(changeTable("App changes to delete", "app changes", old))
		},
	})
}
