// Package laws generates Kubernetes objects from the OpenAPI v3 documents of an API server, and
// changes of them, for tests of laws that hold for all objects.
package laws

import (
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/openapi"
)

// Schema is the schema of a value, as far as values are generated and compared by it.
type Schema struct {
	Ref         string             `json:"$ref"`
	AllOf       []*Schema          `json:"allOf"`
	OneOf       []*Schema          `json:"oneOf"`
	Type        string             `json:"type"`
	Format      string             `json:"format"`
	Enum        []any              `json:"enum"`
	Minimum     *float64           `json:"minimum"`
	Maximum     *float64           `json:"maximum"`
	Properties  map[string]*Schema `json:"properties"`
	Required    []string           `json:"required"`
	Items       *Schema            `json:"items"`
	Additional  additional         `json:"additionalProperties"`
	ListType    string             `json:"x-kubernetes-list-type"`
	Keys        []string           `json:"x-kubernetes-list-map-keys"`
	MergeKey    string             `json:"x-kubernetes-patch-merge-key"`
	IntOrString bool               `json:"x-kubernetes-int-or-string"`
	Free        bool               `json:"x-kubernetes-preserve-unknown-fields"`
	Kinds       []struct {
		Group, Version, Kind string
	} `json:"x-kubernetes-group-version-kind"`
}

// additional is the schema of the values of a map; nil if the object is none.
type additional struct{ *Schema }

// UnmarshalJSON reads a schema, or a boolean.
func (a *additional) UnmarshalJSON(data []byte) error {
	if data[0] != '{' {
		return nil
	}
	a.Schema = new(Schema)
	return json.Unmarshal(data, a.Schema)
}

// Schemas are the schemas of a server.
type Schemas struct {
	named map[string]*Schema
	kinds map[schema.GroupVersionKind]*Schema
}

// Read reads the schemas of group versions from a server.
func Read(client openapi.Client, versions []schema.GroupVersion) (*Schemas, error) {
	paths, err := client.Paths()
	if err != nil {
		return nil, err
	}
	all := &Schemas{map[string]*Schema{}, map[schema.GroupVersionKind]*Schema{}}
	for _, version := range versions {
		path := "apis/" + version.String()
		if version.Group == "" {
			path = "api/" + version.Version
		}
		document := paths[path]
		if document == nil {
			return nil, fmt.Errorf("the server has no OpenAPI document of %s", version)
		}
		text, err := document.Schema("application/json")
		if err != nil {
			return nil, fmt.Errorf("read the OpenAPI document of %s: %w", version, err)
		}
		if err := all.add(text); err != nil {
			return nil, fmt.Errorf("read the OpenAPI document of %s: %w", version, err)
		}
	}
	return all, nil
}

// add adds the schemas of a document.
func (all *Schemas) add(text []byte) error {
	var document struct {
		Components struct{ Schemas map[string]*Schema }
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return err
	}
	for name, s := range document.Components.Schemas {
		all.named[name] = s
		for _, kind := range s.Kinds {
			all.kinds[schema.GroupVersionKind(kind)] = s
		}
	}
	return nil
}

// Of returns the schema of a kind, or nil.
func (all *Schemas) Of(kind schema.GroupVersionKind) *Schema { return all.kinds[kind] }

// resolve returns the schema that a schema refers to, with the type of list of the reference.
func (all *Schemas) resolve(s *Schema) *Schema {
	for depth := 0; s != nil && depth < 8; depth++ {
		ref := s.Ref
		if ref == "" && len(s.AllOf) == 1 && s.Type == "" {
			ref = s.AllOf[0].Ref
		}
		if ref == "" {
			return s
		}
		s = all.named[strings.TrimPrefix(ref, "#/components/schemas/")]
	}
	return s
}

// child returns the schema of a field of a map or of the items of a list, or nil.
func (all *Schemas) child(s *Schema, name any) *Schema {
	s = all.resolve(s)
	if s == nil {
		return nil
	}
	field, ok := name.(string)
	if !ok {
		return all.resolve(s.Items)
	}
	if found := s.Properties[field]; found != nil {
		return all.resolve(found)
	}
	return all.resolve(s.Additional.Schema)
}

// at returns the schema of a path below a schema, or nil.
func (all *Schemas) at(s *Schema, path Path) *Schema {
	for _, name := range path {
		s = all.child(s, name)
	}
	return s
}
