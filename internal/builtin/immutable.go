package builtin

import (
	_ "embed"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

//go:embed immutable.yaml
var immutableText []byte

// immutableRule names fields that an update cannot change, as immutable.yaml describes it.
type immutableRule struct {
	Kinds  []string       `json:"kinds"`
	When   map[string]any `json:"when"`
	Unless map[string]any `json:"unless"`
	Fields []string       `json:"fields"`
	Except []string       `json:"except"`
	Maps   []string       `json:"maps"`
}

// immutableRules returns the embedded rules. A test makes sure that they can be read.
var immutableRules = sync.OnceValue(func() (rules []immutableRule) {
	if err := yaml.UnmarshalStrict(immutableText, &rules); err != nil {
		panic(err)
	}
	return rules
})

// ImmutableChanges returns the fields, sorted and in the form spec.template, that differ between
// two objects of a built-in kind and that an update cannot change. There may be others: a server
// knows more rules.
func ImmutableChanges(live, want map[string]any) []string {
	before, isBuiltin := Stored(live)
	after, isAlike := Stored(want)
	if !isBuiltin || !isAlike {
		return nil
	}
	name, found := kindOf(live), map[string]bool{}
	for _, rule := range immutableRules() {
		if !slices.Contains(rule.Kinds, name) || len(rule.When) > 0 && !hasFields(before, rule.When) ||
			len(rule.Unless) > 0 && hasFields(before, rule.Unless) {
			continue
		}
		for _, path := range rule.Fields {
			for _, field := range rule.changes(path, fieldAt(before, path), fieldAt(after, path)) {
				found[field] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// UnstoredMaps returns the fields of an object that are maps without content, which a server does
// not store, and refuses as a change if they are immutable.
func UnstoredMaps(object map[string]any) (names []string) {
	kind := kindOf(object)
	for _, rule := range immutableRules() {
		for _, name := range rule.Maps {
			fields, isMap := object[name].(map[string]any)
			if isMap && len(fields) == 0 && slices.Contains(rule.Kinds, kind) {
				names = append(names, name)
			}
		}
	}
	return names
}

// kindOf returns the kind of an object in the form KIND.GROUP.
func kindOf(object map[string]any) string {
	version, kind := fmt.Sprint(object["apiVersion"]), fmt.Sprint(object["kind"])
	return schema.FromAPIVersionAndKind(version, kind).GroupKind().String()
}

// changes returns the fields at a path that differ and that the rule does not except.
func (r immutableRule) changes(path string, before, after any) (changed []string) {
	if len(r.Except) == 0 {
		if !reflect.DeepEqual(before, after) {
			return []string{path}
		}
		return nil
	}
	old, _ := before.(map[string]any)
	wanted, _ := after.(map[string]any)
	names := map[string]any{}
	maps.Copy(names, old)
	maps.Copy(names, wanted)
	for name := range names {
		if !slices.Contains(r.Except, name) && !reflect.DeepEqual(old[name], wanted[name]) {
			changed = append(changed, path+"."+name)
		}
	}
	return changed
}

// hasFields reports whether the fields at all paths have the given values.
func hasFields(object, values map[string]any) bool {
	for path, value := range values {
		if !reflect.DeepEqual(fieldAt(object, path), value) {
			return false
		}
	}
	return true
}

// fieldAt returns the value at a path of names separated by dots, or nil.
func fieldAt(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	return value
}
