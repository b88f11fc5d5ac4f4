package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Text returns the text of the ResourceGroup file. It is not marshalled, because people expect the
// fields in the usual order.
func (inv *Inventory) Text() []byte {
	var b strings.Builder
	fmt.Fprintf(
		&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n  namespace: %s\n",
		ResourceGroupKind.GroupVersion(), ResourceGroupKind.Kind, scalar(inv.Ref.Name),
		scalar(inv.Ref.Namespace),
	)
	annotations := inv.Annotations
	if inv.Cluster != "" {
		annotations = merged(annotations, map[string]string{ClusterKey: inv.Cluster})
	}
	for _, part := range []struct {
		name   string
		values map[string]string
	}{{"labels", inv.Labels}, {"annotations", annotations}} {
		if len(part.values) > 0 {
			fmt.Fprintf(&b, "  %s:\n", part.name)
		}
		for _, key := range slices.Sorted(maps.Keys(part.values)) {
			fmt.Fprintf(&b, "    %s: %s\n", scalar(key), scalar(part.values[key]))
		}
	}
	return []byte(b.String())
}

// scalar formats a string on one line, quoted if YAML would read another value.
func scalar(value string) string {
	text, err := yaml.Marshal(value)
	if err != nil || strings.Count(string(text), "\n") > 1 {
		return fmt.Sprintf("%q", value)
	}
	return strings.TrimSuffix(string(text), "\n")
}
