package cmd

import (
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
)

// resourceGroupKind is the kind of the record, locally and in the cluster.
var resourceGroupKind = schema.GroupVersionKind{Group: "kpt.dev", Version: "v1alpha1", Kind: "ResourceGroup"}

// configMapKind is the kind of the record that older tools kept.
var configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// inventoryIDKeys are the labels that hold the ID of an inventory, the present one first. The other one is found on
// ConfigMaps that the first tools of this grammar made.
var inventoryIDKeys = []string{inventoryIDKey, firstInventoryIDKey}

// inventory is what a package says of its record: where it is and by which ID its objects know it.
type inventory struct {
	ref         object.Ref // a ResourceGroup, or a ConfigMap
	id          string
	labels      map[string]string // with the ID
	annotations map[string]string
	origin      string // the file that says it
	outdated    string // what keeps the record, or tells of it, where that is an older format; else empty
}

// newInventory reads the ResourceGroup or the ConfigMap of a package. Annotations of tools that work on files stay in the files.
func newInventory(obj manifest.Object) (*inventory, error) {
	inv := &inventory{
		ref:         object.RefOf(obj.Unstructured),
		id:          inventoryID(obj.GetLabels()),
		labels:      obj.GetLabels(),
		annotations: obj.GetAnnotations(),
		origin:      obj.Origin.String(),
	}
	if inv.ref.GroupKind() == configMapKind.GroupKind() {
		inv.outdated = "a ConfigMap"
	}
	return inv.complete("the label "+inventoryIDKey, "metadata.namespace", "metadata.name")
}

// complete takes out what stays in the files, and what is the record's own, and makes sure that nothing is missing; the names are those by which the file
// knows the ID, the namespace and the name.
func (inv *inventory) complete(id, namespace, name string) (*inventory, error) {
	annotations := map[string]string{}
	for key, value := range inv.annotations {
		local := strings.HasPrefix(key, "config.kubernetes.io/") || strings.HasPrefix(key, "internal.config.kubernetes.io/")
		if !local && key != partsKey && key != basedOnKey {
			annotations[key] = value
		}
	}
	inv.annotations = annotations
	var missing []string
	if inv.ref.Name == "" {
		missing = append(missing, name)
	}
	if inv.ref.Namespace == "" {
		missing = append(missing, namespace)
	}
	if inv.id == "" {
		missing = append(missing, id)
	}
	if len(missing) > 0 {
		return nil, worded(fmt.Errorf("%s: the inventory lacks %s; restore it, or run init --force to begin a new inventory",
			inv.origin, strings.Join(missing, " and ")), asKubectl, "the provided ResourceGroup is not valid")
	}
	return inv, nil
}

// inventoryID is the ID among the labels of an inventory, or nothing.
func inventoryID(labels map[string]string) string {
	for _, key := range inventoryIDKeys {
		if labels[key] != "" {
			return labels[key]
		}
	}
	return ""
}

// advise tells of an older format.
func (inv *inventory) advise(out io.Writer) {
	if inv.outdated != "" {
		fmt.Fprintf(out, "Warning: the inventory of this package is in %s, an older format; migrate moves it to a ResourceGroup\n", inv.outdated)
	}
}
