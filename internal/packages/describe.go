package packages

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/packages/inventory"
)

// described is every inventory that a package describes: in ResourceGroups, in ConfigMaps with the label of inventories, and
// in Kptfiles. Those of the subpackages of a folder are not among them.
type described struct {
	name     string // what errors call the package, as in: package "web"
	way      string // what to do if there is none
	groups   []manifest.Object
	maps     []manifest.Object
	kptfiles []kptfileSection // of a folder at most that of the one at its top
}

// kptfileSection is the inventory section of a Kptfile, and the name of the file.
type kptfileSection struct {
	*inventory.KptfileInventory
	where string
}

// sort is one way of describing an inventory, and the places of those that are described in this way.
type sort struct {
	name   string
	places []string
}

// sorts are the ways that the package makes use of, the present one first.
func (d described) sorts() []sort {
	var used []sort
	for _, way := range []struct {
		name    string
		objects []manifest.Object
	}{{"ResourceGroup", d.groups}, {"ConfigMap", d.maps}} {
		s := sort{name: way.name}
		for _, obj := range way.objects {
			s.places = append(s.places, obj.Origin.String())
		}
		used = s.appended(used)
	}
	s := sort{name: "Kptfile"}
	for _, section := range d.kptfiles {
		s.places = append(s.places, section.where)
	}
	return s.appended(used)
}

func (s sort) appended(used []sort) []sort {
	if len(s.places) == 0 {
		return used
	}
	return append(used, s)
}

// check refuses more than one inventory of a sort.
func (d described) check() error {
	var places []string
	several := false
	sorts := d.sorts()
	for _, s := range sorts {
		places = append(places, s.places...)
		several = several || len(s.places) > 1
	}
	if several {
		return &SeveralInventoriesError{Package: d.name, Format: sorts[0].name, Places: places}
	}
	return nil
}

// inventory gives the one inventory of a package. Two of different sorts are what an interrupted migration leaves behind.
func (d described) inventory() (*inventory.Inventory, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	sorts := d.sorts()
	switch n := len(sorts); {
	case n == 0:
		return nil, &NoInventoryError{d.name, d.way}
	case n > 1:
		return nil, &TwoFormatsError{Package: d.name, Older: sorts[n-1].name, Newer: sorts[n-2].name}
	case len(d.groups) > 0:
		return inventory.New(d.groups[0])
	case len(d.maps) > 0:
		return inventory.New(d.maps[0])
	}
	return d.kptfiles[0].Inventory(d.kptfiles[0].where)
}

// NoInventoryError says that a package has no inventory.
type NoInventoryError struct {
	name string // of the package, as in: package "web"
	way  string // what to do
}

func (e *NoInventoryError) Error() string {
	return e.name + " has no inventory (no ResourceGroup object); " + e.way
}

// addKptfile takes in the inventory of a Kptfile, if it has one. A section that says nothing is none.
func (d *described) addKptfile(file *inventory.Kptfile, where string) {
	if section := file.Inventory; section != nil && section.Name+section.Namespace+section.InventoryID != "" {
		d.kptfiles = append(d.kptfiles, kptfileSection{section, where})
	}
}

// describes reports whether an object, as it was read, describes an inventory. Such objects are never applied.
func describes(obj map[string]any) bool { return isGroup(obj) || isMapInventory(obj) }

// isGroup reports whether an object, as it was read, is a ResourceGroup.
func isGroup(obj map[string]any) bool {
	version, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	return schema.FromAPIVersionAndKind(version, kind).GroupKind() == inventory.ResourceGroupKind.GroupKind()
}

// isMapInventory reports whether an object, as it was read, is the inventory of an older tool.
func isMapInventory(obj map[string]any) bool {
	u := &unstructured.Unstructured{Object: obj}
	return u.GroupVersionKind() == inventory.ConfigMapKind && inventory.IDOf(u.GetLabels()) != ""
}
