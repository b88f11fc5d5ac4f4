package kapp

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/filter"
)

// listCommand is the command list with its flags.
type listCommand struct {
	namespace string
	all       bool
	age       string
	labels    []string
}

func (p *program) newList() *cobra.Command {
	l := &listCommand{}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"l", "ls"},
		Short: "List all apps in a namespace",
		Long: `List all apps in a namespace, with the namespaces of their resources and how their ` +
			`last change ended.`,
		Example: p.named(`  # List the apps of all namespaces
  NAME list -A

  # List those whose records carry a label, and are a day old or older
  NAME list --filter-labels tier=web --filter-age 24h+`),
	}
	addNamespace(cmd, &l.namespace)
	cmd.Flags().BoolVarP(&l.all, "all-namespaces", "A", false, "List apps in all namespaces")
	cmd.Flags().StringVar(&l.age, "filter-age", "", "Set age filter (example: 5m+, 500h-, 10m-)")
	cmd.Flags().StringSliceVar(&l.labels, "filter-labels", nil, "Set label filter (example: x=y)")
	return p.command(cmd, false, l.run)
}

func (l *listCommand) run(ctx context.Context, s *session) error {
	namespace, title := "", "Apps in all namespaces"
	if !l.all {
		var err error
		if namespace, err = s.namespaceOf(l.namespace); err != nil {
			return err
		}
		title = fmt.Sprintf("Apps in namespace '%s'", namespace)
	}
	selector, err := labels.Parse(strings.Join(l.labels, ","))
	if err != nil {
		return fmt.Errorf("Parsing label filter: %w", err)
	}
	age, err := filter.Flags{Age: l.age}.ResourceFilter(s.env.Now())
	if err != nil {
		return err
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	found, err := s.apps.List(ctx, app.ListRequest{Namespace: namespace, Labels: selector,
		Age: age})
	refused, delayed := (*apierrors.StatusError)(nil), (*cluster.DelayError)(nil)
	if errors.As(err, &refused) && !errors.As(err, &delayed) {
		return refused // in the words of the server alone, as kapp
	}
	if err != nil {
		return err
	}
	table := ui.Table{
		Title: title, Content: "apps",
		Header: []ui.Column{
			{
				Key:    "namespace",
				Title:  "Namespace",
				Hidden: !l.all,
			}, {Key: "name", Title: "Name"}, {Key: "label", Title: "Label", Hidden: true},
			{
				Key:   "namespaces",
				Title: "Namespaces",
			}, {Key: "last_change_successful", Title: "Lcs"}, {Key: "last_change_age",
				Title: "Lca"},
		},
		Notes:  []string{"Lcs: Last Change Successful", "Lca: Last Change Age"},
		SortBy: ui.SortBy(0, 1),
	}
	var unread []error
	for _, a := range found {
		if a.Err != nil {
			unread = append(unread, a.Err)
			continue
		}
		table.Rows = append(table.Rows, appRow(a, s.env.Now()))
	}
	if err := s.ui.Table(table); err != nil {
		return err
	}
	return errors.Join(unread...)
}

// appRow returns the row of an app.
func appRow(a *app.App, now time.Time) []ui.Cell {
	last := a.Meta.LastDeployment
	return []ui.Cell{
		ui.Namespace(a.Namespace), {Text: a.Name}, {Text: a.Selector()},
		{Text: folded(last.Namespaces)},
		successCell(last.Successful), ageCell(last.StartedAt, now),
	}
}

// folded joins names with commas, and starts a new line after about forty characters.
func folded(names []string) string {
	var b strings.Builder
	width := 0
	for i, name := range names {
		b.WriteString(name)
		width += len(name)
		if i == len(names)-1 {
			break
		}
		b.WriteString(",")
		if width++; width > 40 {
			b.WriteString("\n")
			width = 0
		}
	}
	return b.String()
}

// successCell returns the cell for the outcome of a change; empty while it runs.
func successCell(successful *bool) ui.Cell {
	if successful == nil {
		return ui.Cell{}
	}
	return ui.Judged(strconv.FormatBool(*successful), !*successful)
}
