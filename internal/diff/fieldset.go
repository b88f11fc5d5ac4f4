package diff

import (
	"fmt"
	"strconv"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// fieldSet is a set of fields in the structure of metadata.managedFields (FieldsV1): keys below a
// map, items below a list. A set without either, and a nil set, is a leaf: the value as a whole.
type fieldSet struct {
	fields map[string]*fieldSet
	items  map[string]*listItem // by selector text
}

// listItem is a selector of one list item, by key fields, by value or by index, with the fields of
// the item.
type listItem struct {
	fieldSet
	keys  map[string]any
	value any
	index int // meaningful if by is 'i'
	by    byte
}

// anyone is a set that has all fields.
var anyone = &fieldSet{}

func (s *fieldSet) isLeaf() bool {
	return s == nil || len(s.fields) == 0 && len(s.items) == 0
}

func (s *fieldSet) field(name string) *fieldSet {
	if s == nil || s == anyone {
		return s
	}
	return s.fields[name]
}

// listItems returns the items of the set by selector.
func (s *fieldSet) listItems() map[string]*listItem {
	if s == nil {
		return nil
	}
	return s.items
}

func (s *fieldSet) item(selector string) *fieldSet {
	if s == nil || s.items[selector] == nil {
		return nil
	}
	return &s.items[selector].fieldSet
}

// add adds the fields of a FieldsV1 document to the set.
func (s *fieldSet) add(document map[string]any) error {
	for key, value := range document {
		if key == "." { // the value itself, which its fields imply
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

// child returns the set below a key of a FieldsV1 document, creating it if necessary.
func (s *fieldSet) child(key string) (*fieldSet, error) {
	if len(key) < 2 || key[1] != ':' {
		return nil, fmt.Errorf("%q names no field", key)
	}
	if key[0] != 'f' {
		return s.itemSet(key)
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

func (s *fieldSet) itemSet(key string) (*fieldSet, error) {
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

// selects reports whether the selector matches the value at an index of a live list, in which the
// server has set all keys.
func (l *listItem) selects(value any, index int) bool {
	switch l.by {
	case 'k':
		return l.matches(value, false)
	case 'v':
		return jsonvalue.Equal(l.value, value)
	default:
		return l.index == index
	}
}

// matches reports whether a map has the key fields. With lenient it may lack some, which the server
// may have defaulted.
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
