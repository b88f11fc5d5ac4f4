package diff

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// FieldOwner is a manager that owns a field. Since is the time of the last change to its fields.
type FieldOwner struct {
	Manager     string                            `json:"manager"`
	Operation   metav1.ManagedFieldsOperationType `json:"operation,omitempty"`   // Apply or Update
	Subresource string                            `json:"subresource,omitempty"` // empty: the object
	Since       time.Time                         `json:"since,omitzero"`        // zero if unknown
}

// ContestedField is a field to which an update gives another value than the live one, which others
// own. Its form is that of Owners.
type ContestedField struct {
	Field  string       `json:"field"`
	Owners []FieldOwner `json:"owners"`

	path   fieldpath.Path
	rivals []fieldpath.Path // of an obstacle: what the desired object has in its place
}

// Comparison is what Contested compares.
type Comparison struct {
	// Want is the object that is sent. With Merged it is the object as the update leaves it, so that
	// fields that it lacks are removed.
	Want   *unstructured.Unstructured
	Merged bool
	Live   *unstructured.Unstructured // with managed fields
	// Base is the object as it was applied last; fields that have its value were not changed by
	// others. Nil counts all fields.
	Base *unstructured.Unstructured
	// Manager and Operation say which owner is not another; no operation means both.
	Manager   string
	Operation metav1.ManagedFieldsOperationType
	// TooMany are maps that would have too many fields with those of both objects, as in spec.source,
	// or fields of Live that are too many.
	TooMany []string
	// KeepFormerNames leaves the former names of fields that are removed.
	KeepFormerNames bool
	// IgnoreAnnotations are keys of annotations that are not compared.
	IgnoreAnnotations []string
}

// Contested returns the contested fields of an update, sorted. It reads metadata.managedFields and
// no schema: a value that the server spells differently counts as another one. A value that others
// removed has no owner and is not returned.
func Contested(c Comparison) ([]ContestedField, error) {
	found, at := map[string]*ContestedField{}, &lookups{}
	for _, entry := range c.Live.GetManagedFields() {
		if c.isOwn(entry) || entry.Subresource == "status" || entry.FieldsV1 == nil {
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return nil, err
		}
		set.Leaves().Iterate(func(path fieldpath.Path) {
			if !c.contests(path, at) {
				return
			}
			field := path.String()
			if found[field] == nil {
				found[field] = &ContestedField{Field: field, path: path.Copy()}
			}
			found[field].Owners = append(found[field].Owners, ownerOf(entry))
		})
	}
	contested := make([]ContestedField, 0, len(found))
	for _, field := range found {
		contested = append(contested, *field)
	}
	slices.SortFunc(contested, func(a, b ContestedField) int {
		return strings.Compare(a.Field, b.Field)
	})
	return contested, nil
}

func (c Comparison) isOwn(entry metav1.ManagedFieldsEntry) bool {
	return entry.Manager == c.Manager && entry.Subresource == "" &&
		(c.Operation == "" || entry.Operation == c.Operation)
}

// contests reports whether the update sets a field to another value than others did.
func (c Comparison) contests(path fieldpath.Path, at *lookups) bool {
	last := path[len(path)-1]
	if last.FieldName == nil || c.ignores(path) {
		return false // an item of a list: its fields have paths of their own
	}
	want, isWanted := at.valueAt(c.Want.Object, path)
	live, isLive := at.valueAt(c.Live.Object, path)
	switch {
	case !isWanted && (!c.Merged || !isLive), isLive && isShared(*last.FieldName, live):
		return false
	case isWanted == isLive && jsonvalue.Equal(want, live), !isLive && mayBeOmitted(want):
		return false
	case c.Base == nil:
		return true
	}
	base, inBase := at.valueAt(c.Base.Object, path)
	return inBase != isLive || !jsonvalue.Equal(base, live)
}

func (c Comparison) ignores(path fieldpath.Path) bool {
	return len(path) == 3 && slices.ContainsFunc(c.IgnoreAnnotations, func(key string) bool {
		return path.Equals(fieldpath.MakePathOrDie("metadata", "annotations", key))
	})
}

