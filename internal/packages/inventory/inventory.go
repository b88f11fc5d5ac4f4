// Package inventory holds the formats in which packages describe and store their record: ResourceGroup, ConfigMap and
// the inventory section of a Kptfile. Its Store keeps a record in the cluster, in several objects if it is too large for
// one.
package inventory

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
)

// ResourceGroupKind is the kind of the record, locally and in the cluster.
var ResourceGroupKind = schema.GroupVersionKind{Group: "kpt.dev", Version: "v1alpha1", Kind: "ResourceGroup"}

// ConfigMapKind is the kind of the record that older tools kept.
var ConfigMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// The labels and annotations of records.
const (
	IDKey      = "cli-utils.sigs.k8s.io/inventory-id"
	FirstIDKey = "kustomize.config.k8s.io/inventory-id"

	partsKey   = "muster.dev/inventory-parts"    // on the main object of a record: how many objects hold it, if more than one
	partOfKey  = "muster.dev/inventory-part-of"  // label of the others: the ID of the inventory
	basedOnKey = "muster.dev/inventory-based-on" // on both: the version of the main object that a save found when it added members
)

// IDKeys are the labels that hold the ID of an inventory, the present one first. The other one is found on
// ConfigMaps that the first tools of this grammar made.
var IDKeys = []string{IDKey, FirstIDKey}

// Inventory is what a package says of its record: where it is and by which ID its objects know it.
type Inventory struct {
	Ref         object.Ref // a ResourceGroup, or a ConfigMap
	ID          string
	Labels      map[string]string // with the ID
	Annotations map[string]string
	Origin      string // the file that says it
	Outdated    string // what keeps the record, or tells of it, where that is an older format; else empty
}

// New reads the ResourceGroup or the ConfigMap of a package. Annotations of tools that work on files stay in the files.
func New(obj manifest.Object) (*Inventory, error) {
	inv := &Inventory{
		Ref:         object.RefOf(obj.Unstructured),
		ID:          IDOf(obj.GetLabels()),
		Labels:      obj.GetLabels(),
		Annotations: obj.GetAnnotations(),
		Origin:      obj.Origin.String(),
	}
	if inv.Ref.GroupKind() == ConfigMapKind.GroupKind() {
		inv.Outdated = "a ConfigMap"
	}
	return inv.complete("the label "+IDKey, "metadata.namespace", "metadata.name")
}

// complete takes out what stays in the files, and what is the record's own, and makes sure that nothing is missing; the names are those by which the file
// knows the ID, the namespace and the name.
func (inv *Inventory) complete(id, namespace, name string) (*Inventory, error) {
	annotations := map[string]string{}
	for key, value := range inv.Annotations {
		local := strings.HasPrefix(key, "config.kubernetes.io/") || strings.HasPrefix(key, "internal.config.kubernetes.io/")
		if !local && key != partsKey && key != basedOnKey {
			annotations[key] = value
		}
	}
	inv.Annotations = annotations
	var missing []string
	if inv.Ref.Name == "" {
		missing = append(missing, name)
	}
	if inv.Ref.Namespace == "" {
		missing = append(missing, namespace)
	}
	if inv.ID == "" {
		missing = append(missing, id)
	}
	if len(missing) > 0 {
		return nil, &IncompleteError{Origin: inv.Origin, Missing: missing}
	}
	return inv, nil
}

// IDOf is the ID among the labels of an inventory, or nothing.
func IDOf(labels map[string]string) string {
	for _, key := range IDKeys {
		if labels[key] != "" {
			return labels[key]
		}
	}
	return ""
}

// Advise reports an older format.
func (inv *Inventory) Advise(notice func(string)) {
	if inv.Outdated != "" {
		notice(fmt.Sprintf("Warning: the inventory of this package is in %s, an older format; migrate moves it to a ResourceGroup", inv.Outdated))
	}
}
