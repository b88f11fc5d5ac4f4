package diff

import (
	"fmt"
	"strconv"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// fieldSet is a set of fields as metadata.managedFields writes them (the format FieldsV1): below a field that is a map, its
// keys; below one that is a list, its items. A set without either is a leaf: the value as a whole. A nil set is a leaf.
type fieldSet struct {
	fields map[string]*fieldSet
	items  map[string]*listItem // by the text that selects them
}

// listItem selects one item of a list, by key fields, by value or by index, and the fields of it.
type listItem struct {
	fieldSet
	keys  map[string]any
	value any
	index int // meaningful if by is 'i'
	by    byte
}

func (s *fieldSet) isLeaf() bool {
	return s == nil || len(s.fields) == 0 && len(s.items) == 0
}

func (s *fieldSet) field(name string) *fieldSet {
	if s == nil {
		return nil
	}
	return s.fields[name]
}

func (s *fieldSet) item(selector string) *fieldSet {
	if s == nil || s.items[selector] == nil {
		return nil
	}
	return &s.items[selector].fieldSet
}

// add puts the fields of a FieldsV1 document into the set.
func (s *fieldSet) add(document map[string]any) error {
	for key, value := range document {
		if key == "." { // the value itself is there: told by what is below it, or by there being nothing below it
			continue
		}
		below, ok := value.(map[string]any)
		if !ok {
			return fmt.Errorf("below %q there is no object", key)
		}
		child, err := s.child(key)
		if err != nil {
			return err
		}
		if err := child.add(below); err != nil {
			return err
		}
	}
	return nil
}

// child gives the set below a key of a FieldsV1 document, a new one if there is none yet.
func (s *fieldSet) child(key string) (*fieldSet, error) {
	if len(key) < 2 || key[1] != ':' {
		return nil, fmt.Errorf("%q names no field", key)
	}
	if key[0] != 'f' {
		return s.selected(key)
	}
	if s.fields == nil {
		s.fields = map[string]*fieldSet{}
	}
	name := key[2:]
	if s.fields[name] == nil {
		s.fields[name] = &fieldSet{}
	}
	return s.fields[name], nil
}

func (s *fieldSet) selected(key string) (*fieldSet, error) {
	if s.items == nil {
		s.items = map[string]*listItem{}
	}
	if s.items[key] == nil {
		item, err := parseItem(key[0], key[2:])
		if err != nil {
			return nil, fmt.Errorf("%q selects no list item: %w", key, err)
		}
		s.items[key] = item
	}
	return &s.items[key].fieldSet, nil
}

func parseItem(by byte, selector string) (*listItem, error) {
	item := &listItem{by: by}
	var err error
	switch by {
	case 'k':
		err = utiljson.Unmarshal([]byte(selector), &item.keys)
	case 'v':
		err = utiljson.Unmarshal([]byte(selector), &item.value)
	case 'i':
		item.index, err = strconv.Atoi(selector)
	default:
		err = fmt.Errorf("the prefix %q is unknown", by)
	}
	return item, err
}

// is reports whether the item selects a value at an index of a live list, where the server has filled in all keys.
func (l *listItem) is(value any, index int) bool {
	switch l.by {
	case 'k':
		return l.matches(value, false)
	case 'v':
		return jsonvalue.Equal(l.value, value)
	default:
		return l.index == index
	}
}

// matches reports whether a map has the key fields; if lenient, those that it lacks do not count, since the server may have
// defaulted them.
func (l *listItem) matches(value any, lenient bool) bool {
	fields, ok := value.(map[string]any)
	if !ok {
		return false
	}
	for name, want := range l.keys {
		have, ok := fields[name]
		if !ok && lenient {
			continue
		}
		if !ok || !jsonvalue.Equal(have, want) {
			return false
		}
	}
	return true
}
