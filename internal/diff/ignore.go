package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/muster-deploy/muster/internal/object"
)

// IgnoreRule names fields that a set leaves to others once their object exists.
type IgnoreRule struct {
	// Paths are JSON pointers, as in /metadata/annotations/example.com~1note. An item of a list is
	// named by one of its fields, as in /spec/template/spec/containers/[name=web]/image. What is
	// below a path is left, too.
	Paths []string `json:"paths"`
	// Managers are field managers, in which * stands for any text. A field is left only if one of
	// them owns it. None is whoever owns it, or nobody.
	Managers []string `json:"managers,omitempty"`
	// Target are the objects; the zero value is all.
	Target IgnoreTarget `json:"target,omitzero"`
}

// IgnoreTarget selects objects. In each field * stands for any text, and an empty one selects all.
type IgnoreTarget struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// IgnoreRules are the rules of a set. Nil leaves nothing to others.
type IgnoreRules []IgnoreRule

// NeedOwners reports whether the rules need the owners of the fields of live objects.
func (r IgnoreRules) NeedOwners() bool {
	return slices.ContainsFunc(r, func(rule IgnoreRule) bool { return len(rule.Managers) > 0 })
}

// Check returns an error for a rule that has no effect, or that covers what identifies an object or
// marks it as one of a set. Labels and annotations are the keys of the marks.
func (r IgnoreRules) Check(labels, annotations []string) error {
	for i, rule := range r {
		if len(rule.Paths) == 0 {
			return fmt.Errorf("ignore rule %d has no paths", i+1)
		}
		for _, text := range rule.Paths {
			path, err := parsePointer(text)
			if err == nil {
				err = checkPath(path, labels, annotations)
			}
			if err != nil {
				return fmt.Errorf("ignore rule %d: path %q: %w", i+1, text, err)
			}
		}
		if slices.Contains(rule.Managers, "") {
			return fmt.Errorf("ignore rule %d: a manager is empty; leave out managers to leave the "+
				"fields to anybody", i+1)
		}
	}
	return nil
}

// checkPath returns an error if a path covers what a set needs.
func checkPath(path []fieldStep, labels, annotations []string) error {
	second, third := "", ""
	if len(path) > 1 {
		second = path[1].key
	}
	if len(path) > 2 {
		third = path[2].key
	}
	switch first := path[0].key; {
	case first == "apiVersion" || first == "kind":
		return fmt.Errorf("%s identifies the object", first)
	case first == "stringData":
		return errors.New("the cluster keeps the stringData of a Secret in data: use /data")
	case first != "metadata":
		return nil
	case second == "labels" && third != "":
		return checkMark(third, labels)
	case second == "annotations" && third != "":
		return checkMark(third, annotations)
	case second == "finalizers" || second == "ownerReferences":
		return nil
	}
	return errors.New("of the metadata only single labels and annotations, finalizers and " +
		"ownerReferences can be left to others: the rest identifies the object, marks it as one of " +
		"the set, or is written by the server alone")
}

// checkMark returns an error if a key is one of some marks.
func checkMark(key string, marks []string) error {
	if slices.Contains(marks, key) {
		return fmt.Errorf("%s marks the object as one of a set, or is the record of what was applied",
			key)
	}
	return nil
}

// fieldStep leads from a value to one in it: to a field of a map, or to an item of a list.
type fieldStep struct {
	key  string
	item func(list []any) int // index of the item, or -1; nil for a field
}

// in returns the value in another one, and its key or index; nil if there is none.
func (s fieldStep) in(value any) (inner, at any) {
	if s.item == nil {
		fields, _ := value.(map[string]any)
		return fields[s.key], s.key
	}
	list, _ := value.([]any)
	if i := s.item(list); i >= 0 {
		return list[i], i
	}
	return nil, nil
}

// valueOf returns the value at a path; nil if there is none.
func valueOf(value any, path []fieldStep) any {
	for _, step := range path {
		value, _ = step.in(value)
	}
	return value
}

// placeOf returns the keys and indexes that lead to the value at a path; nil if there is none.
func placeOf(value any, path []fieldStep) (place []any) {
	for _, step := range path {
		inner, at := step.in(value)
		if inner == nil {
			return nil
		}
		value, place = inner, append(place, at)
	}
	return place
}

// parsePointer reads a path of a rule.
func parsePointer(text string) (path []fieldStep, err error) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return nil, errors.New("a path begins with /, as in /spec/replicas")
	}
	for i, token := range strings.Split(rest, "/") {
		step, err := parseToken(token)
		if err != nil {
			return nil, err
		}
		if i == 0 && step.item != nil {
			return nil, errors.New("an object is no list")
		}
		path = append(path, step)
	}
	return path, nil
}

