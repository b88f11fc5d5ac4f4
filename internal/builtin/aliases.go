package builtin

import (
	_ "embed"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

//go:embed aliases.yaml
var aliasesText []byte

// Alias is a field that has a former name.
type Alias struct {
	Types  []string `json:"types"`
	Field  string   `json:"field"`
	Former string   `json:"former"`
	// Admitted are the values, by kind, that admission sets in objects that lack the field.
	Admitted map[string]any `json:"admitted"`
}

// aliases returns the embedded table. A test makes sure that it can be read.
var aliases = sync.OnceValue(func() (table []Alias) {
	if err := yaml.UnmarshalStrict(aliasesText, &table); err != nil {
		panic(err)
	}
	return table
})

// AliasesOf returns the fields of a struct that have former names, which the server sets as well.
func AliasesOf(meta strategicpatch.LookupPatchMeta) (found []Alias) {
	m, ok := meta.(patchMetaLookup)
	if !ok || m.goType == nil {
		return nil
	}
	for _, alias := range aliases() {
		if slices.Contains(alias.Types, m.structName()) {
			found = append(found, alias)
		}
	}
	return found
}
