package diff

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
)

// AppliedBy reports whether a server-side apply of want by the manager would change neither a value
// nor an owner: the manager applied exactly the fields of want, in the same version, and their live
// values equal those of want, or of built-in kinds what the server stores for them. AppliedBy reads
// metadata.managedFields. It may return false where the server would change nothing: for an empty
// list that merges by key, and for a map that the server treats as atomic under a name not known
// here.
func AppliedBy(want, live *unstructured.Unstructured, manager string) (bool, error) {
	if want == nil || live == nil || sameObject(want, live) != nil {
		return false, nil
	}
	sets, ok, err := readFieldSets(live, func(entry map[string]any) bool {
		return isApplyEntry(entry, live.GetAPIVersion(), manager)
	})
	if err != nil || !ok {
		return false, err
	}
	values := compared{want: ownableFields(want), live: live.Object}
	if sets.areFieldsApplied(values) {
		return true, nil
	}
	stored, wantOK := builtin.Stored(want.Object)
	normal, liveOK := builtin.Stored(live.Object)
	if !wantOK || !liveOK || want.GetAPIVersion() != live.GetAPIVersion() {
		return false, nil
	}
	values.stored, values.normal, values.typed = stored, normal, true
	return sets.areFieldsApplied(values), nil
}

// compared is a wanted value and the live one, and both as the server stores them if the kind is
// built in.
type compared struct {
	want, live     any
	stored, normal any
	typed          bool
}

// field returns the values of a field.
func (c compared) field(name string) compared {
	return compared{fieldOf(c.want, name), fieldOf(c.live, name), fieldOf(c.stored, name),
		fieldOf(c.normal, name), c.typed}
}

// item returns the values of list items.
func (c compared) item(want, live int) compared {
	return compared{indexed(c.want, want), indexed(c.live, live), indexed(c.stored, want),
		indexed(c.normal, live), c.typed}
}

// indexed returns an item of a list, nil if it has none.
func indexed(list any, index int) any {
	if items, _ := list.([]any); index < len(items) {
		return items[index]
	}
	return nil
}

// same reports whether the server stores the wanted value as the live one.
func (c compared) same() bool {
	return jsonvalue.Equal(c.want, c.live) || c.typed && jsonvalue.Equal(c.stored, c.normal)
}

// ownableFields returns the fields of an object that managed fields can list. It keeps uid and
// resourceVersion: only the server can check these preconditions, so they make the answer false.
func ownableFields(want *unstructured.Unstructured) map[string]any {
	fields := without(want.Object, "apiVersion", "kind")
	metadata, ok := fields["metadata"].(map[string]any)
	if !ok {
		return fields
	}
	metadata = without(metadata, "name", "namespace", "creationTimestamp", "generation", "selfLink")
	fields["metadata"] = metadata
	if len(metadata) == 0 {
		delete(fields, "metadata")
	}
	return fields
}

// appliedFields are the fields that an applier owns, and the fields that all others own.
type appliedFields struct{ mine, others *fieldSet }

