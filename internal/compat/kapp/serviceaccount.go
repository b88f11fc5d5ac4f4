package kapp

import (
	"context"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/object"
)

func (p *program) newServiceAccount() *cobra.Command {
	aliases := []string{"sa", "service-accounts", "serviceccounts", "serviceaccount"}
	return parent("service-account", "Service account", aliases, p.newServiceAccountList())
}

func (p *program) newServiceAccountList() *cobra.Command {
	var flags appFlags
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"l", "ls"}, Short: "List service accounts",
		Long: `List service accounts: those of an app, with the roles of the app that its bindings ` +
			`give them.`,
		Example: p.named(`  # List the service accounts of app 'web'
  NAME service-account list -a web`),
	}
	flags.add(cmd)
	return p.command(cmd, false, func(ctx context.Context, s *session) error {
		name, err := s.open(ctx, flags)
		if err != nil {
			return err
		}
		found, err := s.apps.ServiceAccounts(ctx, name)
		if err != nil {
			return err
		}
		return s.ui.Table(accountTable(found))
	})
}

// accounts is the service accounts, roles and bindings of an app, with the table of them.
type accounts struct {
	accounts, roles map[object.Ref]live
	shown           map[object.Ref]bool // those that have a row with others
	table           ui.Table
}

// accountTable returns a table with a row for every service account and role that a binding
// connects. Other objects have rows of their own. As in kapp, a binding finds only roles of its
// own namespace, and no cluster role.
func accountTable(found []live) ui.Table {
	a := accounts{
		accounts: map[object.Ref]live{}, roles: map[object.Ref]live{}, shown: map[object.Ref]bool{},
		table: ui.Table{
			Title: "Service accounts", Content: "service accounts", SortBy: ui.SortBy(0, 1, 2, 3,
				4),
			Header: ui.Columns("Namespace", "Name", "Binding/Role Namespace", "Binding", "Role"),
		},
	}
	var bindings []live
	for _, obj := range found {
		switch obj.GetKind() {
		case "ServiceAccount":
			a.accounts[object.RefOf(obj)] = obj
		case "Role", "ClusterRole":
			a.roles[object.RefOf(obj)] = obj
		default:
			bindings = append(bindings, obj)
		}
	}
	for _, obj := range bindings {
		a.bind(obj)
	}
	for _, obj := range found {
		a.alone(obj)
	}
	return a.table
}

// bind adds the rows of a binding.
func (a *accounts) bind(binding live) {
	fields, _, _ := unstructured.NestedMap(binding.Object, "roleRef")
	role := object.Ref{
		Group:     textOf(fields, "apiGroup"),
		Kind:      textOf(fields, "kind"),
		Namespace: binding.GetNamespace(),
		Name:      textOf(fields, "name"),
	}
	if a.roles[role] == nil {
		return
	}
	subjects, _, _ := unstructured.NestedSlice(binding.Object, "subjects")
	met := map[object.Ref]bool{}
	for _, item := range subjects {
		subject, _ := item.(map[string]any)
		account := object.Ref{
			Group:     textOf(subject, "apiGroup"),
			Kind:      textOf(subject, "kind"),
			Namespace: textOf(subject, "namespace"),
			Name:      textOf(subject, "name"),
		}
		if a.accounts[account] == nil || met[account] {
			continue
		}
		met[account] = true
		a.shown[account], a.shown[role], a.shown[object.RefOf(binding)] = true, true, true
		a.table.Rows = append(a.table.Rows, []ui.Cell{
			ui.Namespace(
				account.Namespace,
			), {Text: account.Name}, ui.Namespace(role.Namespace), {Text: binding.GetName()},
			{Text: role.Name},
		})
	}
}

// alone adds the row of an object that has none with others.
func (a *accounts) alone(obj live) {
	if a.shown[object.RefOf(obj)] {
		return
	}
	row := ui.Cells("?", "?", "?", "?", "?")
	name, place := ui.Cell{Text: obj.GetName()}, ui.Namespace(obj.GetNamespace())
	switch obj.GetKind() {
	case "ServiceAccount":
		row[0], row[1] = place, name
	case "Role", "ClusterRole":
		row[2], row[4] = place, name
	default:
		row[2], row[3] = place, name
	}
	a.table.Rows = append(a.table.Rows, row)
}

// textOf returns a string field; empty if it is none.
func textOf(fields map[string]any, name string) string {
	text, _ := fields[name].(string)
	return text
}
