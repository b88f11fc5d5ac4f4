package manifest

import (
	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// dropServerMetadata removes from an object the metadata that only the server writes, as exported
// objects have it, with a warning for each field: an apply cannot set it, and one that sends it is
// refused or taken for a precondition. A creationTimestamp of null stays, which has no effect.
// Annotations that the server or a controller writes again go as well: each run would set them.
func (d *document) dropServerMetadata(obj, metadata map[string]any, n *yaml.Node) {
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
	annotations, _ := metadata["annotations"].(map[string]any)
	kind := (&unstructured.Unstructured{Object: obj}).GroupVersionKind().GroupKind()
	for _, key := range object.ServerAnnotations(kind) {
		if annotations[key] == nil {
			continue
		}
		d.warnAt(child(child(n, "annotations"), key).Line,
			"the annotation %s is left out: only the server sets it; take it out of the file", key)
		object.DeleteAnnotations(metadata, key)
	}
}