// isShared reports whether several managers may own parts of a live value that is a leaf of one.
func isShared(name string, live any) bool {
	switch live := live.(type) {
	case map[string]any:
		return !isAtomicMap(name)
	case []any:
		return len(live) == 0
	}
	return false
}

func managedSet(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	set := &fieldpath.Set{}
	if err := set.FromJSON(bytes.NewReader(entry.FieldsV1.GetRawBytes())); err != nil {
		return nil, fmt.Errorf("read managed fields of %q: %w", entry.Manager, err)
	}
	return set, nil
}

func ownerOf(entry metav1.ManagedFieldsEntry) FieldOwner {
	owner := FieldOwner{
		Manager: entry.Manager, Operation: entry.Operation, Subresource: entry.Subresource,
	}
	if entry.Time != nil {
		owner.Since = entry.Time.Time
	}
	return owner
}

// valueAt returns the value at a path. Items of lists may lack key fields that the server defaults.
func valueAt(value any, path fieldpath.Path) (any, bool) {
	return (*lookups)(nil).valueAt(value, path)
}

// valueAt returns what the function valueAt does.
func (l *lookups) valueAt(value any, path fieldpath.Path) (any, bool) {
	for _, element := range path {
		switch {
		case element.FieldName != nil:
			fields, _ := value.(map[string]any)
			inner, ok := fields[*element.FieldName]
			if !ok {
				return nil, false
			}
			value = inner
		default:
			list, _ := value.([]any)
			at := l.indexOf(list, element)
			if at < 0 {
				return nil, false
			}
			value = list[at]
		}
	}
	return value, true
}

// indexOf returns the index of the list item that a path element selects, or -1.
func indexOf(list []any, element fieldpath.PathElement) int {
	if element.Index != nil {
		if *element.Index < len(list) {
			return *element.Index
		}
		return -1
	}
	if element.Value != nil {
		value := (*element.Value).Unstructured()
		return slices.IndexFunc(list, func(item any) bool { return jsonvalue.Equal(value, item) })
	}
	if element.Key == nil {
		return -1
	}
	wanted := &listItem{by: 'k', keys: keysOf(element)}
	return slices.IndexFunc(list, func(item any) bool { return wanted.matches(item, true) })
}

// keysOf returns the keys of the list item that a path element selects.
func keysOf(element fieldpath.PathElement) map[string]any {
	keys := make(map[string]any, len(*element.Key))
	for _, key := range *element.Key {
		keys[key.Name] = key.Value.Unstructured()
	}
	return keys
}

// LeaveOut removes a contested field from an object, in place, with the maps that it leaves empty;
// for an obstacle, what cannot be beside that. The object must not share values with others.
func (f ContestedField) LeaveOut(obj *unstructured.Unstructured) {
	if !f.LeaveOutRivals(obj) {
		leaveOut(obj.Object, f.path)
	}
}

func leaveOut(value any, path fieldpath.Path) {
	if len(path) == 0 || path[0].FieldName == nil && path[0].Key == nil {
		return
	}
	if path[0].FieldName == nil {
		list, _ := value.([]any)
		if at := indexOf(list, path[0]); at >= 0 {
			leaveOut(list[at], path[1:])
		}
		return
	}
	fields, _ := value.(map[string]any)
	name := *path[0].FieldName
	if len(path) > 1 {
		leaveOut(fields[name], path[1:])
		if inner, isMap := fields[name].(map[string]any); !isMap || len(inner) > 0 {
			return
		}
	}
	delete(fields, name)
}

// Keep sets a contested field of an object, in place, to the live value, or removes it if there is
// none. It does nothing if the object lacks the list item or the map with the field. An obstacle
// takes the place of what cannot be beside it.
func (f ContestedField) Keep(obj, live *unstructured.Unstructured) {
	if f.LeaveOutRivals(obj) {
		f.keepObstacle(obj, live)
		return
	}
	value, ok := valueAt(live.Object, f.path)
	parent, isThere := valueAt(obj.Object, f.path[:len(f.path)-1])
	fields, isMap := parent.(map[string]any)
	name := *f.path[len(f.path)-1].FieldName
	switch {
	case !isThere || !isMap:
	case ok:
		fields[name] = value
	default:
		delete(fields, name)
	}
}
