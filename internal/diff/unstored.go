package diff

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/object"
)

// sentMetadata are the fields of metadata that a server stores unchanged.
var sentMetadata = []string{"annotations", "finalizers", "labels", "ownerReferences"}

// Unstored returns the paths of the values of a manifest that a stored object lacks, sorted, as in
// spec.containers[0].image: an item has its number in the manifest. What a server stores in another
// form is not lacking, and neither are nulls, empty lists, values of built-in kinds that servers
// leave out, as hostNetwork: false, and what the manifest cannot set.
func Unstored(manifest, stored *unstructured.Unstructured) []string {
	first := lackingValues{strict: true}
	if len(first.fields(manifest.Object, stored.Object)) == 0 {
		return nil // normal forms are made only if they are needed
	}
	manifest = WithoutNulls(WithoutIgnored(manifest))
	if object.IsSecret(manifest) {
		manifest = WithEncodedData(manifest)
	}
	sent, typed := builtin.Stored(manifest.Object)
	have, known := builtin.Stored(stored.Object)
	if !typed || !known {
		return (&lackingValues{}).fields(manifest.Object, stored.Object)
	}
	return (&lackingValues{}).fields(sent, have)
}

// fields returns the paths of the values that a stored object lacks.
func (c *lackingValues) fields(sent, stored map[string]any) []string {
	for _, key := range slices.Sorted(maps.Keys(sent)) {
		switch key {
		case "apiVersion", "kind", "status":
			continue
		case "metadata":
			metadata, _ := sent[key].(map[string]any)
			have, _ := stored[key].(map[string]any)
			for _, field := range sentMetadata {
				given := metadata[field]
				if fields, isMap := given.(map[string]any); !isMap || len(fields) > 0 {
					c.value(Below(key, field), given, have[field])
				}
			}
		default:
			c.value(key, sent[key], stored[key])
		}
	}
	return c.paths
}

// Below returns the path of a field of the value at a path.
func Below(path, field string) string {
	if strings.ContainsAny(field, "./[] ") || field == "" {
		return path + "[" + field + "]"
	}
	return strings.TrimPrefix(path+"."+field, ".")
}

// ItemOf returns the path of an item of the list at a path.
func ItemOf(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// lackingValues collects the paths of values that a stored object lacks.
type lackingValues struct {
	strict bool // items that were replaced by others count
	paths  []string
}

// value compares one value. A value of another type was converted.
func (c *lackingValues) value(path string, sent, stored any) {
	if isVoid(sent) {
		return
	}
	if stored == nil {
		c.paths = append(c.paths, path)
		return
	}
	switch s := sent.(type) {
	case map[string]any:
		if fields, ok := stored.(map[string]any); ok {
			for _, key := range slices.Sorted(maps.Keys(s)) {
				c.value(Below(path, key), s[key], fields[key])
			}
		}
	case []any:
		if items, ok := stored.([]any); ok {
			c.items(path, s, items)
		}
	}
}

// items compares the items of two lists. Items of which only one list has names, or that were
// replaced by others, do not count.
func (c *lackingValues) items(path string, sent, stored []any) {
	named := areNamed(sent) && areNamed(stored)
	at := matchItems(sent, stored, named)
	few := len(sent)*len(stored) <= maxPairs
	unmatched := len(stored)
	for _, j := range at {
		if j >= 0 {
			unmatched--
		}
	}
	for i, item := range sent {
		switch {
		case at[i] >= 0:
			c.value(ItemOf(path, i), item, stored[at[i]])
		case c.strict:
			c.paths = append(c.paths, ItemOf(path, i))
		case !named && (unmatched > 0 || few && isIn(stored, item)):
		default:
			c.paths = append(c.paths, ItemOf(path, i))
		}
	}
}

// matchItems returns for each item of a list the index of the same item in another list, or -1:
// that with the same name if all are named, else one that does not contradict it. Of very long
// lists without names only items in the same place are compared.
func matchItems(sent, stored []any, named bool) []int {
	at, taken := make([]int, len(sent)), make([]bool, len(stored))
	if named {
		names := map[any]int{}
		for j, item := range stored {
			names[fieldOf(item, "name")] = j
		}
		for i, item := range sent {
			j, ok := names[fieldOf(item, "name")]
			if at[i] = j; !ok {
				at[i] = -1
			}
		}
		return at
	}
	fits := func(i, j int) bool {
		if taken[j] {
			return false
		}
		common, same := agree(sent[i], stored[j])
		return same && (common || i == j && len(sent) == len(stored))
	}
	for i := range sent {
		if at[i] = -1; i < len(stored) && fits(i, i) {
			at[i], taken[i] = i, true
		}
	}
	for i := range sent {
		for j := 0; j < len(stored) && at[i] < 0 && len(sent)*len(stored) <= maxPairs; j++ {
			if fits(i, j) {
				at[i], taken[j] = j, true
			}
		}
	}
	return at
}

// areNamed reports whether all items of a list are maps with distinct names.
func areNamed(list []any) bool {
	seen := map[string]bool{}
	for _, item := range list {
		name, ok := fieldOf(item, "name").(string)
		if !ok || seen[name] {
			return false
		}
		seen[name] = true
	}
	return true
}

func isIn(list []any, value any) bool {
	return slices.ContainsFunc(list, func(item any) bool { return jsonvalue.Equal(item, value) })
}

// agree reports whether two values have a scalar in common, and no different ones in the same
// place. Lists in them do not count.
func agree(a, b any) (common, same bool) {
	x, isMap := a.(map[string]any)
	y, both := b.(map[string]any)
	if !isMap || !both {
		equal := jsonvalue.Equal(a, b)
		return equal, equal
	}
	for key, value := range x {
		other, ok := y[key]
		if _, isList := value.([]any); !ok || isList {
			continue
		}
		some, fit := agree(value, other)
		if !fit {
			return false, false
		}
		common = common || some
	}
	return common, true
}

// isVoid reports whether a value is null or an empty list: servers store either, or nothing.
func isVoid(value any) bool {
	list, isList := value.([]any)
	return value == nil || isList && len(list) == 0
}
