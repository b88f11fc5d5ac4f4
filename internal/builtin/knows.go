package builtin

import (
	"encoding/base64"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Newest is a kind, in a version of its API, that the release of Kubernetes whose types the table
// has serves and no earlier release does: a server that serves it knows all stable fields of the
// table. Minor is the minor version of that release.
var (
	Newest = schema.GroupVersionKind{
		Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingAdmissionPolicy",
	}
	Minor = 36
)

// stable matches versions whose fields no later release removes.
var stable = regexp.MustCompile(`^v[0-9]+$`)

// Knows reports whether the table has the kind of an object, in a stable version, with all fields
// of the object, and whether their values have the types of the fields. False means that the
// table cannot tell: a server may know more.
func Knows(object map[string]any) bool {
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	gvk := schema.FromAPIVersionAndKind(version, kind)
	t := typeOf(gvk)
	return t != nil && stable.MatchString(gvk.Version) && t.holds(object)
}

// MetadataFields returns the names of the fields of an object's metadata.
func MetadataFields() (names []string) {
	for _, f := range typeNamed("apis/meta/v1.ObjectMeta").structFields() {
		names = append(names, f.name)
	}
	return names
}

// holds reports whether a type can hold a value and all fields in it. Every type can hold null.
func (t *goType) holds(in any) bool {
	if in == nil {
		return true
	}
	if t.special != nil {
		_, err := t.special(in)
		return err == nil
	}
	switch t.kind {
	case "ptr":
		return t.elem.holds(in)
	case "slice":
		if t.elem.name == "uint8" {
			text, ok := in.(string)
			_, err := base64.StdEncoding.DecodeString(text)
			return ok && err == nil
		}
		list, ok := in.([]any)
		return ok && !slices.ContainsFunc(list, func(item any) bool { return !t.elem.holds(item) })
	case "map":
		fields, ok := in.(map[string]any)
		for _, value := range fields {
			ok = ok && t.elem.holds(value)
		}
		return ok
	case "struct":
		return t.holdsFields(in)
	case "schemas":
		return t.holdsSchemas(in)
	}
	_, err := normalizePlain(t.name, in)
	return err == nil
}

// holdsSchemas reports whether the schemas in a value have known fields only.
func (t *goType) holdsSchemas(in any) bool {
	switch given := in.(type) {
	case map[string]any:
		return t.elem.holds(given)
	case []any:
		return !slices.ContainsFunc(given, func(item any) bool { return !t.holdsSchemas(item) })
	}
	return true
}

// holdsFields reports whether a struct has all fields of a map, and can hold their values.
func (t *goType) holdsFields(in any) bool {
	given, ok := in.(map[string]any)
	if !ok {
		return false
	}
	fields := t.structFields()
	for name, value := range given {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 || !fields[i].holds(value) {
			return false
		}
	}
	return true
}
