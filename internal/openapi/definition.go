package openapi

import "encoding/json"

// Definition returns the schemas of the kind that a CustomResourceDefinition defines, by version.
// Metadata has the names of the fields of an object's metadata. Versions without a schema are left
// out, and all of a definition that keeps unknown fields.
func Definition(crd map[string]any, metadata []string) map[string]*Document {
	var read struct {
		Spec struct {
			Names struct {
				Kind string `json:"kind"`
			} `json:"names"`
			PreserveUnknownFields bool `json:"preserveUnknownFields"`
			Versions              []struct {
				Name   string `json:"name"`
				Schema struct {
					Root *wireSchema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	data, err := json.Marshal(crd)
	if err != nil || json.Unmarshal(data, &read) != nil || read.Spec.PreserveUnknownFields {
		return nil // the server refuses what is not read here
	}
	found := map[string]*Document{}
	for _, version := range read.Spec.Versions {
		if version.Schema.Root == nil {
			continue
		}
		root := version.Schema.Root.compile()
		if root.Fields == nil {
			root.Fields = map[string]*Schema{}
		}
		of := &Schema{Type: "object", Fields: map[string]*Schema{}}
		for _, name := range metadata {
			of.Fields[name] = &Schema{}
		}
		root.Type = "object"
		root.Fields["apiVersion"], root.Fields["kind"] = &Schema{}, &Schema{}
		root.Fields["metadata"] = of
		found[version.Name] = &Document{
			Kinds:      map[string]string{read.Spec.Names.Kind: "root"},
			Components: map[string]*Schema{"root": root},
		}
	}
	return found
}
