package diff

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/object"
)

// Converted returns the answer to a dry run as the server would store it: without the values that
// its manager has sent before and that the live object lacks all the same. A server drops them when
// it converts a custom resource to the version that it stores, which it does not do in a dry run.
// Both objects have their managed fields. Applied is the annotation with the configuration that was
// applied last; empty is none.
func Converted(
	answer, live *unstructured.Unstructured, manager, applied string,
) *unstructured.Unstructured {
	if answer == nil || live == nil || answer.GetAPIVersion() != live.GetAPIVersion() {
		return answer
	}
	if _, typed := builtin.TypeMeta(answer.GroupVersionKind()); typed {
		return answer // no conversion of these drops values
	}
	isMine := func(entry map[string]any) bool {
		subresource, _ := entry["subresource"].(string)
		return entry["manager"] == manager && entry["apiVersion"] == live.GetAPIVersion() &&
			subresource == ""
	}
	owners, ok, err := readFieldSets(live, isMine)
	if err != nil || !ok {
		return answer
	}
	after, _, err := readFieldSets(answer, isMine)
	if err != nil {
		return answer
	}
	text, known := object.AnnotationsOf(live).Lookup(applied)
	c := conversion{same: known && text == object.AnnotationsOf(answer).Get(applied)}
	stored := answer.DeepCopy()
	for _, key := range slices.Sorted(maps.Keys(stored.Object)) {
		if key == "metadata" || key == "status" {
			continue
		}
		c.field(sentFields{owners, after.mine}.field(key), key, stored.Object, live.Object)
	}
	if !c.found {
		return answer
	}
	return stored
}

// sentFields are the fields that an applier owns before and after a write, and those of others.
type sentFields struct {
	appliedFields
	after *fieldSet
}

func (s sentFields) field(name string) sentFields {
	return sentFields{appliedFields{s.mine.field(name), s.others.field(name)}, s.after.field(name)}
}

func (s sentFields) itemOf(item any) sentFields {
	return sentFields{appliedFields{s.mine.itemOf(item), s.others.itemOf(item)},
		s.after.itemOf(item)}
}

// isNew reports whether the applier owned neither a value nor the content that the write adds to
// it: the value was sent empty, or others have removed its content.
func (s sentFields) isNew() bool {
	return s.mine == nil || s.mine.isLeaf() && !s.after.isLeaf()
}

// conversion removes from an answer what the server does not store.
type conversion struct {
	same  bool // the same configuration was applied last
	found bool
}

// field does so in a field of a map, in place.
func (c *conversion) field(sent sentFields, key string, answer, live map[string]any) {
	if sent.isNew() {
		return
	}
	if have, exists := live[key]; exists {
		answer[key] = c.value(sent, answer[key], have)
		return
	}
	delete(answer, key)
	c.found = true
}

// value returns a value of the answer without what the server does not store of it.
func (c *conversion) value(sent sentFields, answer, live any) any {
	if sent.mine.isLeaf() { // of which parts have no owners of their own
		if c.same && sent.others == nil && !jsonvalue.Equal(answer, live) && isPartOf(live, answer) {
			c.found = true
			return live
		}
		return answer
	}
	switch answer := answer.(type) {
	case map[string]any:
		if fields, isMap := live.(map[string]any); isMap {
			for _, key := range slices.Sorted(maps.Keys(answer)) {
				c.field(sent.field(key), key, answer, fields)
			}
		}
	case []any:
		if items, isList := live.([]any); isList {
			return c.items(sent, answer, items)
		}
	}
	return answer
}

// items does so in the items of a list.
func (c *conversion) items(sent sentFields, answer, live []any) []any {
	kept := answer[:0:0]
	for _, item := range answer {
		of := sent.itemOf(item)
		at := slices.IndexFunc(live, func(other any) bool {
			return of.mine != nil && sent.mine.itemOf(other) == of.mine
		})
		switch {
		case of.isNew():
		case at < 0:
			c.found = true
			continue
		default:
			item = c.value(of, item, live[at])
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
