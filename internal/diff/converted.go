package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/object"
)

// Converted returns the answer to a dry run as the server would store it: without the values that
// its manager has sent before and that the live object lacks all the same. A server drops them when
// it converts the object to the version that it stores, which it does not do in a dry run. Applied
// is the annotation with the configuration that was applied last; empty is none.
func Converted(
	answer, live *unstructured.Unstructured, manager, applied string,
) *unstructured.Unstructured {
	if answer == nil || live == nil || answer.GetAPIVersion() != live.GetAPIVersion() {
		return answer
	}
	owners, ok, err := readFieldSets(live, func(entry map[string]any) bool {
		subresource, _ := entry["subresource"].(string)
		return entry["manager"] == manager && entry["apiVersion"] == live.GetAPIVersion() &&
			subresource == ""
	})
	if err != nil || !ok {
		return answer
	}
	text, known := object.AnnotationsOf(live).Lookup(applied)
	c := conversion{same: known && text == object.AnnotationsOf(answer).Get(applied)}
	stored := answer.DeepCopy()
	for _, key := range slices.Sorted(maps.Keys(stored.Object)) {
		if key == "metadata" || key == "status" {
			continue
		}
		c.field(appliedFields{owners.mine.field(key), owners.others.field(key)}, key,
			stored.Object, live.Object)
	}
	if !c.found {
		return answer
	}
	return stored
}

// conversion removes from an answer what the server does not store.
type conversion struct {
	same  bool // the same configuration was applied last
	found bool
}

// field does so in a field of a map, in place.
func (c *conversion) field(owned appliedFields, key string, answer, live map[string]any) {
	if owned.mine == nil {
		return
	}
	have, exists := live[key]
	switch content, isMap := answer[key].(map[string]any); {
	case exists:
		answer[key] = c.value(owned, answer[key], have)
		return
	case isMap && len(content) > 0 && owned.mine.isLeaf() && !c.same:
		return // it may have been sent without content, which the server does not store
	}
	delete(answer, key)
	c.found = true
}

// value returns a value of the answer without what the server does not store of it.
func (c *conversion) value(owned appliedFields, answer, live any) any {
	if owned.mine.isLeaf() { // of which parts have no owners of their own
		if c.same && owned.others == nil && !jsonvalue.Equal(answer, live) && isPartOf(live, answer) {
			c.found = true
			return live
		}
		return answer
	}
	switch answer := answer.(type) {
	case map[string]any:
		if fields, isMap := live.(map[string]any); isMap {
			for _, key := range slices.Sorted(maps.Keys(answer)) {
				c.field(appliedFields{owned.mine.field(key), owned.others.field(key)}, key, answer, fields)
			}
		}
	case []any:
		if items, isList := live.([]any); isList {
			return c.items(owned, answer, items)
		}
	}
	return answer
}

// items does so in the items of a list.
func (c *conversion) items(owned appliedFields, answer, live []any) []any {
	kept := answer[:0:0]
	for _, item := range answer {
		mine := owned.mine.itemOf(item)
		at := slices.IndexFunc(live, func(other any) bool {
			return mine != nil && owned.mine.itemOf(other) == mine
		})
		switch {
		case mine == nil:
		case at < 0:
			c.found = true
			continue
		default:
			item = c.value(appliedFields{mine, owned.others.itemOf(item)}, item, live[at])
		}
		kept = append(kept, item)
	}
	return kept
}

// isPartOf reports whether a value is another one without some fields of its maps.
func isPartOf(part, whole any) bool {
	switch part := part.(type) {
	case map[string]any:
		fields, isMap := whole.(map[string]any)
		for key, value := range part {
			other, has := fields[key]
			if !has || !isPartOf(value, other) {
				return false
			}
		}
		return isMap
	case []any:
		items, isList := whole.([]any)
		if !isList || len(items) != len(part) {
			return false
		}
		for i := range part {
			if !isPartOf(part[i], items[i]) {
				return false
			}
		}
		return true
	}
	return jsonvalue.Equal(part, whole)
}
