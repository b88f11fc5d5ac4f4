// Package inventory holds the formats in which packages describe and store their record:
// ResourceGroup, ConfigMap and the inventory section of a Kptfile.
//
// Its Store keeps a record in the cluster. A record that is too large for one object is divided
// into shards. A save writes the shards, then the main object, which holds the number of shards,
// and then deletes the shards that the main object does not reference. A save that adds members to
// a shard always writes the main object too. Its resource version therefore orders concurrent
// saves, and the later one gets a conflict.
package inventory

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/object"
)

// ResourceGroupKind is the kind of inventories, in packages and in the cluster.
var ResourceGroupKind = schema.GroupVersionKind{
	Group:   "kpt.dev",
	Version: "v1alpha1",
	Kind:    "ResourceGroup",
}

// ConfigMapKind is the kind of inventories that older tools wrote.
var ConfigMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}

// The labels and annotations of records.
const (
	IDKey      = "cli-utils.sigs.k8s.io/inventory-id"
	FirstIDKey = "kustomize.config.k8s.io/inventory-id"

	// shardsKey is an annotation of the main object: the number of shards, if there are several.
	shardsKey = "muster.dev/inventory-parts"
	// ClusterKey is an annotation of the file alone: the cluster that the package belongs to.
	ClusterKey = "muster.dev/cluster"
	// shardOfKey is a label of the other shards: the ID of the inventory.
	shardOfKey = "muster.dev/inventory-part-of"
	// basedOnKey is an annotation of both: the version of the main object before members were
	// added.
	basedOnKey = "muster.dev/inventory-based-on"
	// renamedFromKey is an annotation of the main object: the namespace and the name that the record
	// had before it was renamed.
	renamedFromKey = "muster.dev/renamed-from"
)

// IDKeys are the labels that may hold the ID of an inventory, the current one first. The first
// tools for packages set the other one.
var IDKeys = []string{IDKey, FirstIDKey}

// Inventory identifies the record of a package.
type Inventory struct {
	Ref          object.Ref // a ResourceGroup or a ConfigMap
	ID           string
	Labels       map[string]string // with the ID
	Annotations  map[string]string
	Cluster      string // the value of ClusterKey; empty for any
	Source       string // the file that describes the inventory
	LegacyFormat string // with its article; empty for a ResourceGroup
}

// New reads the ResourceGroup or the ConfigMap of a package. Annotations of tools that work on
// files are left out.
func New(obj manifest.Object) (*Inventory, error) {
	inv := &Inventory{
		Ref:         object.RefOf(obj.Unstructured),
		ID:          IDOf(obj.GetLabels()),
		Labels:      obj.GetLabels(),
		Annotations: obj.GetAnnotations(),
		Source:      obj.Origin.String(),
	}
	if inv.Ref.GroupKind() == ConfigMapKind.GroupKind() {
		inv.LegacyFormat = "a ConfigMap"
	}
	return inv.complete("the label "+IDKey, "metadata.namespace", "metadata.name")
}

// complete removes the annotations that do not belong on the record and checks that no field is
// missing. The arguments are the names of the fields in the file.
func (inv *Inventory) complete(id, namespace, name string) (*Inventory, error) {
	annotations := map[string]string{}
	for key, value := range inv.Annotations {
		local := strings.HasPrefix(key, "config.kubernetes.io/") ||
			strings.HasPrefix(key, "internal.config.kubernetes.io/")
		if !local && key != shardsKey && key != basedOnKey &&
			key != renamedFromKey {
			annotations[key] = value
		}
	}
	inv.Cluster = annotations[ClusterKey]
	delete(annotations, ClusterKey)
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
		return nil, &IncompleteError{Origin: inv.Source, Missing: missing}
	}
	return inv, nil
}

// IDOf returns the ID among the labels of an inventory, or an empty string.
func IDOf(labels map[string]string) string {
	for _, key := range IDKeys {
		if labels[key] != "" {
			return labels[key]
		}
	}
	return ""
}

// Advise reports an inventory in an older format.
func (inv *Inventory) Advise(notice func(string)) {
	if inv.LegacyFormat != "" {
		notice(fmt.Sprintf(
			"Warning: the inventory of this package is in %s, an older format; migrate moves it "+
				"to a ResourceGroup", inv.LegacyFormat,
		))
	}
}

// ExpectedCluster returns the cluster that the package belongs to, and where that is written. Both
// are empty for any cluster, and without an inventory.
func (i *Inventory) ExpectedCluster() (cluster, where string) {
	if i == nil || i.Cluster == "" {
		return "", ""
	}
	return i.Cluster, "the annotation " + ClusterKey + " in " + i.Source
}
