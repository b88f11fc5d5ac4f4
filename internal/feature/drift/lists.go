package drift

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// lists compares two lists as the server merges them. Where nobody owns an item, so that this is
// not known, items with names are compared by name.
func (c *comparison) lists(p place, want, stored, live []any) {
	t := p.owned.listType()
	if len(t.keys) == 0 && !t.values {
		if p.owned == nil && p.outer == nil && named(want) && named(live) {
			t.keys = []string{"name"}
		} else {
			c.atomic(p, want, stored, live)
			return
		}
	}
	found := newMatcher(live, t)
	for i := range want {
		at := found.match(stored[i])
		if at < 0 {
			in := p.item(stored[i], t)
			in.route[len(in.route)-1].index = i
			c.add(in, Removed, want[i], nil)
			continue
		}
		in := p.item(live[at], t)
		in.route[len(in.route)-1].index, in.route[len(in.route)-1].live = i, at+1
		c.values(in, want[i], stored[i], live[at])
	}
	for i, item := range live {
		if !found.taken[i] {
			in := p.item(item, t)
			in.route[len(in.route)-1].live = i + 1
			c.add(in, Added, nil, item)
		}
	}
}

// atomic compares two lists that the server replaces as a whole, item by item. All of their content
// is desired.
func (c *comparison) atomic(p place, want, stored, live []any) {
	if p.unit == nil {
		p.unit = &unit{route: p.route, want: want}
	}
	if !holdMaps(stored) || !holdMaps(live) {
		c.add(p, Changed, want, live)
		return
	}
	for i := range max(len(want), len(live)) {
		in := p.inner(nil, p.path+"["+strconv.Itoa(i)+"]", step{item: true, index: i})
		switch {
		case i >= len(live):
			c.add(in, Removed, want[i], nil)
		case i >= len(want):
			c.add(in, Added, nil, live[i])
		default:
			c.values(in, want[i], stored[i], live[i])
		}
	}
}

func holdMaps(list []any) bool {
	return !slices.ContainsFunc(list, func(item any) bool {
		_, ok := item.(map[string]any)
		return !ok
	})
}

// named reports whether all items of a list are maps with distinct names.
func named(list []any) bool {
	seen := map[any]bool{}
	for _, item := range list {
		fields, _ := item.(map[string]any)
		name, ok := fields["name"].(string)
		if !ok || seen[name] {
			return false
		}
		seen[name] = true
	}
	return len(list) > 0
}

// item returns the place of an item of a list.
func (p place) item(item any, t listType) place {
	s := step{item: true, value: item}
	text := ""
	if len(t.keys) > 0 {
		fields, _ := item.(map[string]any)
		s.value, s.keys = nil, map[string]any{}
		for _, key := range t.keys {
			if s.keys[key] = fields[key]; fields[key] == nil {
				s.keys[key] = ""
			}
		}
		text = keyText(s.keys, t.keys)
	} else if text = fmt.Sprint(item); strings.ContainsAny(text, "[] ") {
		text = strconv.Quote(text)
	}
	return p.inner(p.owned.itemOf(item), p.path+"["+text+"]", s)
}

// keyText returns the keys of an item for a path: the value of a single one, or NAME=VALUE of each.
func keyText(keys map[string]any, names []string) string {
	if len(names) == 1 {
		return fmt.Sprint(keys[names[0]])
	}
	var parts []string
	for _, name := range names {
		if value, ok := keys[name]; ok {
			parts = append(parts, name+"="+fmt.Sprint(value))
		}
	}
	return strings.Join(parts, ",")
}

// ValueText returns a value on one line, shortened in the middle: a text itself, others as JSON.
func ValueText(value any) string {
	text, ok := value.(string)
	if !ok || text == "" || strings.ContainsAny(text, "\n\t\"") || json.Valid([]byte(text)) {
		data, err := json.Marshal(value)
		if err != nil {
			return fmt.Sprint(value)
		}
		text = string(data)
	}
	const longest = 60
	if runes := []rune(text); len(runes) > longest {
		half := longest/2 - 1
		text = string(runes[:half]) + "…" + string(runes[len(runes)-half:])
	}
	return text
}
