package cmd

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/config"
	"github.com/muster-deploy/muster/internal/apps/judge"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/apps/resource"
	"github.com/muster-deploy/muster/internal/apps/ui"
)

// inspection is a run of inspect.
type inspection struct {
	app                     appFlags
	filter                  filterFlags
	kinds                   kindFlags
	raw, status, tree, owns bool
}

func (p *program) newInspect() *cobra.Command {
	i := &inspection{}
	cmd := &cobra.Command{
		Use: "inspect", Aliases: []string{"i", "is", "insp"},
		Short: "Inspect app",
		Long:  `Inspect app: show its resources, and those that controllers made for them.`,
		Example: p.named(`  # Show what belongs to app 'web', below that for which it was made
  NAME inspect -a web --tree

  # Write its Deployments as YAML
  NAME inspect -a web --raw --filter-kind Deployment`),
	}
	i.app.add(cmd)
	i.filter.add(cmd)
	i.kinds.add(cmd)
	cmd.Flags().BoolVar(&i.raw, "raw", false, "Output raw YAML resource content")
	cmd.Flags().BoolVar(&i.status, "status", false, "Output status content")
	cmd.Flags().BoolVarP(&i.tree, "tree", "t", false, "Tree view")
	cmd.Flags().BoolVar(&i.owns, "managed-fields", false, "Keep the metadata.managedFields when printing objects")
	return p.command(cmd, false, i.run)
}

func (i *inspection) run(ctx context.Context, s *session) error {
	name, err := s.open(ctx, i.app)
	if err != nil {
		return err
	}
	target, found, err := s.apps.Inspect(ctx, apps.InspectRequest{
		App: name, Filter: i.filter.Flags, Search: i.kinds.options(), Owners: i.owns,
	})
	if err != nil {
		return err
	}
	title := fmt.Sprintf("Resources in app '%s'", target.Name)
	switch {
	case i.raw:
		return printRaw(s.ui, found)
	case i.status:
		return s.ui.Table(statusTable(title, found))
	case i.tree:
		return s.ui.Table(treeTable(title, found))
	default:
		return s.ui.Table(resourceTable(title, found))
	}
}

// printRaw gives objects as YAML, without what kapp recorded on them.
func printRaw(u *ui.UI, objects []live) error {
	for _, obj := range objects {
		lastapplied.Strip(obj)
		lastapplied.StripIdentity(obj)
		text, err := yaml.Marshal(obj.Object)
		if err != nil {
			return fmt.Errorf("write %s as YAML: %w", resource.Describe(obj), err)
		}
		u.Block("---\n" + string(text))
	}
	return nil
}

// resourceRow is an object in a table; the name is how it is called there.
func resourceRow(obj live, name ui.Cell) []ui.Cell {
	owner := "kapp"
	if resource.IsTransient(obj) {
		owner = "cluster"
	}
	state, info := stateAndInfo(obj)
	return []ui.Cell{
		ui.Namespace(obj.GetNamespace()), name, {Text: obj.GetKind()}, {Text: obj.GetAPIVersion()}, {Text: owner},
		stateCell(state), {Text: ui.Wrap(info, infoWidth)}, ageCell(obj.GetCreationTimestamp().Time),
	}
}

// infoWidth is how wide the columns of reasons are.
const infoWidth = 35

// tableRules are the rules by which tables judge: none of users.
var tableRules = sync.OnceValue(func() []judge.Rule { return change.JudgeRules(config.Default(), false) })

// stateAndInfo judges an object as tables do: without rules of users, and without its children.
func stateAndInfo(obj live) (state, info string) {
	j := judge.Of(obj, nil, tableRules()...)
	return j.StateName(), j.Message
}

// resourceColumns head the tables of resources.
func resourceColumns() []ui.Column {
	return []ui.Column{
		{Key: "namespace", Title: "Namespace"}, {Key: "name", Title: "Name"}, {Key: "kind", Title: "Kind"},
		{Key: "version", Title: "Version", Hidden: true}, {Key: "owner", Title: "Owner"},
		{Key: "reconcile_state", Title: "Rs"}, {Key: "reconcile_info", Title: "Ri"}, {Key: "age", Title: "Age"},
	}
}

// resourceNotes explain the columns of these tables.
func resourceNotes() []string { return []string{"Rs: Reconcile state", "Ri: Reconcile information"} }

func resourceTable(title string, objects []live) ui.Table {
	table := ui.Table{Title: title, Content: "resources", Header: resourceColumns(), Notes: resourceNotes(), SortBy: ui.SortBy(0, 1, 2, 3)}
	for _, obj := range objects {
		table.Rows = append(table.Rows, resourceRow(obj, ui.Cell{Text: obj.GetName()}))
	}
	return table
}

func statusTable(title string, objects []live) ui.Table {
	table := ui.Table{
		Title: title, Content: "resources", Transpose: true, FillFirst: true, SortBy: ui.SortBy(0, 1, 2),
		Header: ui.Columns("Namespace", "Name", "Kind", "Status"),
	}
	for _, obj := range objects {
		table.Rows = append(table.Rows, []ui.Cell{
			ui.Namespace(obj.GetNamespace()), {Text: obj.GetName()}, {Text: obj.GetKind()}, {Text: statusText(obj)},
		})
	}
	return table
}

// statusText is the status of an object as YAML; nothing if it has none.
func statusText(obj *unstructured.Unstructured) string {
	status, found := obj.Object["status"]
	if !found {
		return ""
	}
	text, err := yaml.Marshal(status)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(string(text), "\n")
}
