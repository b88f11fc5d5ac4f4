package builtin

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

//go:embed lists.yaml
var listsText []byte

// listRule describes the items of a list, as lists.yaml does.
type listRule struct {
	Types  []string       `json:"types"`
	List   string         `json:"list"`
	Keys   map[string]any `json:"keys"`
	Unique [][]string     `json:"unique"`
	Alone  []string       `json:"alone"`
}

// listRules returns the embedded rules. A test makes sure that they can be read.
var listRules = sync.OnceValue(func() (rules []listRule) {
	if err := yaml.UnmarshalStrict(listsText, &rules); err != nil {
		panic(err)
	}
	return rules
})

// Items describes the items of a list that merges by key.
type Items struct {
	Keys   map[string]any // the fields that identify an item, with their defaults
	Unique [][]string     // other fields of which two items must not agree in all
	Alone  []string       // fields without which an item must be the only one
}

// ItemsOf returns the description of the items of a list: a field of the type of the metadata, with
// the key by which it merges.
func ItemsOf(meta strategicpatch.LookupPatchMeta, list, mergeKey string) Items {
	if m, ok := meta.(patchMetaLookup); ok && m.goType != nil {
		for _, rule := range listRules() {
			if rule.List == list && slices.Contains(rule.Types, m.structName()) {
				return Items{rule.Keys, rule.Unique, rule.Alone}
			}
		}
	}
	return Items{Keys: map[string]any{mergeKey: nil}}
}

// structName returns the name of a struct, or of that to which a pointer points, without its
// version: core.Probe. It is empty for other types.
func (t *goType) structName() string {
	if t.kind == "ptr" {
		t = t.elem
	}
	if t.kind != "struct" {
		return ""
	}
	return withoutVersion(t.name)
}

// withoutVersion returns core.Probe for core/v1.Probe.
func withoutVersion(name string) string {
	group, _, _ := strings.Cut(name, "/")
	return group + name[strings.LastIndex(name, "."):]
}
