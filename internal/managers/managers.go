// Package managers classifies field managers by their names: plans and comparisons judge an owner
// of a field by one table.
package managers

import (
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"
)

// Class is what a field manager stands for.
type Class string

// The classes.
const (
	Human      Class = "human"      // a tool that a person starts
	Controller Class = "controller" // runs in the cluster, and sets a field again
	Deployer   Class = "deployer"   // another tool that deploys manifests
	Own        Class = "muster"     // the manager that deployed the set
	Unknown    Class = "unknown"
)

//go:embed managers.yaml
var managersText []byte

// Classes are the classes of field managers.
type Classes struct{ entries []classEntry }

// classEntry is the class of the managers whose names match a pattern, in lower case.
type classEntry struct {
	Class Class    `json:"class"`
	Names []string `json:"names"`
}

// Builtin returns the classes that come with the program. A test makes sure that they can be
// read.
var Builtin = sync.OnceValue(func() *Classes {
	entries, err := parseClasses(managersText)
	if err != nil {
		panic(err)
	}
	return &Classes{entries}
})

// Parse reads classes in the form of managers.yaml. They precede the built-in ones.
func Parse(text []byte) (*Classes, error) {
	entries, err := parseClasses(text)
	if err != nil {
		return nil, err
	}
	return &Classes{append(entries, Builtin().entries...)}, nil
}

func parseClasses(text []byte) ([]classEntry, error) {
	var entries []classEntry
	if err := yaml.UnmarshalStrict(text, &entries); err != nil {
		return nil, fmt.Errorf("expected a list of entries with class and names: %w", err)
	}
	known := []Class{Human, Controller, Deployer, Own, Unknown}
	for i, entry := range entries {
		if !slices.Contains(known, entry.Class) {
			return nil, fmt.Errorf("entry %d: the class %q does not exist: use human, controller, "+
				"deployer, muster or unknown", i+1, entry.Class)
		}
		if len(entry.Names) == 0 {
			return nil, fmt.Errorf("entry %d: names has no name", i+1)
		}
		for j, name := range entry.Names {
			entry.Names[j] = strings.ToLower(name)
			if _, err := path.Match(name, ""); err != nil {
				return nil, fmt.Errorf("entry %d: %q is no pattern: %w", i+1, name, err)
			}
		}
	}
	return entries, nil
}

// Of returns the class of a manager.
func (c *Classes) Of(manager string) Class {
	manager = strings.ToLower(strings.ReplaceAll(manager, "/", "-"))
	for _, entry := range c.entries {
		for _, name := range entry.Names {
			if ok, _ := path.Match(name, manager); ok { // the pattern was checked
				return entry.Class
			}
		}
	}
	return Unknown
}
