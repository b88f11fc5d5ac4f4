package diff

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// manyItems is the length from which lists are indexed, and merged by merge instead of by the
// library, which compares their items in pairs.
const manyItems = 200

// hashOf returns a text that equal values have in common; different maps and lists have the same.
func hashOf(value any) string {
	switch v := value.(type) {
	case string:
		return "s" + v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatFloat(float64(v), 'g', -1, 64)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return ""
}

// hashOfFields returns a text that maps with equal values of some fields have in common.
func hashOfFields(fields map[string]any, names []string) string {
	var b strings.Builder
	for _, name := range names {
		hash := hashOf(fields[name])
		b.WriteString(strconv.Itoa(len(hash)) + ":" + hash)
	}
	return b.String()
}

// hasAll reports whether a map has all of some fields.
func hasAll(fields map[string]any, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		_, has := fields[name]
		return !has
	})
}

// selectorIndex finds the selectors of list items that may match a value.
type selectorIndex struct {
	items map[string]*listItem
	names [][]string // sets of key fields, each once
	byKey map[string]map[string][]string
	byVal map[string][]string
}

func newSelectorIndex(items map[string]*listItem) *selectorIndex {
	x := &selectorIndex{items: items, byKey: map[string]map[string][]string{},
		byVal: map[string][]string{}}
	known := map[string]bool{}
	for selector, item := range items {
		switch item.by {
		case 'v':
			hash := hashOf(item.value)
			x.byVal[hash] = append(x.byVal[hash], selector)
		case 'k':
			names := slices.Sorted(maps.Keys(item.keys))
			if id := strings.Join(names, "\n"); !known[id] {
				known[id], x.names = true, append(x.names, names)
			}
		}
	}
	return x
}

// candidates returns the selectors among which are all that match a value. With lenient it may lack
// key fields.
func (x *selectorIndex) candidates(value any, lenient bool) (found []string) {
	found = slices.Clone(x.byVal[hashOf(value)])
	fields, isMap := value.(map[string]any)
	if !isMap {
		return found
	}
	for _, names := range x.names {
		present := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			_, has := fields[name]
			return !has
		})
		if len(present) == len(names) || lenient {
			found = append(found, x.keyed(names, present)[hashOfFields(fields, present)]...)
		}
	}
	return found
}

// keyed returns the selectors with a set of key fields by the values of some of these.
func (x *selectorIndex) keyed(names, of []string) map[string][]string {
	id := strings.Join(names, "\n") + "\n\n" + strings.Join(of, "\n")
	if x.byKey[id] == nil {
		index := map[string][]string{}
		for selector, item := range x.items {
			if item.by == 'k' && len(item.keys) == len(names) && hasAll(item.keys, names) {
				hash := hashOfFields(item.keys, of)
				index[hash] = append(index[hash], selector)
			}
		}
		x.byKey[id] = index
	}
	return x.byKey[id]
}

// listIndex finds the items of a list that have some fields, or are a value.
type listIndex struct {
	list  []any
	byKey map[string]map[string][]int
	loose map[string][]int // items that lack one of the fields
	byVal map[string][]int
}

func newListIndex(list []any) *listIndex {
	return &listIndex{list: list, byKey: map[string]map[string][]int{}, loose: map[string][]int{}}
}

// with returns the indexes among which are all items with some fields, and those that lack one.
func (x *listIndex) with(keys map[string]any) (at, loose []int) {
	names := slices.Sorted(maps.Keys(keys))
	id := strings.Join(names, "\n")
	if x.byKey[id] == nil {
		x.byKey[id] = map[string][]int{}
		for i, item := range x.list {
			fields, isMap := item.(map[string]any)
			switch {
			case isMap && hasAll(fields, names):
				hash := hashOfFields(fields, names)
				x.byKey[id][hash] = append(x.byKey[id][hash], i)
			case isMap:
				x.loose[id] = append(x.loose[id], i)
			}
		}
	}
	return x.byKey[id][hashOfFields(keys, names)], x.loose[id]
}

// like returns the indexes among which are all items that equal a value.
func (x *listIndex) like(value any) []int {
	if x.byVal == nil {
		x.byVal = map[string][]int{}
		for i, item := range x.list {
			hash := hashOf(item)
			x.byVal[hash] = append(x.byVal[hash], i)
		}
	}
	return x.byVal[hashOf(value)]
}

// only returns the index of the only item that a selector selects.
func (x *listIndex) only(l *listItem) (at int, ok bool) {
	var found []int
	switch l.by {
	case 'k':
		found, _ = x.with(l.keys)
	case 'v':
		found = x.like(l.value)
	}
	at = -1
	for _, i := range found {
		if l.selects(x.list[i], -1) {
			if at >= 0 {
				return at, false
			}
			at = i
		}
	}
	return at, at >= 0
}

// lookups finds values at many paths of the same objects. The zero value is empty, and nil is for
// one path.
type lookups struct{ lists map[*any]*listIndex }

// indexOf returns the index of the list item that a path element selects, or -1.
func (l *lookups) indexOf(list []any, element fieldpath.PathElement) int {
	if l == nil || len(list) < manyItems || element.Index != nil {
		return indexOf(list, element)
	}
	if l.lists == nil {
		l.lists = map[*any]*listIndex{}
	}
	x := l.lists[&list[0]]
	if x == nil || len(x.list) != len(list) {
		x = newListIndex(list)
		l.lists[&list[0]] = x
	}
	if element.Value != nil {
		value := (*element.Value).Unstructured()
		for _, i := range x.like(value) {
			if jsonvalue.Equal(value, list[i]) {
				return i
			}
		}
		return -1
	}
	keys := keysOf(element)
	item := &listItem{by: 'k', keys: keys}
	at, loose := x.with(keys)
	first := -1
	for _, i := range slices.Concat(at, loose) {
		if (first < 0 || i < first) && item.matches(list[i], true) {
			first = i
		}
	}
	return first
}