// parseToken reads a part of a pointer: a key, or [FIELD=VALUE].
func parseToken(token string) (fieldStep, error) {
	key := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
	field, value, isItem := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(key, "["), "]"), "=")
	switch {
	case strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(token), "~"):
		return fieldStep{}, errors.New("in a key ~ is written as ~0, and / as ~1")
	case key == "":
		return fieldStep{}, errors.New("a part of it is empty")
	case key == "-" || strings.Trim(key, "0123456789") == "":
		return fieldStep{}, fmt.Errorf("an item of a list has no index here, since others may add "+
			"items: name it by a field, as in [name=web] instead of %s", key)
	case !strings.HasPrefix(key, "["):
		return fieldStep{key: key}, nil
	case !strings.HasSuffix(key, "]") || !isItem || field == "" || value == "":
		return fieldStep{}, fmt.Errorf("%s names no item of a list: expected [FIELD=VALUE], as in "+
			"[name=web]", key)
	}
	return fieldStep{item: func(list []any) int {
		return slices.IndexFunc(list, func(item any) bool {
			fields, _ := item.(map[string]any)
			return fields[field] != nil && fmt.Sprint(fields[field]) == value
		})
	}}, nil
}

// stepsOf returns a path of managed fields.
func stepsOf(path fieldpath.Path) []fieldStep {
	steps := make([]fieldStep, len(path))
	for i, element := range path {
		if element.FieldName != nil {
			steps[i].key = *element.FieldName
			continue
		}
		steps[i].item = func(list []any) int { return indexOf(list, element) }
	}
	return steps
}

// left returns the paths that the rules leave to others in a live object. Paths of which the live
// object has no value are among them, since a removed field is left removed.
func (r IgnoreRules) left(live *unstructured.Unstructured) (left [][]fieldStep, err error) {
	if live == nil {
		return nil, nil
	}
	for _, rule := range r {
		if !rule.Target.selects(live) {
			continue
		}
		var paths [][]fieldStep
		for _, text := range rule.Paths {
			path, err := parsePointer(text)
			if err != nil {
				return nil, fmt.Errorf("ignore rule: path %q: %w", text, err)
			}
			paths = append(paths, path)
		}
		if len(rule.Managers) > 0 {
			if paths, err = rule.ownedOf(live, paths); err != nil {
				return nil, err
			}
		}
		left = append(left, paths...)
	}
	return left, nil
}

// ownedOf returns the fields at or below some paths of a live object that the managers of the rule
// own. A path within a value that they own as a whole is returned itself.
func (r IgnoreRule) ownedOf(
	live *unstructured.Unstructured, paths [][]fieldStep,
) (owned [][]fieldStep, err error) {
	places := make([][]any, len(paths))
	for i, path := range paths {
		places[i] = placeOf(live.Object, path)
	}
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil || !matchesAny(r.Managers, entry.Manager) {
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return nil, err
		}
		set.Leaves().Iterate(func(managed fieldpath.Path) {
			leaf := stepsOf(managed)
			at := placeOf(live.Object, leaf)
			for i, place := range places {
				shared := min(len(at), len(place))
				switch {
				case shared == 0 || !slices.Equal(at[:shared], place[:shared]):
				case len(at) < len(place):
					owned = append(owned, paths[i])
				default:
					owned = append(owned, leaf)
				}
			}
		})
	}
	return owned, nil
}

// selects reports whether the target selects an object.
func (t IgnoreTarget) selects(obj *unstructured.Unstructured) bool {
	ref := object.RefOf(obj)
	return matchesPattern(t.Group, ref.Group) && matchesPattern(t.Kind, ref.Kind) &&
		matchesPattern(t.Namespace, ref.Namespace) && matchesPattern(t.Name, ref.Name)
}

func matchesAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return matchesPattern(pattern, text)
	})
}

// matchesPattern reports whether a pattern matches a text. In it * stands for any text; an empty
// one matches all.
func matchesPattern(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	first, rest, isOpen := strings.Cut(pattern, "*")
	text, ok := strings.CutPrefix(text, first)
	if !ok || !isOpen {
		return ok && text == ""
	}
	parts := strings.Split(rest, "*")
	last := len(parts) - 1
	for _, part := range parts[:last] {
		if _, text, ok = strings.Cut(text, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(text, parts[last])
}
