package builtin

import (
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Normalize returns an object as if it had been decoded into the Go type of its kind and encoded
// again: without unknown and empty fields, and with the canonical form of quantities, times and
// encoded data. The result shares nothing with the object. ok is false if clients have no Go type
// of the kind; err reports a value that does not fit the type.
func Normalize(
	gvk schema.GroupVersionKind, object map[string]any,
) (formed map[string]any, ok bool, err error) {
	t := clientTypeOf(gvk)
	if t == nil {
		return nil, false, nil
	}
	v, err := normalizer{}.normalize(t, object)
	if err != nil {
		return nil, true, err
	}
	return v.out.(map[string]any), true, nil
}

// Stored returns an object of a built-in kind as a server probably stores it: as Normalize does,
// but with its unknown fields, which a newer server may know, and with defaults. The result shares
// nothing with the object. ok is false if the kind is not built in, or if a value does not fit the
// type.
func Stored(object map[string]any) (stored map[string]any, ok bool) {
	version, _ := object["apiVersion"].(string)
	kind, _ := object["kind"].(string)
	t := typeOf(schema.FromAPIVersionAndKind(version, kind))
	if t == nil {
		return nil, false
	}
	v, err := normalizer{stored: true}.normalize(t, object)
	if err != nil {
		return nil, false
	}
	stored = v.out.(map[string]any)
	SetDefaults(stored)
	return stored, true
}

// normalizer decodes values into types and encodes them again.
type normalizer struct {
	stored bool // as a server stores them, and with unknown fields
}

// value is a normalized value.
type value struct {
	out   any
	empty bool // omitempty omits it
	zero  bool // omitzero omits it
}

func (n normalizer) normalize(t *goType, in any) (value, error) {
	if t.special != nil {
		return t.special(in)
	}
	switch t.kind {
	case "ptr":
		if in == nil {
			return value{empty: true, zero: true}, nil
		}
		v, err := n.normalize(t.elem, in)
		return value{out: v.out}, err
	case "slice":
		return n.list(t, in)
	case "map":
		return n.fields(t, in)
	case "struct":
		return n.structure(t, in)
	case "schemas":
		return n.schemas(t, in)
	}
	return normalizePlain(t.name, in)
}

func normalizePlain(name string, in any) (value, error) {
	if in == nil {
		return value{out: zeroValues[name], empty: true, zero: true}, nil
	}
	var out any
	switch v := in.(type) {
	case string:
		if name == "string" {
			return value{out: v, empty: v == "", zero: v == ""}, nil
		}
	case bool:
		if name == "bool" {
			return value{out: v, empty: !v, zero: !v}, nil
		}
	case int64:
		out = numberAs(name, float64(v), v)
	case float64:
		out = numberAs(name, v, int64(v))
	}
	if out == nil {
		return value{}, errMismatch(name, in)
	}
	none := out == zeroValues[name]
	return value{out: out, empty: none, zero: none}, nil
}

// zeroValues are the zero values of the basic types.
var zeroValues = map[string]any{
	"string":  "",
	"bool":    false,
	"int32":   int64(0),
	"int64":   int64(0),
	"float64": float64(0),
}

// numberAs returns a number as a type encodes it, or nil if the type cannot hold it.
func numberAs(name string, f float64, i int64) any {
	switch {
	case name == "float64":
		return f
	case f != math.Trunc(f):
		return nil
	case name == "int64":
		return i
	case name == "int32":
		return int64(int32(i))
	}
	return nil
}

func (n normalizer) list(t *goType, in any) (value, error) {
	if text, ok := in.(string); ok && t.elem.name == "uint8" {
		data, err := base64.StdEncoding.DecodeString(text)
		return value{out: base64.StdEncoding.EncodeToString(data), empty: len(data) == 0}, err
	}
	list, ok := in.([]any)
	switch {
	case in == nil, ok && list == nil:
		return value{empty: true, zero: true}, nil
	case ok && len(list) == 0 && n.stored:
		return value{empty: true, zero: true}, nil // servers store no empty lists
	case !ok:
		return value{}, errMismatch(t.name, in)
	case t.elem.name == "uint8":
		return convert[[]byte](in)
	}
	out := make([]any, len(list))
	for i := range list {
		v, err := n.normalize(t.elem, list[i])
		if err != nil {
			return value{}, err
		}
		out[i] = v.out
	}
	return value{out: out, empty: len(out) == 0}, nil
}

func (n normalizer) fields(t *goType, in any) (value, error) {
	fields, ok := in.(map[string]any)
	switch {
	case in == nil, ok && fields == nil:
		return value{empty: true, zero: true}, nil
	case !ok:
		return value{}, errMismatch(t.name, in)
	}
	out := make(map[string]any, len(fields))
	for key := range fields {
		v, err := n.normalize(t.elem, fields[key])
		if err != nil {
			return value{}, err
		}
		out[key] = v.out
	}
	return value{out: out, empty: len(out) == 0}, nil
}

func (n normalizer) structure(t *goType, in any) (value, error) {
	given, ok := in.(map[string]any)
	if in != nil && !ok {
		return value{}, errMismatch(t.name, in)
	}
	out, zero := make(map[string]any, len(given)), true
	fields := t.structFields()
	for i := range fields {
		f := &fields[i]
		is, given := given[f.name]
		if !given && f.omitEmpty && f.kind != "struct" {
			continue
		}
		v, err := n.normalize(f.goType, is)
		if err != nil {
			return value{}, err
		}
		zero = zero && v.zero
		if f.omitEmpty && v.empty || f.omitZero && v.zero {
			continue
		}
		out[f.name] = v.out
	}
	if n.stored {
		for key, is := range given {
			known := slices.ContainsFunc(fields, func(f field) bool { return f.name == key })
			if !known {
				out[key], zero = runtime.DeepCopyJSONValue(is), false
			}
		}
	}
	return value{out: out, zero: zero}, nil
}

// schemas are the types that hold a schema, a list of schemas, or a value that is none, by the type
// of the schema.
var schemas = map[string]string{
	"apiextensions/v1.JSONSchemaPropsOrArray":       "apiextensions/v1.JSONSchemaProps",
	"apiextensions/v1.JSONSchemaPropsOrBool":        "apiextensions/v1.JSONSchemaProps",
	"apiextensions/v1.JSONSchemaPropsOrStringArray": "apiextensions/v1.JSONSchemaProps",
}

// schemas normalizes the schemas of a value of one of these types, and copies any other value.
func (n normalizer) schemas(t *goType, in any) (value, error) {
	switch given := in.(type) {
	case map[string]any:
		return n.normalize(t.elem, given)
	case []any:
		out := make([]any, len(given))
		for i, item := range given {
			v, err := n.schemas(t, item)
			if err != nil {
				return value{}, err
			}
			out[i] = v.out
		}
		return value{out: out}, nil
	}
	return value{out: runtime.DeepCopyJSONValue(in)}, nil
}

// copyValue copies a value that may have any form.
func copyValue(in any) (value, error) { return value{out: runtime.DeepCopyJSONValue(in)}, nil }

func errMismatch(name string, in any) error { return fmt.Errorf("a %T is no %s", in, name) }

// special are the types with an encoding of their own; their library converts them.
var special = map[string]func(any) (value, error){
	"apis/meta/v1.Time":        viaConverter[metav1.Time](),
	"*apis/meta/v1.Time":       viaConverter[*metav1.Time](),
	"apis/meta/v1.MicroTime":   viaConverter[metav1.MicroTime](),
	"*apis/meta/v1.MicroTime":  viaConverter[*metav1.MicroTime](),
	"apis/meta/v1.Duration":    viaConverter[metav1.Duration](),
	"*apis/meta/v1.Duration":   viaConverter[*metav1.Duration](),
	"apis/meta/v1.FieldsV1":    viaConverter[metav1.FieldsV1](),
	"*apis/meta/v1.FieldsV1":   viaConverter[*metav1.FieldsV1](),
	"api/resource.Quantity":    viaConverter[resource.Quantity](),
	"*api/resource.Quantity":   viaConverter[*resource.Quantity](),
	"util/intstr.IntOrString":  viaConverter[intstr.IntOrString](),
	"*util/intstr.IntOrString": viaConverter[*intstr.IntOrString](),
	"runtime.RawExtension":     viaConverter[runtime.RawExtension](),
	"*runtime.RawExtension":    viaConverter[*runtime.RawExtension](),
	"apiextensions/v1.JSON":    copyValue,
}

// viaConverter returns a function that decodes a value into T and encodes it again.
func viaConverter[T any]() func(any) (value, error) {
	none := sync.OnceValues(func() (value, error) { return convert[T](nil) })
	return func(in any) (value, error) {
		if in == nil {
			return none()
		}
		return convert[T](in)
	}
}

// convert decodes and encodes a value with the converter of apimachinery.
func convert[T any](in any) (value, error) {
	var all struct {
		Value    T `json:"value"`
		NotEmpty T `json:"notEmpty,omitempty"`
		NotZero  T `json:"notZero,omitzero"`
	}
	converter := runtime.DefaultUnstructuredConverter
	fields := map[string]any{"value": in, "notEmpty": in, "notZero": in}
	if err := converter.FromUnstructured(fields, &all); err != nil {
		return value{}, err
	}
	out, err := converter.ToUnstructured(&all)
	if err != nil {
		return value{}, err
	}
	_, notEmpty := out["notEmpty"]
	_, notZero := out["notZero"]
	return value{out: out["value"], empty: !notEmpty, zero: !notZero}, nil
}
