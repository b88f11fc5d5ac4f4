package builtin

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// PatchMeta says how the fields of a kind merge strategically; false for a kind that is not built in.
func PatchMeta(gvk schema.GroupVersionKind) (strategicpatch.LookupPatchMeta, bool) {
	t := typeOf(gvk)
	return merging{t}, t != nil
}

// merging tells how the fields of one type merge. Its errors are worded as those of the library, which has them for Go types.
type merging struct{ *typ }

// Name is the sort of the type.
func (m merging) Name() string { return m.sort }

// LookupPatchMetadataForStruct tells of one field, by its name in JSON, or else one that differs in case only.
func (m merging) LookupPatchMetadataForStruct(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	f, err := m.field(key)
	if err != nil {
		return nil, strategicpatch.PatchMeta{}, err
	}
	return merging{f.typ}, f.meta(), nil
}

// LookupPatchMetadataForSlice tells of one field, by name, that is a list: of its items.
func (m merging) LookupPatchMetadataForSlice(key string) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	f, err := m.field(key)
	if err != nil {
		return nil, strategicpatch.PatchMeta{}, err
	}
	item := f.of
	switch {
	case f.sort == "slice" && item.sort == "slice":
		return nil, strategicpatch.PatchMeta{}, errors.New("unexpected slice of slice")
	case f.sort == "ptr" && item.sort == "slice":
		item = item.of
	case f.sort != "slice" && f.sort != "ptr":
		return nil, strategicpatch.PatchMeta{}, fmt.Errorf("expected slice or array type, but got: %s", m.sort)
	}
	return merging{item}, f.meta(), nil
}

func (m merging) field(key string) (*field, error) {
	t := m.typ
	if t.sort == "ptr" {
		t = t.of
	}
	if t.sort != "struct" {
		return nil, fmt.Errorf("merging an object in json but data type is not struct, instead is: %s", t.sort)
	}
	fields := t.all()
	for i := range fields {
		if fields[i].name == key {
			return &fields[i], nil
		}
	}
	for i := range fields {
		if strings.EqualFold(fields[i].name, key) {
			return &fields[i], nil
		}
	}
	return nil, fmt.Errorf("unable to find api field in struct %s for the json field %q", t.name[strings.LastIndex(t.name, ".")+1:], key)
}

func (f *field) meta() (m strategicpatch.PatchMeta) {
	m.SetPatchStrategies(f.strategies)
	m.SetPatchMergeKey(f.mergeKey)
	return m
}
