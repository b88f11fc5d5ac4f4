package config

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
)

// errLastPart is the error of a path that does not end at a field.
var errLastPart = errors.New("Expected last part of the path to be map key")

// copyPath copies the values at the end of a path. Each comes from the first source that has it.
// Source and target are walked together, as far as both have the branch.
func copyPath(p path, target map[string]any, sources []map[string]any) error {
	if p.single {
		for _, source := range sources {
			moved, err := copyFrom(p, target, source, 0)
			if err != nil {
				return pathError("FieldCopyMod", p, target, err)
			}
			if moved {
				break
			}
		}
		return nil
	}
	for i := len(sources) - 1; i >= 0; i-- { // the preferred source overwrites the others
		if _, err := copyFrom(p, target, sources[i], 0); err != nil {
			return pathError("FieldCopyMod", p, target, err)
		}
	}
	return nil
}

// copyFrom copies from one source, from a part of the path on.
func copyFrom(p path, target, source any, at int) (moved bool, err error) {
	part := &p.parts[at]
	switch part.form {
	case byKey:
		return copyField(p, target, source, at, part.key)
	case byPattern:
		fields, _ := source.(map[string]any)
		for _, name := range matchingKeys(fields, part) {
			one, err := copyField(p, target, source, at, name)
			if err != nil {
				return false, err
			}
			moved = moved || one
		}
		return moved, nil
	}
	return copyItems(p, target, source, at)
}

// copyField copies within a field. A map that only the target lacks is created, unless a list
// follows; it is kept only if a value was copied into it.
func copyField(p path, target, source any, at int, name string) (moved bool, err error) {
	from, ok := source.(map[string]any)
	if !ok {
		return false, notMapError(source)
	}
	to, ok := target.(map[string]any)
	if !ok {
		return false, notMapError(target)
	}
	value, found := from[name]
	switch {
	case at == len(p.parts)-1:
		if found {
			to[name] = runtime.DeepCopyJSONValue(value)
		}
		return found, nil
	case value == nil:
		return false, nil
	}
	if branch := to[name]; branch != nil {
		return copyFrom(p, branch, value, at+1)
	}
	if at < p.lists {
		return false, nil
	}
	made := map[string]any{}
	moved, err = copyFrom(p, made, value, at+1)
	if moved {
		to[name] = made
	}
	return moved, err
}

// copyItems copies within items, which are paired by index unless the path says otherwise.
func copyItems(p path, target, source any, at int) (moved bool, err error) {
	part := &p.parts[at]
	if at == len(p.parts)-1 {
		return false, errLastPart
	}
	to, ok := target.([]any)
	if !ok {
		return false, notListError(target)
	}
	from, ok := source.([]any)
	if !ok {
		return false, notListError(source)
	}
	if p.named {
		from = inOrderOf(to, from)
	}
	first, end := 0, min(len(to), len(from))
	if part.form == byIndex {
		first, end = part.index, min(end, part.index+1)
	}
	for i := first; i < end; i++ {
		if from[i] == nil {
			continue
		}
		one, err := copyFrom(p, to[i], from[i], at+1)
		if err != nil {
			return false, err
		}
		moved = moved || one
	}
	return moved, nil
}

// inOrderOf returns the items of a list that have the names of others, in the order of these; nil
// for a missing one. It returns the list itself unless all items of both have names of their own.
func inOrderOf(others, list []any) []any {
	named := make(map[string]any, len(list))
	for _, item := range list {
		if name := nameOf(item); name != "" {
			named[name] = item
		}
	}
	ordered, known := make([]any, len(others)), map[string]bool{}
	for i, item := range others {
		name := nameOf(item)
		if name == "" || known[name] {
			return list
		}
		ordered[i], known[name] = named[name], true
	}
	if len(named) < len(list) {
		return list
	}
	return ordered
}

// nameOf returns the name of an item; empty if it has none.
func nameOf(item any) string {
	fields, _ := item.(map[string]any)
	name, _ := fields["name"].(string)
	return name
}
