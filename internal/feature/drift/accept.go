package drift

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/object"
)

// The reasons why a manifest does not get a value, beside those of single functions.
var (
	errNoItem = errors.New("the file does not have the list item that it belongs to: change the " +
		"file yourself")
	errSameItems = errors.New("the file has several list items with the same key: change the " +
		"file yourself")
	errOtherValue = errors.New("the file has another value than was deployed: apply the file, or " +
		"change it yourself")
	errNoText = errors.New("the value is no text, and the file has it in stringData: move it to " +
		"data yourself")
	errInBoth = errors.New("the file has it in data and in stringData: change the file yourself")
)

// Accept returns the content of a manifest in which the field of a difference has its live value.
// The manifest has to have the desired value, or the live one already: another one is an error, and
// so is a field that the manifest has no place for. Defaults of the server that come with a new
// value are left out, and versions of names are written as the names. Neither argument is modified.
func Accept(
	manifest map[string]any, live *unstructured.Unstructured, f Field,
) (content map[string]any, err error) {
	is, found := lookup(live.Object, liveRoute(live.Object, f.route))
	if !found && f.Kind != Removed {
		return nil, errors.New("the object does not have it any more: give the command again")
	}
	is = f.desiredNames(manifest, is)
	want, route := f.desiredNames(manifest, f.revert), f.route
	if texts, _ := manifest["stringData"].(map[string]any); object.IsSecret(live) &&
		len(texts) > 0 && route[0].field == "data" {
		if len(route) == 1 {
			return acceptData(manifest, want, is)
		}
		if texts[route[1].field] != nil {
			route = []step{{field: "stringData"}, route[1]}
			var ok [2]bool
			want, ok[0] = plain(want)
			if is, ok[1] = plain(is); !ok[0] || !ok[1] {
				return nil, errNoText
			}
		}
	}
	if route, err = inManifest(manifest, live.Object, route); err != nil {
		return nil, err
	}
	have, has := lookup(manifest, route)
	// A map, a list or an item counts, even an empty one.
	counts := have != nil || is != nil || route[len(route)-1].item
	switch {
	case same(have, is) && (has == found || !counts):
		return manifest, nil
	case !same(have, want):
		return nil, errOtherValue
	}
	next, err := set(runtime.DeepCopyJSON(manifest), route, is)
	if err != nil {
		return nil, fmt.Errorf("%w: change the file yourself", err)
	}
	content = next.(map[string]any)
	if added, ok := lookup(content, route); ok {
		withoutDefaults(content, added, have)
	}
	if len(route) == 2 && route[0].field == "stringData" {
		encoded, _ := lookup(live.Object, f.route)
		if stored, _ := lookup(withData(content), f.route); !same(stored, encoded) {
			return nil, errInBoth
		}
	}
	return content, nil
}

// same reports whether two values are equal or both empty.
func same(a, b any) bool { return jsonvalue.Equal(a, b) || isEmpty(a) && isEmpty(b) }

// acceptData returns the content of the manifest of a Secret, some of whose data is in stringData,
// with all of the live data: none. That keys differ is a difference of each key.
func acceptData(manifest map[string]any, want, is any) (map[string]any, error) {
	have := withData(manifest)["data"]
	switch {
	case same(have, is):
		return manifest, nil
	case !same(have, want):
		return nil, errOtherValue
	case !isEmpty(is):
		return nil, errInBoth
	}
	content := maps.Clone(manifest)
	delete(content, "data")
	delete(content, "stringData")
	return content, nil
}

// desiredNames returns a live or a desired value in which versions of names that a manifest has are
// those names. It modifies nothing.
func (f *Field) desiredNames(manifest map[string]any, value any) any {
	if f.sameName == nil {
		return value
	}
	var names []string
	eachText(manifest, func(text string) { names = append(names, text) })
	return f.withNames(names, value)
}

func (f *Field) withNames(names []string, value any) any {
	switch v := value.(type) {
	case string:
		at := slices.IndexFunc(names, func(name string) bool { return f.sameName(name, v) })
		if at >= 0 {
			return names[at]
		}
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = f.withNames(names, item)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for key, inner := range v {
			fields[key] = f.withNames(names, inner)
		}
		return fields
	}
	return value
}

// eachText calls a function for each text in a value.
func eachText(value any, call func(string)) {
	switch v := value.(type) {
	case string:
		call(v)
	case []any:
		for _, item := range v {
			eachText(item, call)
		}
	case map[string]any:
		for _, inner := range v {
			eachText(inner, call)
		}
	}
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
		at := s.in(list)
		if at < 0 {
			return nil, false
		}
		value = list[at]
	}
	return value, true
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
