package kpt

import (
	"errors"
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/cli"
)

// noInventoryError says that a package has no inventory.
type noInventoryError struct {
	name string // of the package, as in: package "web"
	way  string // what to do
}

func (e *noInventoryError) Error() string {
	return e.name + " has no inventory (no ResourceGroup object); " + e.way
}

// severalInventoriesError says that a package has more than one inventory, and where.
type severalInventoriesError struct {
	name   string
	places []string
}

func (e *severalInventoriesError) Error() string {
	return fmt.Sprintf("%s has several inventories, in %s; keep one ResourceGroup", e.name, strings.Join(e.places, " and in "))
}

// note adds to what is wrong with the contents.
func (c *contents) note(err error) { c.broken = errors.Join(c.broken, err) }

// addKptfile takes in the inventory of a Kptfile, if it has one. A section that says nothing is none.
func (c *contents) addKptfile(file *kptfile, where string) {
	if section := file.Inventory; section != nil && section.Name+section.Namespace+section.InventoryID != "" {
		c.kptfiles = append(c.kptfiles, kptfileSection{section, where})
	}
}

// kptfileSection is the inventory section of a Kptfile, and the name of the file.
type kptfileSection struct {
	*kptfileInventory
	where string
}

// inventory gives the one inventory that there is. One that is in a Kptfile, as older tools wrote it, is good for all that a
// ResourceGroup is good for.
func (c *contents) inventory() (*inventory, error) {
	var places []string
	for _, group := range c.groups {
		places = append(places, group.Origin.String())
	}
	for _, section := range c.kptfiles {
		places = append(places, section.where)
	}
	switch {
	case len(places) == 0:
		return nil, &noInventoryError{c.name, c.way}
	case len(places) > 1:
		return nil, &severalInventoriesError{c.name, places}
	case len(c.groups) == 1:
		return newInventory(c.groups[0])
	}
	return c.kptfiles[0].inventory(c.kptfiles[0].where)
}

// advise tells the user of an older package of the newer way.
func (c *contents) advise(env *cli.Env) error {
	if len(c.groups) > 0 || len(c.kptfiles) != 1 {
		return nil
	}
	_, err := fmt.Fprintf(env.Err, "[WARN] The resourcegroup file was not found; the inventory is that of the %s. "+
		"A ResourceGroup object with the same name, namespace and ID is to take its place.\n", c.kptfiles[0].where)
	return err
}
