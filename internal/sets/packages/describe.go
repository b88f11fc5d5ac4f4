package packages

import (
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/manifest"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// descriptions are the inventories that a package describes: ResourceGroups, ConfigMaps with the
// label of inventories, and Kptfiles. Those of subpackages are not included.
type descriptions struct {
	name     string // what errors call the package, as in: package "web"
	remedy   string // what to do if there is none
	groups   []manifest.Object
	maps     []manifest.Object
	kptfiles []kptfileSection // of a folder at most that of the one at its top

	// folder is that of the package, whose inventory has to be at the top; empty: it may be anywhere.
	folder string
	// subpackages returns the places of the inventories of subpackages. It is called if folder is set.
	subpackages func() []string
}

// kptfileSection is the inventory section of a Kptfile.
type kptfileSection struct {
	*inventory.KptfileInventory
	file string
}

// usedFormat is a format of inventories, with the places of the package that use it.
type usedFormat struct {
	name   string
	places []string
}

// usedFormats returns the formats that the package uses, the current one first.
func (d descriptions) usedFormats() []usedFormat {
	var used []usedFormat
	for _, way := range []struct {
		name    string
		objects []manifest.Object
	}{{"ResourceGroup", d.groups}, {"ConfigMap", d.maps}} {
		s := usedFormat{name: way.name}
		for _, obj := range way.objects {
			s.places = append(s.places, obj.Origin.String())
		}
		used = s.appendTo(used)
	}
	s := usedFormat{name: "Kptfile"}
	for _, section := range d.kptfiles {
		s.places = append(s.places, section.file)
	}
	return s.appendTo(used)
}

func (s usedFormat) appendTo(used []usedFormat) []usedFormat {
	if len(s.places) == 0 {
		return used
	}
	return append(used, s)
}

// check returns an error if the package has several inventories of one format.
func (d descriptions) check() error {
	var places []string
	several := false
	sorts := d.usedFormats()
	for _, s := range sorts {
		places = append(places, s.places...)
		several = several || len(s.places) > 1
	}
	if several {
		return &SeveralInventoriesError{Package: d.name, Format: sorts[0].name, Places: places}
	}
	return nil
}

// inventory returns the one inventory of the package. An interrupted migration leaves two, in
// different formats.
func (d descriptions) inventory() (*inventory.Inventory, error) {
	if err := d.check(); err != nil {
		return nil, err
	}
	sorts := d.usedFormats()
	switch n := len(sorts); {
	case n == 0:
		return nil, d.noInventory()
	case n > 1:
		return nil, &TwoFormatsError{Package: d.name, Older: sorts[n-1].name, Newer: sorts[n-2].name}
	case len(d.groups)+len(d.maps) > 0:
		obj := append(d.groups, d.maps...)[0]
		if d.folder != "" && path.Dir(obj.Origin.Path) != "." {
			return nil, &SubfolderError{
				Package: d.name, Folder: d.folder, Places: []string{obj.Origin.Path},
				Otherwise: "move the file to the top of the folder",
			}
		}
		return inventory.New(obj)
	}
	return d.kptfiles[0].Inventory(d.kptfiles[0].file)
}

// noInventory returns the error of a package without an inventory.
func (d descriptions) noInventory() error {
	none := &NoInventoryError{d.name, d.remedy}
	if d.folder == "" {
		return none
	}
	if places := d.subpackages(); len(places) > 0 {
		return &SubfolderError{
			Package: d.name, Folder: d.folder, Places: places, Otherwise: d.remedy, none: none,
		}
	}
	return none
}

// NoInventoryError reports that a package has no inventory.
type NoInventoryError struct {
	name string // of the package, as in: package "web"
	way  string // what to do
}

func (e *NoInventoryError) Error() string {
	return e.name + " has no inventory (no ResourceGroup object); " + e.way
}

// addKptfile adds the inventory of a Kptfile. An empty section is ignored.
func (d *descriptions) addKptfile(file *inventory.Kptfile, where string) {
	if section := file.Inventory; section != nil &&
		section.Name+section.Namespace+section.InventoryID != "" {
		d.kptfiles = append(d.kptfiles, kptfileSection{section, where})
	}
}

// isInventoryObject reports whether an object describes an inventory. Such objects are never
// applied.
func isInventoryObject(obj map[string]any) bool { return isGroup(obj) || isMapInventory(obj) }

// isGroup reports whether an object is a ResourceGroup.
func isGroup(obj map[string]any) bool {
	version, _ := obj["apiVersion"].(string)
	kind, _ := obj["kind"].(string)
	return schema.FromAPIVersionAndKind(version, kind).
		GroupKind() ==
		inventory.ResourceGroupKind.GroupKind()
}

// isMapInventory reports whether an object is an inventory of an older tool.
func isMapInventory(obj map[string]any) bool {
	u := &unstructured.Unstructured{Object: obj}
	return u.GroupVersionKind() == inventory.ConfigMapKind && inventory.IDOf(u.GetLabels()) != ""
}
