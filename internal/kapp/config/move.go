package config

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
)

// errLastPart says that a path does not end at a field, so that there is nothing to copy to or to remove.
var errLastPart = errors.New("Expected last part of the path to be map key")

// mover copies the values at the end of a path from the first source that has them. It is used again for the next path.
type mover struct {
	path    path
	sources []map[string]any // in the order of preference
	steps   []step           // where the walk has come to
}

// step is a part of a path that led to one place: into a field, or into an item.
type step struct {
	key   string
	index int // of an item; -1 for a field
}

// move copies into the target. It goes along each source in turn, as far as both sides have the branch; what is at the end
// comes from the first source that has it.
func (m *mover) move(target map[string]any) error {
	for _, source := range m.sources {
		m.steps = m.steps[:0]
		moved, err := m.walk(target, source, 0)
		if err != nil {
			return trouble("FieldCopyMod", m.path, target, err)
		}
		if moved && m.path.ofKeys() {
			break
		}
	}
	return nil
}

func (m *mover) walk(target, source any, at int) (moved bool, err error) {
	part := &m.path.parts[at]
	switch part.form {
	case byKey:
		return m.walkField(target, source, at, part.key)
	case byPattern:
		fields, _ := source.(map[string]any)
		for _, name := range matchingKeys(fields, part) {
			one, err := m.walkField(target, source, at, name)
			if err != nil {
				return false, err
			}
			moved = moved || one
		}
		return moved, nil
	}
	return m.walkItems(target, source, at)
}

// walkField goes into a field. A map that only the target lacks is made, unless a list comes after it; it is kept only if
// something was copied into it.
func (m *mover) walkField(target, source any, at int, name string) (moved bool, err error) {
	from, ok := source.(map[string]any)
	if !ok {
		return false, noMap(source)
	}
	to, ok := target.(map[string]any)
	if !ok {
		return false, noMap(target)
	}
	m.steps = append(m.steps[:at], step{name, -1})
	if at == len(m.path.parts)-1 {
		value, found, err := m.value()
		if found {
			to[name] = runtime.DeepCopyJSONValue(value)
		}
		return found, err
	}
	if from[name] == nil {
		return false, nil
	}
	if to[name] != nil {
		return m.walk(to[name], from[name], at+1)
	}
	if at < m.path.lists {
		return false, nil
	}
	made := map[string]any{}
	moved, err = m.walk(made, from[name], at+1)
	if moved {
		to[name] = made
	}
	return moved, err
}

// walkItems goes into items, which are paired by their position.
func (m *mover) walkItems(target, source any, at int) (moved bool, err error) {
	part := &m.path.parts[at]
	if at == len(m.path.parts)-1 {
		return false, errLastPart
	}
	to, ok := target.([]any)
	if !ok {
		return false, noList(target)
	}
	from, ok := source.([]any)
	if !ok {
		return false, noList(source)
	}
	first, end := 0, min(len(to), len(from))
	if part.form == byIndex {
		first, end = part.index, min(end, part.index+1)
	}
	for i := first; i < end; i++ {
		if from[i] == nil {
			continue
		}
		m.steps = append(m.steps[:at], step{index: i})
		one, err := m.walk(to[i], from[i], at+1)
		if err != nil {
			return false, err
		}
		moved = moved || one
	}
	return moved, nil
}

// value gives what is at the steps in the first source that has it, be it null.
func (m *mover) value() (value any, found bool, err error) {
	for _, source := range m.sources {
		value, found, err = m.look(source)
		if found || err != nil {
			break
		}
	}
	return value, found, err
}

func (m *mover) look(value any) (any, bool, error) {
	for _, s := range m.steps {
		if s.index < 0 {
			fields, _ := value.(map[string]any)
			child, found := fields[s.key]
			if !found {
				return nil, false, nil
			}
			value = child
			continue
		}
		items, ok := value.([]any)
		if !ok {
			return nil, false, noList(value)
		}
		if s.index >= len(items) {
			return nil, false, nil
		}
		value = items[s.index]
	}
	return value, true, nil
}
