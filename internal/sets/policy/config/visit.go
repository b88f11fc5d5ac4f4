package config

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// visitor finds the maps at the end of a path.
type visitor struct {
	path     path
	create   bool // also create missing maps below the last list
	visitMap func(map[string]any)
}

// visit calls visitMap for every map at the end of the path. It ignores a branch that is missing
// or null. name is the operation for errors.
func (v visitor) visit(obj *unstructured.Unstructured, name string) error {
	if err := v.walk(obj.Object, 0); err != nil {
		return pathError(name, v.path, obj.Object, err)
	}
	return nil
}

// pathError returns kapp's error for a path that does not fit an object.
func pathError(name string, p path, obj map[string]any, err error) error {
	return fmt.Errorf("%s for path '%s' on resource '%s': %w", name, p,
		resource.Describe(&unstructured.Unstructured{Object: obj}), err)
}

func (v visitor) walk(value any, at int) error {
	for ; at < len(v.path.parts); at++ {
		part := &v.path.parts[at]
		if part.form != byKey {
			return v.walkItems(value, at)
		}
		fields, ok := value.(map[string]any)
		if !ok {
			return notMapError(value)
		}
		value = fields[part.key]
		if value == nil {
			if !v.create || at < v.path.lists {
				return nil
			}
			value = map[string]any{}
			fields[part.key] = value
		}
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return notMapError(value)
	}
	v.visitMap(fields)
	return nil
}

func (v visitor) walkItems(value any, at int) error {
	items, ok := value.([]any)
	if !ok {
		return notListError(value)
	}
	part := &v.path.parts[at]
	if part.form == byIndex {
		if part.index >= len(items) {
			return nil
		}
		return v.walk(items[part.index], at+1)
	}
	for _, item := range items {
		if err := v.walk(item, at+1); err != nil {
			return err
		}
	}
	return nil
}

// remove removes the fields at the end of a path from an object.
func remove(p path, obj map[string]any) error {
	if err := removeFrom(obj, p.parts); err != nil {
		return pathError("FieldRemoveMod", p, obj, err)
	}
	return nil
}

func removeFrom(value any, parts []part) error {
	first, rest := &parts[0], parts[1:]
	if first.form == byKey || first.form == byPattern {
		fields, _ := value.(map[string]any)
		return removeFields(fields, first, rest)
	}
	if len(rest) == 0 {
		return errLastPart
	}
	items, ok := value.([]any)
	switch {
	case value == nil:
		return nil
	case !ok:
		return notListError(value)
	case first.form == byIndex && first.index < len(items):
		return removeFrom(items[first.index], rest)
	case first.form == byIndex:
		return nil
	}
	for _, item := range items {
		if err := removeFrom(item, rest); err != nil {
			return err
		}
	}
	return nil
}

// removeFields removes from the fields that a part names. It ignores a value that is not a map.
func removeFields(fields map[string]any, first *part, rest []part) error {
	names := []string{first.key}
	if first.form == byPattern {
		names = matchingKeys(fields, first)
	}
	for _, name := range names {
		value, found := fields[name]
		if !found {
			continue
		}
		if len(rest) == 0 {
			delete(fields, name)
			continue
		}
		if err := removeFrom(value, rest); err != nil {
			return err
		}
	}
	return nil
}

// matchingKeys returns the names of fields that match a pattern, sorted.
func matchingKeys(fields map[string]any, p *part) []string {
	var names []string
	for name := range fields {
		if p.pattern.MatchString(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func notMapError(value any) error  { return fmt.Errorf("Unexpected non-map found: %T", value) }
func notListError(value any) error { return fmt.Errorf("Unexpected non-array found: %T", value) }
