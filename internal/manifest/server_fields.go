package manifest

import (
	"go.yaml.in/yaml/v3"

	"github.com/muster-deploy/muster/internal/object"
)

// dropServerMetadata removes from an object the metadata that only the server writes, as exported
// objects have it, with a warning for each field: an apply cannot set it, and one that sends it is
// refused or taken for a precondition. A creationTimestamp of null stays, which has no effect.
func (d *document) dropServerMetadata(metadata map[string]any, n *yaml.Node) {
	if d.options.KeepServerMetadata {
		return
	}
	for _, field := range object.ServerMetadata() {
		value, ok := metadata[field]
		if !ok || field == "creationTimestamp" && value == nil {
			continue
		}
		if value != nil {
			d.warnAt(child(n, field).Line,
				"metadata.%s is left out: only the server sets it; take it out of the file", field)
		}
		delete(metadata, field)
	}
}