// readFieldSets reads the managed fields of an object. isMine reports whether an entry is one of
// the applier; ok is false if none is.
func readFieldSets(
	live *unstructured.Unstructured, isMine func(entry map[string]any) bool,
) (sets appliedFields, ok bool, err error) {
	sets = appliedFields{mine: &fieldSet{}, others: &fieldSet{}}
	entries, _, err := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	if err != nil {
		return sets, false, fmt.Errorf("read managed fields: %w", err)
	}
	list, _ := entries.([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		set := sets.others
		if isMine(entry) {
			set, ok = sets.mine, true
		}
		if err := set.add(fieldsOf(entry, "fieldsV1")); err != nil {
			return sets, false, fmt.Errorf("read managed fields of %q: %w", entry["manager"], err)
		}
	}
	return sets, ok, nil
}

func isApplyEntry(entry map[string]any, version, manager string) bool {
	subresource, _ := entry["subresource"].(string)
	return entry["manager"] == manager && entry["operation"] == "Apply" &&
		entry["apiVersion"] == version &&
		subresource == ""
}

// isApplied reports whether the wanted value was applied and is live. The name is that of its
// field, empty for list items.
func (s appliedFields) isApplied(name string, c compared) bool {
	if s.mine.isLeaf() {
		return s.isLeafApplied(name, c)
	}
	switch c.want.(type) {
	case map[string]any:
		_, ok := c.live.(map[string]any)
		return ok && s.areFieldsApplied(c)
	case []any:
		_, ok := c.live.([]any)
		return ok && s.areItemsApplied(c)
	}
	return false
}

// isLeafApplied reports the same for a value that the manager owns as a whole. For a nonempty map
// or list the answer is certain only if the server must treat it as atomic. An empty or null value
// leaves a leaf as well, and others may own its later content or the server may have defaulted it.
func (s appliedFields) isLeafApplied(name string, c compared) bool {
	switch v := c.want.(type) {
	case map[string]any:
		if len(v) > 0 && (!s.others.isLeaf() || !isAtomicMap(name)) {
			return false
		}
	case []any:
		if len(v) > 0 && !s.others.isLeaf() {
			return false
		}
	}
	return c.same()
}

// isAtomicMap reports whether the server owns a map of this name as one value. The Kubernetes API
// does so for every selector and reference (map and struct type "atomic"), for these other fields,
// and for list items without keys.
func isAtomicMap(name string) bool {
	switch name {
	case "",
		"selector",
		"matchConstraints",
		"matchResources",
		"paramKind",
		"dataSource",
		"involvedObject",
		"regarding",
		"related",
		"nodeTopology",
		"preference",
		"required",
		"resource",
		"port":
		return true
	}
	return strings.HasSuffix(name, "Selector") || strings.HasSuffix(name, "Ref")
}

func (s appliedFields) areFieldsApplied(c compared) bool {
	want, _ := c.want.(map[string]any)
	live, _ := c.live.(map[string]any)
	if len(s.mine.items) > 0 || len(s.mine.fields) != len(want) {
		return false
	}
	for name, value := range want {
		mine, owned := s.mine.fields[name]
		_, ok := live[name]
		inner := c.field(name)
		switch {
		case !owned:
			return false
		case !ok && mine.isLeaf() && (mayBeOmitted(value) || inner.isOmitted()):
			continue
		case !ok:
			return false
		}
		if !(appliedFields{mine, s.others.field(name)}).isApplied(name, inner) {
			return false
		}
	}
	return true
}

// isOmitted reports whether the server does not store the wanted value of a built-in kind.
func (c compared) isOmitted() bool { return c.typed && c.stored == nil && c.normal == nil }

// mayBeOmitted reports whether the server may omit a value that was applied: null and zero values.
// If someone had deleted it, the manager would no longer own it.
func mayBeOmitted(want any) bool {
	return want == nil || want == false || want == "" || want == int64(0)
}

// areItemsApplied reports the same for a list that merges item by item. Every wanted item must
// match one that the manager owns, and vice versa. The live list must have them in the wanted
// order, possibly with others between them.
func (s appliedFields) areItemsApplied(c compared) bool {
	want, _ := c.want.([]any)
	live, _ := c.live.([]any)
	if len(s.mine.fields) > 0 || len(s.mine.items) != len(want) {
		return false
	}
	selectors, ok := s.mine.selectorsOf(want)
	if !ok {
		return false
	}
	last, index := -1, newListIndex(live)
	for i := range want {
		item := s.mine.items[selectors[i]]
		at, ok := index.only(item)
		if !ok || at <= last {
			return false
		}
		last = at
		inner := appliedFields{&item.fieldSet, s.others.item(selectors[i])}
		if !inner.isApplied("", c.item(i, at)) {
			return false
		}
	}
	return true
}

// selectorsOf returns the selector of each wanted list item. ok is false if the match is ambiguous.
func (s *fieldSet) selectorsOf(want []any) (selectors []string, ok bool) {
	selectors = make([]string, len(want))
	taken, index := map[string]bool{}, newSelectorIndex(s.items)
	for _, lenient := range []bool{false, true} {
		for i, value := range want {
			if selectors[i] != "" {
				continue
			}
			found := s.selectorsFor(value, lenient, taken, index)
			if len(found) > 1 || len(found) == 0 && lenient {
				return nil, false
			}
			if len(found) == 1 {
				selectors[i], taken[found[0]] = found[0], true
			}
		}
	}
	return selectors, true
}

// selectorsFor returns the selectors that may match a wanted item and are not taken.
func (s *fieldSet) selectorsFor(
	value any, lenient bool, taken map[string]bool, index *selectorIndex,
) (found []string) {
	for _, selector := range index.candidates(value, lenient) {
		switch item := s.items[selector]; {
		case taken[selector]:
		case item.by == 'k' && item.matches(value, lenient),
			item.by == 'v' && jsonvalue.Equal(item.value, value):
			found = append(found, selector)
		}
	}
	return found
}
