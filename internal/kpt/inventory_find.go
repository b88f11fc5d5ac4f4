package kpt

import (
	"fmt"

	"github.com/muster-deploy/muster/internal/manifest"
)

// described is every inventory that a package describes: in ResourceGroups, in ConfigMaps with the label of inventories, and
// in its Kptfile. Those of subpackages are not among them.
type described struct {
	groups  []manifest.Object
	maps    []manifest.Object
	kptfile *inventory // nil if there is none
}

// describedBy sorts the objects of a package.
func describedBy(dir string, objects []manifest.Object) (described, error) {
	var d described
	for _, obj := range objects {
		switch {
		case inSubpackage(dir, obj.Origin.Path):
		case obj.GroupVersionKind() == resourceGroupKind:
			d.groups = append(d.groups, obj)
		case isMapInventory(obj):
			d.maps = append(d.maps, obj)
		}
	}
	var err error
	d.kptfile, err = readKptfile(dir)
	return d, err
}

// isMapInventory reports whether an object is the inventory of an older tool.
func isMapInventory(obj manifest.Object) bool {
	return obj.GroupVersionKind() == configMapKind && inventoryID(obj.GetLabels()) != ""
}

// check refuses more than one inventory of a sort.
func (d described) check(name string) error {
	for _, some := range [][]manifest.Object{d.groups, d.maps} {
		if len(some) > 1 {
			return fmt.Errorf("package %q has several inventories, in %s and in %s; keep one %s",
				name, some[0].Origin, some[1].Origin, some[0].GetKind())
		}
	}
	return nil
}

// only gives the one inventory of a package, nil if there is none. Two of different sorts are what an interrupted migration
// leaves behind.
func (d described) only(name string) (*inventory, error) {
	if err := d.check(name); err != nil {
		return nil, err
	}
	var places []string
	if d.kptfile != nil {
		places = append(places, "Kptfile")
	}
	if len(d.maps) > 0 {
		places = append(places, "ConfigMap")
	}
	if len(d.groups) > 0 {
		places = append(places, "ResourceGroup object")
	}
	switch {
	case len(places) > 1:
		return nil, fmt.Errorf("package %q: inventory was found in both %s and %s; run migrate to finish moving it, or remove the one that is wrong",
			name, places[0], places[1])
	case d.kptfile != nil:
		return d.kptfile, nil
	case len(d.maps) > 0:
		return newInventory(d.maps[0])
	case len(d.groups) > 0:
		return newInventory(d.groups[0])
	default:
		return nil, nil
	}
}
