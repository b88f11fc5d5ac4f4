package diff

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// Limit returns the changes that fit in a number of bytes as JSON, and the number of values that
// are left out. Of an added or removed map that does not fit the fields are changes of their own,
// so that the short ones are kept.
func (d Diff) Limit(size int) (kept Diff, omitted int) {
	for _, c := range d {
		length := c.size()
		fields, isMap := c.fields()
		switch {
		case length <= size:
			kept, size = append(kept, c), size-length
		case isMap:
			more, left := fields.Limit(size)
			kept, omitted, size = append(kept, more...), omitted+left, size-more.Size()
		default:
			omitted++
		}
	}
	return kept, omitted
}

// Size returns the length of the changes as JSON, without what is between them.
func (d Diff) Size() int {
	size := 0
	for _, c := range d {
		size += c.size()
	}
	return size
}

// size returns the length of a change as JSON.
func (c FieldChange) size() int {
	data, err := json.Marshal(c)
	if err != nil {
		return 0 // a value that is no JSON is printed as nothing
	}
	return len(data)
}

// fields returns the changes of the fields of an added or removed map.
func (c FieldChange) fields() (Diff, bool) {
	value, path := c.New, c.Path
	if c.Kind == Removed {
		value = c.Old
	}
	fields, ok := value.(map[string]any)
	if !ok || c.Kind == Changed {
		return nil, false
	}
	var changes Diff
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		one := FieldChange{Path: path + jsonvalue.Path{{Key: key}}.String(), Kind: c.Kind}
		if c.Kind == Removed {
			one.Old = fields[key]
		} else {
			one.New = fields[key]
		}
		changes = append(changes, one)
	}
	return changes, true
}
