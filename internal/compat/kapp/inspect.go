package kapp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/base/yamltext"
	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/sets/app/lastapplied"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/judge"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// inspectCommand is the command inspect with its flags.
type inspectCommand struct {
	app                     appFlags
	filter                  filterFlags
	kinds                   kindFlags
	raw, status, tree, owns bool
}

func (p *program) newInspect() *cobra.Command {
	i := &inspectCommand{}
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
	cmd.Flags().
		BoolVar(&i.owns, "managed-fields", false, "Keep the metadata.managedFields when printing "+
			"objects")
	return p.command(cmd, false, i.run)
}

func (i *inspectCommand) run(ctx context.Context, s *session) error {
	name, err := s.open(ctx, i.app)
	if err != nil {
		return err
	}
	target, found, err := s.apps.Inspect(ctx, deploy.InspectRequest{
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
		return s.ui.Table(treeTable(title, found, s.env.Now()))
	default:
		return s.ui.Table(resourceTable(title, found, s.env.Now()))
	}
}

// printRaw prints objects as YAML, without the annotations that record what was applied.
func printRaw(u *ui.UI, objects []live) error {
	for _, obj := range objects {
		lastapplied.Strip(obj)
		lastapplied.StripIdentity(obj)
		text, err := yamltext.MarshalAsLibrary(obj.Object)
		if err != nil {
			return fmt.Errorf("write %s as YAML: %w", resource.Describe(obj), err)
		}
		u.Block("---\n" + string(text))
	}
	return nil
}

// resourceRow returns the row of an object, with the given cell for its name.
func resourceRow(obj live, name ui.Cell, now time.Time) []ui.Cell {
	owner := "kapp"
	if resource.IsTransient(obj) {
		owner = "cluster"
	}
	state, info := stateAndInfo(obj)
	return []ui.Cell{
		ui.Namespace(
			obj.GetNamespace(),
		), name, {Text: obj.GetKind()}, {Text: obj.GetAPIVersion()}, {Text: owner},
		stateCell(state), {Text: ui.Wrap(info, infoWidth)},
		ageCell(obj.GetCreationTimestamp().Time, now),
	}
}

// infoWidth is the width of the columns of reasons.
const infoWidth = 35

// tableRules returns the readiness rules of tables, without those of users.
var tableRules = sync.OnceValue(
	func() []judge.Rule { return config.Default().JudgeRules(false) },
)

// stateAndInfo returns the state of an object and its reason, without rules of users and child
// objects.
func stateAndInfo(obj live) (state, info string) {
	j := judge.Of(obj, nil, tableRules()...)
	return j.StateName(), j.Message
}

// resourceColumns returns the columns of tables of resources.
func resourceColumns() []ui.Column {
	return []ui.Column{
		{
			Key:   "namespace",
			Title: "Namespace",
		}, {Key: "name", Title: "Name"}, {Key: "kind", Title: "Kind"},
		{Key: "version", Title: "Version", Hidden: true}, {Key: "owner", Title: "Owner"},
		{
			Key:   "reconcile_state",
			Title: "Rs",
		}, {Key: "reconcile_info", Title: "Ri"}, {Key: "age", Title: "Age"},
	}
}

// resourceNotes returns the notes about these columns.
func resourceNotes() []string {
	return []string{"Rs: Reconcile state",
		"Ri: Reconcile information"}
}

// resourceTable returns the table of objects.
func resourceTable(title string, objects []live, now time.Time) ui.Table {
	table := ui.Table{
		Title:   title,
		Content: "resources",
		Header:  resourceColumns(),
		Notes:   resourceNotes(),
		SortBy:  ui.SortBy(0, 1, 2, 3),
	}
	for _, obj := range objects {
		table.Rows = append(table.Rows, resourceRow(obj, ui.Cell{Text: obj.GetName()}, now))
	}
	return table
}

// statusTable returns the table of the statuses of objects.
func statusTable(title string, objects []live) ui.Table {
	table := ui.Table{
		Title: title, Content: "resources", Transpose: true, FillFirst: true, SortBy: ui.SortBy(0,
			1, 2),
		Header: ui.Columns("Namespace", "Name", "Kind", "Status"),
	}
	for _, obj := range objects {
		table.Rows = append(table.Rows, []ui.Cell{
			ui.Namespace(
				obj.GetNamespace(),
			), {Text: obj.GetName()}, {Text: obj.GetKind()}, {Text: statusText(obj)},
		})
	}
	return table
}

// statusText returns the status of an object as YAML; empty if it has none.
func statusText(obj *unstructured.Unstructured) string {
	status, found := obj.Object["status"]
	if !found {
		return ""
	}
	text, err := yamltext.MarshalAsLibrary(status)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSuffix(string(text), "\n")
}

// treeTable returns a table with each object below its owner, by association labels and owner
// references.
func treeTable(title string, objects []live, now time.Time) ui.Table {
	table := ui.Table{
		Title: title, Content: "resources", Notes: resourceNotes(), FillFirst: true,
		Header: append([]ui.Column{{Key: "group", Title: "Group", Hidden: true}},
			resourceColumns()...),
		SortBy: ui.SortBy(0, 5, 1), // group, owner, namespace
	}
	byUID := make(map[types.UID]live, len(objects))
	for _, obj := range objects {
		byUID[obj.GetUID()] = obj
	}
	for _, obj := range objects {
		group, depth := groupOf(obj, byUID)
		name := ui.Cell{Text: obj.GetName()}
		if depth > 0 {
			name.Faint = " L" + strings.Repeat("..", depth-1) + " "
		}
		table.Rows = append(table.Rows, append([]ui.Cell{{Text: group}}, resourceRow(obj, name,
			now)...))
	}
	return table
}

// groupOf returns the sort key of an object and its depth in the tree. Objects with the same
// association label are together: the deployed object first, then those that controllers created,
// below their owners.
func groupOf(obj live, byUID map[types.UID]live) (group string, depth int) {
	owners, depth := ownersOf(obj, byUID)
	group = "ref-" + owners
	association := obj.GetLabels()[resource.LabelAssociation]
	switch {
	case association == "":
		return group, depth
	case resource.IsTransient(obj):
		return "lbl-" + association + "-2/child@" + group, max(depth, 1)
	default:
		return "lbl-" + association + "-1@" + group, depth
	}
}

// ownersOf returns the names of the known owners of an object and its own, and the number of
// owners.
func ownersOf(obj live, byUID map[types.UID]live) (names string, count int) {
	names = groupName(obj)
	for seen := map[types.UID]bool{}; !seen[obj.GetUID()]; {
		seen[obj.GetUID()] = true
		for _, ref := range obj.GetOwnerReferences() {
			if owner := byUID[ref.UID]; owner != nil && !seen[ref.UID] {
				obj, names = owner, groupName(owner)+"/"+names
				count++
				break
			}
		}
	}
	return names, count
}

// groupName returns the name of an object in a sort key.
func groupName(obj live) string {
	gvk := obj.GroupVersionKind()
	return strings.Join([]string{obj.GetNamespace(), gvk.Group, gvk.Kind, obj.GetName()}, "$")
}
