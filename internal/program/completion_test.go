package program

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Each option of a native command that has fixed values, or names something in the cluster or a
// folder, can be completed.
func TestOptionsAreCompleted(t *testing.T) {
	root := Commands(documented("muster"))
	checked := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, child := range cmd.Commands() {
			walk(child)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			switch f.Name {
			case "app", "record", "namespace", "context", "cluster", "user", "filter-kind", "filter-ns",
				"namespaces", "new-namespace", "expect-cluster", "inv-type", "statuses", "dry-run":
			default:
				if !strings.Contains(f.Usage, "One of: ") {
					return
				}
			}
			checked++
			if _, ok := cmd.GetFlagCompletionFunc(f.Name); !ok {
				t.Errorf("%s --%s is not completed", cmd.CommandPath(), f.Name)
			}
		})
	}
	for _, cmd := range root.Commands() {
		if cmd.GroupID == native {
			walk(cmd)
		}
	}
	if checked < 50 {
		t.Errorf("checked %d options only", checked)
	}
}
