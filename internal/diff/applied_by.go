package diff

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// AppliedBy reports whether sending want as an apply patch of the manager would change nothing, neither a value nor who owns it:
// the manager has applied exactly the fields of want, in the same version, and their live values are those of want. It looks at
// metadata.managedFields and at no schema, so it may say false where the server would find no change: a quantity written
// differently, an empty list that is merged by key, a map that the server treats as one value under a name not known here.
func AppliedBy(want, live *unstructured.Unstructured, manager string) (bool, error) {
	if want == nil || live == nil || sameObject(want, live) != nil {
		return false, nil
	}
	sets, ok, err := ownership(live, manager)
	if err != nil || !ok {
		return false, err
	}
	return sets.holdFields(ownable(want), live.Object), nil
}

// ownable gives the fields of an object that managed fields can list. A uid and a resourceVersion, which are never listed either,
// stay: they are preconditions that only the server can judge, and lead to the answer false.
func ownable(want *unstructured.Unstructured) map[string]any {
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

// fieldSets tells what one manager applied from what all others own.
type fieldSets struct{ mine, others *fieldSet }

// ownership reads the managed fields of an object; ok is false if the manager has not applied it.
func ownership(live *unstructured.Unstructured, manager string) (sets fieldSets, ok bool, err error) {
	sets = fieldSets{mine: &fieldSet{}, others: &fieldSet{}}
	entries, _, err := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	if err != nil {
		return sets, false, fmt.Errorf("read managed fields: %w", err)
	}
	list, _ := entries.([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		set := sets.others
		if isApplied(entry, live.GetAPIVersion(), manager) {
			set, ok = sets.mine, true
		}
		if err := set.add(fieldsOf(entry, "fieldsV1")); err != nil {
			return sets, false, fmt.Errorf("read managed fields of %q: %w", entry["manager"], err)
		}
	}
	return sets, ok, nil
}

func isApplied(entry map[string]any, version, manager string) bool {
	subresource, _ := entry["subresource"].(string)
	return entry["manager"] == manager && entry["operation"] == "Apply" && entry["apiVersion"] == version && subresource == ""
}

// hold reports whether a wanted value, found under a name (none for list items), is what was applied and what is live.
func (s fieldSets) hold(name string, want, live any) bool {
	if s.mine.isLeaf() {
		return s.holdWhole(name, want, live)
	}
	switch want := want.(type) {
	case map[string]any:
		live, ok := live.(map[string]any)
		return ok && s.holdFields(want, live)
	case []any:
		live, ok := live.([]any)
		return ok && s.holdItems(want, live)
	}
	return false
}

// holdWhole judges a value that the manager owns as a whole. For a map or list with content that is only sure if the server can
// own it no other way: a leaf is also what an empty or null value leaves behind, whose content others may own or the server may
// have defaulted.
func (s fieldSets) holdWhole(name string, want, live any) bool {
	switch v := want.(type) {
	case map[string]any:
		if len(v) > 0 && (!s.others.isLeaf() || !isAtomicMap(name)) {
			return false
		}
	case []any:
		if len(v) > 0 && !s.others.isLeaf() {
			return false
		}
	}
	return jsonvalue.Equal(want, live)
}

// isAtomicMap reports whether a map of this name is owned as one value. Every selector and reference of the Kubernetes API is
// (map and struct type "atomic"), and these other fields; an item of a list is, or its keys would be listed.
func isAtomicMap(name string) bool {
	switch name {
	case "", "selector", "matchConstraints", "matchResources", "paramKind", "dataSource", "involvedObject", "regarding", "related",
		"nodeTopology", "preference", "required", "resource", "port":
		return true
	}
	return strings.HasSuffix(name, "Selector") || strings.HasSuffix(name, "Ref")
}

func (s fieldSets) holdFields(want, live map[string]any) bool {
	if len(s.mine.items) > 0 || len(s.mine.fields) != len(want) {
		return false
	}
	for name, value := range want {
		mine, owned := s.mine.fields[name]
		current, ok := live[name]
		switch {
		case !owned:
			return false
		case !ok && isDropped(value) && mine.isLeaf():
			continue
		case !ok:
			return false
		}
		if !(fieldSets{mine, s.others.field(name)}).hold(name, value, current) {
			return false
		}
	}
	return true
}

// isDropped reports whether a value may be missing from the live object just because it was applied: null, and the zero values that
// the server leaves out. Had someone deleted it, the manager would not own it any more.
func isDropped(want any) bool {
	return want == nil || want == false || want == "" || want == int64(0)
}

// holdItems judges a list that is merged item by item: each wanted item is one that the manager owns and the other way round, and
// live has them in the wanted order, with or without others between.
func (s fieldSets) holdItems(want, live []any) bool {
	if len(s.mine.fields) > 0 || len(s.mine.items) != len(want) {
		return false
	}
	selectors, ok := s.mine.pair(want)
	if !ok {
		return false
	}
	last := -1
	for i, value := range want {
		item := s.mine.items[selectors[i]]
		at, ok := item.find(live)
		if !ok || at <= last {
			return false
		}
		last = at
		if !(fieldSets{&item.fieldSet, s.others.item(selectors[i])}).hold("", value, live[at]) {
			return false
		}
	}
	return true
}

// pair finds for every wanted list item the selector that means it; ok is false unless it is plain which is which.
func (s *fieldSet) pair(want []any) (selectors []string, ok bool) {
	selectors = make([]string, len(want))
	taken := map[string]bool{}
	for _, lenient := range []bool{false, true} {
		for i, value := range want {
			if selectors[i] != "" {
				continue
			}
			found := s.selecting(value, lenient, taken)
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

// selecting lists the selectors that may mean a wanted item and are not taken.
func (s *fieldSet) selecting(value any, lenient bool, taken map[string]bool) []string {
	var found []string
	for selector, item := range s.items {
		switch {
		case taken[selector]:
		case item.by == 'k' && item.matches(value, lenient), item.by == 'v' && jsonvalue.Equal(item.value, value):
			found = append(found, selector)
		}
	}
	return found
}

// find gives the index of the only live item that the selector means.
func (l *listItem) find(live []any) (at int, ok bool) {
	is := func(value any) bool { return l.is(value, -1) }
	at = slices.IndexFunc(live, is)
	return at, at >= 0 && !slices.ContainsFunc(live[at+1:], is)
}
