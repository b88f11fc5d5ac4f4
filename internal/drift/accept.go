package drift

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
	"github.com/muster-deploy/muster/internal/object"
)

// Accept returns the content of a manifest in which the field of a difference has its live value.
// The manifest has to have the desired value, or the live one already: another one is an error, and
// so is a field that the manifest has no place for. Defaults of the server that come with a new
// value are left out. Neither argument is modified.
func Accept(
	manifest map[string]any, live *unstructured.Unstructured, f Field,
) (content map[string]any, err error) {
	is, _ := lookup(live.Object, f.route)
	want, route := f.revert, f.route
	if texts, _ := manifest["stringData"].(map[string]any); object.IsSecret(live) &&
		len(route) == 2 && route[0].field == "data" && texts[route[1].field] != nil {
		route = []step{{field: "stringData"}, route[1]}
		var ok [2]bool
		want, ok[0] = plain(want)
		if is, ok[1] = plain(is); !ok[0] || !ok[1] {
			return nil, errors.New("the value is no text, and the file has it in stringData: move it to " +
				"data yourself")
		}
	}
	route, found := inManifest(manifest, live.Object, route)
	have, _ := lookup(manifest, route)
	switch {
	case !found:
		return nil, errors.New("the file does not have the list item that it belongs to: change the " +
			"file yourself")
	case jsonvalue.Equal(have, is) || isEmpty(have) && isEmpty(is):
		return manifest, nil
	case !jsonvalue.Equal(have, want) && !(isEmpty(have) && isEmpty(want)):
		return nil, errors.New("the file has another value than was deployed: apply the file, or " +
			"change it yourself")
	}
	next, err := set(runtime.DeepCopyJSON(manifest), route, is)
	if err != nil {
		return nil, fmt.Errorf("%w: change the file yourself", err)
	}
	content = next.(map[string]any)
	if added, ok := lookup(content, route); ok {
		withoutDefaults(content, added, have)
	}
	return content, nil
}

// plain returns the text of a value of the data of a Secret; nil for none.
func plain(value any) (any, bool) {
	if value == nil {
		return nil, true
	}
	encoded, _ := value.(string)
	text, err := base64.StdEncoding.DecodeString(encoded)
	return string(text), err == nil && utf8.Valid(text)
}

// lookup returns the value at the end of a route.
func lookup(value any, route []step) (any, bool) {
	for _, s := range route {
		if !s.item {
			fields, _ := value.(map[string]any)
			inner, ok := fields[s.field]
			if !ok {
				return nil, false
			}
			value = inner
			continue
		}
		list, _ := value.([]any)
		at := slices.IndexFunc(list, s.selects)
		if at < 0 {
			return nil, false
		}
		value = list[at]
	}
	return value, true
}

// inManifest returns a route by the keys that items of a manifest have: the server has defaults for
// those that they lack. An item that the manifest does not have comes after the one that it follows
// in the live list; ok is false if the route leads into it.
func inManifest(value, live any, route []step) (found []step, ok bool) {
	found = slices.Clone(route)
	for i, s := range found {
		if !s.item {
			fields, _ := value.(map[string]any)
			value = fields[s.field]
			continue
		}
		list, _ := value.([]any)
		at := slices.IndexFunc(list, s.selects)
		if at < 0 && s.keys != nil {
			at = slices.IndexFunc(list, func(item any) bool { return s.isSame(item, s.keys) })
		}
		if at < 0 {
			all, _ := lookup(live, route[:i])
			others, _ := all.([]any)
			found[i].index = placeOf(s, list, others)
			return found, i == len(found)-1
		}
		if fields, ok := list[at].(map[string]any); ok && s.keys != nil {
			keys := map[string]any{}
			for key := range s.keys {
				if have, ok := fields[key]; ok {
					keys[key] = have
				}
			}
			found[i].keys = keys
		}
		value = list[at]
	}
	return found, true
}

// placeOf returns where an item of a live list belongs in the list of a manifest that lacks it.
func placeOf(s step, list, live []any) int {
	at := slices.IndexFunc(live, s.selects)
	for _, before := range slices.Backward(live[:max(at, 0)]) {
		found := slices.IndexFunc(list, func(item any) bool { return s.isSame(item, before) })
		if found >= 0 {
			return found + 1
		}
	}
	return 0
}

// isSame reports whether an item of a manifest has the keys of a live item of the list that a step
// leads into, or its value.
func (s step) isSame(item, live any) bool {
	if s.keys == nil {
		return jsonvalue.Equal(item, live)
	}
	fields, _ := item.(map[string]any)
	others, _ := live.(map[string]any)
	for key := range s.keys {
		if value, ok := fields[key]; ok && !jsonvalue.Equal(value, others[key]) {
			return false
		}
	}
	return fields != nil
}

// withoutDefaults removes from a new value, which is a part of an object, what the server would add
// again, unless the value before had it.
func withoutDefaults(obj map[string]any, value, before any) {
	switch v := value.(type) {
	case []any:
		old, _ := before.([]any)
		for i, item := range v {
			if i < len(old) {
				withoutDefaults(obj, item, old[i])
			} else {
				withoutDefaults(obj, item, nil)
			}
		}
	case map[string]any:
		old, _ := before.(map[string]any)
		for _, key := range sortedKeys(v) {
			inner := v[key]
			stored, known := builtin.Stored(obj)
			if !known {
				return
			}
			delete(v, key)
			less, _ := builtin.Stored(obj)
			if _, had := old[key]; had || !jsonvalue.Equal(less, stored) {
				v[key] = inner
				withoutDefaults(obj, inner, old[key])
			}
		}
	}
}
