package cmd

import (
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/view"
)

// nativeStatus formats the status of an object, with its causes in the next lines.
func nativeStatus(m *packages.StatusTargets, e event.Event) string {
	name := e.Ref.Short()
	if m.Remote {
		name = inventoryPaths(m, e.Ref) + ": " + e.Ref.String()
	}
	line := fmt.Sprintf("%s is %s: %s", name, e.Status.State, e.Status.Message)
	return strings.Join(append([]string{line}, view.Causes(e)...), "\n")
}

// liveStatus formats the status of an object as kpt live does: a line for each inventory, with an
// empty namespace for cluster-scoped objects.
func liveStatus(m *packages.StatusTargets, e event.Event) string {
	kind, name, _ := strings.Cut(e.Ref.Short(), "/")
	var lines []string
	for _, inv := range m.Inventories(e.Ref) {
		lines = append(lines, fmt.Sprintf(
			"%s/%s/%s/%s is %s: %s", inv.Name, kind, e.Ref.Namespace, name, e.Status.State,
			e.Status.Message,
		))
	}
	return strings.Join(lines, "\n")
}

// inventoryPaths returns the namespaces and names of the inventories of an object.
func inventoryPaths(m *packages.StatusTargets, ref object.Ref) string {
	names := make([]string, len(m.Owners[ref]))
	for i, inv := range m.Owners[ref] {
		names[i] = inv.Namespace + "/" + inv.Name
	}
	return strings.Join(names, ", ")
}

// inventoryNames returns the names of the inventories of an object.
func inventoryNames(m *packages.StatusTargets, ref object.Ref) string {
	names := make([]string, len(m.Owners[ref]))
	for i, inv := range m.Owners[ref] {
		names[i] = inv.Name
	}
	return strings.Join(names, ",")
}

// rowsOf returns the rows of a table.
func rowsOf(m *packages.StatusTargets) []view.TableRow {
	rows := make([]view.TableRow, 0, m.All.Len())
	for _, ref := range m.All.Refs() {
		rows = append(rows, view.TableRow{Ref: ref})
	}
	return rows
}
