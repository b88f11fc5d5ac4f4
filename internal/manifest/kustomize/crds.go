package kustomize

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"strings"

	"sigs.k8s.io/yaml"
)

// definition is the schema of a custom resource, as the library reads it: which of its fields are
// described by another one.
type definition struct {
	Schema struct {
		Properties map[string]struct {
			Ref string `json:"$ref"`
		}
	}
}

// maxFields limits the fields that schemas describe, once for each other that they are a part of.
const maxFields = 20_000

// checkDefinitions returns an error for schemas of custom resources in which the library would
// look for fields without end.
func checkDefinitions(text []byte) error {
	var all map[string]definition
	decode := func(text []byte, into any) error { return yaml.Unmarshal(text, into) }
	if len(text) > 0 && text[0] == '{' {
		decode = json.Unmarshal
	}
	if decode(text, &all) != nil {
		return nil // the build reports it
	}
	c := &fields{of: map[string][]definition{}, open: map[string]bool{}}
	for name, d := range all {
		c.of[canonical(name)] = append(c.of[canonical(name)], d)
	}
	for name := range c.of {
		if err := c.count(name); err != nil {
			return err
		}
	}
	return nil
}

// canonical returns the name of a definition without what the library may change in it when it
// reads it as an address.
func canonical(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return path.Clean(strings.ToLower(name))
}

// fields counts the fields of definitions.
type fields struct {
	of   map[string][]definition
	open map[string]bool // definitions whose fields are being counted
	all  int
}

func (c *fields) count(name string) error {
	if c.open[name] {
		return fmt.Errorf("the definition %q is a part of itself", name)
	}
	c.open[name] = true
	defer delete(c.open, name)
	for _, d := range c.of[name] {
		for _, property := range d.Schema.Properties {
			if c.all++; c.all > maxFields {
				return errors.New("its definitions name others too often")
			}
			if property.Ref == "" {
				continue
			}
			if err := c.count(canonical(property.Ref)); err != nil {
				return err
			}
		}
	}
	return nil
}
