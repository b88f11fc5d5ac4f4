package drift

import (
	"slices"
	"strings"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// matcher finds the items of a list that have the keys or the value of others, each once.
type matcher struct {
	listType
	list  []any
	taken []bool
	// The items by the hash of their keys, or of their values, for the names of keys that the others
	// have.
	places map[string]map[uint64][]int
}

func newMatcher(list []any, t listType) *matcher {
	return &matcher{t, list, make([]bool, len(list)), map[string]map[uint64][]int{}}
}

// match returns the index of the first item with the same keys or value that was not returned
// before, or -1. A key that the item lacks matches any: the server has a default for it.
func (m *matcher) match(item any) int {
	var keys []string
	fields, _ := item.(map[string]any)
	for _, key := range m.keys {
		if _, ok := fields[key]; ok && !m.values {
			keys = append(keys, key)
		}
	}
	places, hash := m.placesBy(keys), m.hash(item, keys)
	for len(places[hash]) > 0 && m.taken[places[hash][0]] {
		places[hash] = places[hash][1:]
	}
	for _, at := range places[hash] {
		if !m.taken[at] && m.same(item, m.list[at], keys) {
			m.taken[at] = true
			return at
		}
	}
	return -1
}

// placesBy returns the indexes of the items of the list by the hash of some keys.
func (m *matcher) placesBy(keys []string) map[uint64][]int {
	names := strings.Join(keys, "\n")
	if m.places[names] == nil {
		places := map[uint64][]int{}
		for i, item := range m.list {
			hash := m.hash(item, keys)
			places[hash] = append(places[hash], i)
		}
		m.places[names] = places
	}
	return m.places[names]
}

func (m *matcher) hash(item any, keys []string) uint64 {
	if m.values || len(keys) > 0 {
		return hashOf(item, keys)
	}
	return 0 // each item has all of no keys
}

// same reports whether two items have the same keys or value.
func (m *matcher) same(item, other any, keys []string) bool {
	if m.values {
		return jsonvalue.Equal(other, item)
	}
	fields, _ := item.(map[string]any)
	others, _ := other.(map[string]any)
	return !slices.ContainsFunc(keys, func(key string) bool {
		return !jsonvalue.Equal(fields[key], others[key])
	})
}
