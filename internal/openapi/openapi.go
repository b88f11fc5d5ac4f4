// Package openapi reads the schemas of kinds, from the OpenAPI documents of API servers and from
// definitions of custom resources, and finds the fields of objects that a schema does not have.
//
// A schema has only what that needs: fields and types. Values are validated by the server alone.
// The package does not read from servers or disks.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Schema describes a value. The zero value describes any.
type Schema struct {
	Type string `json:"t,omitempty"` // string, integer, number, boolean, array or object
	// Ref is the component that describes the value instead.
	Ref string `json:"r,omitempty"`
	// Fields are the fields of an object, Values what describes its other fields, and Open whether
	// it may have any others.
	Fields map[string]*Schema `json:"f,omitempty"`
	Values *Schema            `json:"v,omitempty"`
	Open   bool               `json:"o,omitempty"`
	Items  *Schema            `json:"i,omitempty"` // of an array
}

// Document has the schemas of the kinds of one group and version.
type Document struct {
	Kinds      map[string]string  `json:"kinds"` // components by kind
	Components map[string]*Schema `json:"components"`
}

// wireSchema is a schema as documents and definitions have it.
type wireSchema struct {
	Type       string                 `json:"type"`
	Ref        string                 `json:"$ref"`
	AllOf      []reference            `json:"allOf"`
	Fields     map[string]*wireSchema `json:"properties"`
	Items      *wireSchema            `json:"items"`
	Additional *additional            `json:"additionalProperties"`
	Preserves  bool                   `json:"x-kubernetes-preserve-unknown-fields"`
	IntOrText  bool                   `json:"x-kubernetes-int-or-string"`
	Embedded   bool                   `json:"x-kubernetes-embedded-resource"`
	Kinds      []groupVersionKind     `json:"x-kubernetes-group-version-kind"`
}

// reference is an element of allOf. Documents of servers refer to components by it; in definitions
// it only restricts values.
type reference struct {
	Ref string `json:"$ref"`
}

type groupVersionKind struct{ Group, Version, Kind string }

// additional is additionalProperties: a schema or a boolean.
type additional struct {
	schema *wireSchema
	any    bool
}

// UnmarshalJSON decodes either form.
func (a *additional) UnmarshalJSON(data []byte) error {
	if bytes.HasPrefix(data, []byte("{")) {
		return json.Unmarshal(data, &a.schema)
	}
	return json.Unmarshal(data, &a.any)
}

// componentPath is what references to components begin with.
const componentPath = "#/components/schemas/"

// Parse reads the OpenAPI v3 document of a group and version.
func Parse(data []byte, group, version string) (*Document, error) {
	var read struct {
		Components struct {
			Schemas map[string]*wireSchema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	d := &Document{Kinds: map[string]string{}, Components: map[string]*Schema{}}
	for name, s := range read.Components.Schemas {
		if s == nil {
			continue
		}
		for _, kind := range s.Kinds {
			if kind.Group == group && kind.Version == version {
				d.Kinds[kind.Kind] = name
			}
		}
	}
	for _, name := range d.Kinds {
		d.include(name, read.Components.Schemas)
	}
	return d, nil
}

// include adds a component and all that it refers to.
func (d *Document) include(name string, all map[string]*wireSchema) {
	if _, ok := d.Components[name]; ok || all[name] == nil {
		return
	}
	compiled := all[name].compile()
	if len(compiled.Fields) == 0 && compiled.Values == nil && compiled.Type == "object" {
		compiled = &Schema{} // such as RawExtension: any value
	}
	d.Components[name] = compiled
	compiled.eachRef(func(ref string) { d.include(ref, all) })
}

// eachRef calls a function for each component that a schema refers to.
func (s *Schema) eachRef(call func(name string)) {
	if s == nil {
		return
	}
	if s.Ref != "" {
		call(s.Ref)
	}
	for _, field := range s.Fields {
		field.eachRef(call)
	}
	s.Values.eachRef(call)
	s.Items.eachRef(call)
}

// compile returns the schema in the form of the package; any for nil.
func (w *wireSchema) compile() *Schema {
	if w == nil || w.IntOrText {
		return &Schema{}
	}
	ref := w.Ref
	for _, part := range w.AllOf {
		if part.Ref != "" && ref != "" {
			return &Schema{} // several at once: no server has that
		}
		ref += part.Ref
	}
	if name, ok := strings.CutPrefix(ref, componentPath); ok {
		return &Schema{Ref: name}
	} else if ref != "" {
		return &Schema{}
	}
	s := &Schema{Type: w.Type, Open: w.Preserves}
	if w.Items != nil {
		s.Items = w.Items.compile()
	}
	if w.Additional != nil {
		s.Open = s.Open || w.Additional.any
		if w.Additional.schema != nil {
			s.Values = w.Additional.schema.compile()
		}
	}
	if len(w.Fields) > 0 || w.Embedded {
		s.Type = "object"
		s.Fields = map[string]*Schema{}
	}
	for name, field := range w.Fields {
		s.Fields[name] = field.compile()
	}
	if w.Embedded {
		s.Fields["apiVersion"], s.Fields["kind"] = &Schema{Type: "string"}, &Schema{Type: "string"}
		s.Fields["metadata"] = &Schema{Type: "object", Open: true}
	}
	return s
}
