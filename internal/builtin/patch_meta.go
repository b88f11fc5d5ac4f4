package builtin

import (
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// PatchMeta returns how the fields of a kind merge strategically; ok is false if clients have no Go
// type of the kind.
func PatchMeta(gvk schema.GroupVersionKind) (_ strategicpatch.LookupPatchMeta, ok bool) {
	t := clientTypeOf(gvk)
	return patchMetaLookup{t}, t != nil
}

// TypeMeta returns the same for all built-in kinds, also for those that clients do not merge
// strategically; nil and false for others.
func TypeMeta(gvk schema.GroupVersionKind) (_ strategicpatch.LookupPatchMeta, ok bool) {
	t := typeOf(gvk)
	if t == nil {
		return nil, false
	}
	return patchMetaLookup{t}, true
}

// MetadataMeta returns the same for the metadata of all objects.
func MetadataMeta() strategicpatch.LookupPatchMeta {
	return patchMetaLookup{typeNamed("apis/meta/v1.ObjectMeta")}
}

// patchMetaLookup looks up how the fields of one type merge. Its errors have the texts of the
// library's lookup for Go types.
type patchMetaLookup struct{ *goType }

// Name returns the kind of the type.
func (m patchMetaLookup) Name() string { return m.kind }

// LookupPatchMetadataForStruct returns the metadata of a field, by its JSON name or else by one
// that differs in case only.
func (m patchMetaLookup) LookupPatchMetadataForStruct(
	key string,
) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	f, err := m.field(key)
	if err != nil {
		return nil, strategicpatch.PatchMeta{}, err
	}
	return patchMetaLookup{f.goType}, f.patchMeta(), nil
}

// LookupPatchMetadataForSlice returns the metadata of a list field's items.
func (m patchMetaLookup) LookupPatchMetadataForSlice(
	key string,
) (strategicpatch.LookupPatchMeta, strategicpatch.PatchMeta, error) {
	f, err := m.field(key)
	if err != nil {
		return nil, strategicpatch.PatchMeta{}, err
	}
	item := f.elem
	switch {
	case f.kind == "slice" && item.kind == "slice":
		return nil, strategicpatch.PatchMeta{}, errors.New("unexpected slice of slice")
	case f.kind == "ptr" && item.kind == "slice":
		item = item.elem
	case f.kind != "slice" && f.kind != "ptr":
		return nil, strategicpatch.PatchMeta{}, fmt.Errorf(
			"expected slice or array type, but got: %s", m.kind,
		)
	}
	return patchMetaLookup{item}, f.patchMeta(), nil
}

func (m patchMetaLookup) field(key string) (*field, error) {
	t := m.goType
	if t.kind == "ptr" {
		t = t.elem
	}
	if t.kind != "struct" {
		return nil, fmt.Errorf(
			"merging an object in json but data type is not struct, instead is: %s", t.kind,
		)
	}
	fields := t.structFields()
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
	return nil, fmt.Errorf("unable to find api field in struct %s for the json field %q",
		t.name[strings.LastIndex(t.name, ".")+1:], key)
}

func (f *field) patchMeta() (m strategicpatch.PatchMeta) {
	m.SetPatchStrategies(f.strategies)
	m.SetPatchMergeKey(f.mergeKey)
	return m
}
