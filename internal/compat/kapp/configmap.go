package kapp

import (
	"context"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
)

func (p *program) newConfigMap() *cobra.Command {
	return parent("config-map", "Config map",
		[]string{"cm", "cfg", "config-maps", "configmap", "configmaps"}, p.newConfigMapList())
}

// configMapList is the command config-map list with its flags.
type configMapList struct {
	app    appFlags
	values bool
}

func (p *program) newConfigMapList() *cobra.Command {
	l := &configMapList{}
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"l", "ls"}, Short: "List config maps",
		Long: `List config maps: what the ConfigMaps of an app hold, item by item.`,
		Example: p.named(`  # Show what the ConfigMaps of app 'web' hold
  NAME config-map list -a web --values`),
	}
	l.app.add(cmd)
	cmd.Flags().BoolVar(&l.values, "values", false, "Show config map values")
	return p.command(cmd, false, l.run)
}

func (l *configMapList) run(ctx context.Context, s *session) error {
	name, err := s.open(ctx, l.app)
	if err != nil {
		return err
	}
	found, err := s.apps.ConfigMaps(ctx, name)
	if err != nil {
		return err
	}
	return s.ui.Table(configMapTable(found, l.values))
}

// configMapTable returns a table with a row for each item, and one for a ConfigMap without items.
func configMapTable(found []live, values bool) ui.Table {
	header := ui.Columns("Namespace", "Name", "Key", "Value")
	header[3].Hidden = !values
	table := ui.Table{
		Title:   "Config map items",
		Content: "config map items",
		Header:  header,
		SortBy:  ui.SortBy(0, 1, 2),
	}
	for _, obj := range found {
		items, _, _ := unstructured.NestedStringMap(obj.Object, "data")
		if len(items) == 0 {
			items = map[string]string{"": ""}
		}
		for _, key := range slices.Sorted(maps.Keys(items)) {
			table.Rows = append(
				table.Rows,
				[]ui.Cell{
					ui.Namespace(obj.GetNamespace()),
					{Text: obj.GetName()},
					{Text: key},
					{Text: items[key]},
				},
			)
		}
	}
	return table
}
