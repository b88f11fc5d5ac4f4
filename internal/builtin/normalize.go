package builtin

import (
	"encoding/base64"
	"fmt"
	"math"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Normalize gives an object as it is after it was read into the type of its kind and written again: unknown fields and those that
// are empty are gone, and quantities, times and encoded data are written the one way. The result shares nothing with the
// object. An error says that it does not fit the type; false, that the kind is not built in.
func Normalize(gvk schema.GroupVersionKind, object map[string]any) (formed map[string]any, ok bool, err error) {
	t := typeOf(gvk)
	if t == nil {
		return nil, false, nil
	}
	v, err := t.form(object)
	if err != nil {
		return nil, true, err
	}
	return v.out.(map[string]any), true, nil
}

// value is one value that was read and written.
type value struct {
	out   any
	empty bool // omitempty leaves it out
	zero  bool // omitzero leaves it out
}

// form reads one value into a type and writes it again.
func (t *typ) form(in any) (value, error) {
	if t.special != nil {
		return t.special(in)
	}
	switch t.sort {
	case "ptr":
		if in == nil {
			return value{empty: true, zero: true}, nil
		}
		v, err := t.of.form(in)
		return value{out: v.out}, err
	case "slice":
		return t.formList(in)
	case "map":
		return t.formMap(in)
	case "struct":
		return t.formFields(in)
	}
	return formPlain(t.name, in)
}

func formPlain(name string, in any) (value, error) {
	if in == nil {
		return value{out: plain[name], empty: true, zero: true}, nil
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
		out = number(name, float64(v), v)
	case float64:
		out = number(name, v, int64(v))
	}
	if out == nil {
		return value{}, misfit(name, in)
	}
	none := out == plain[name]
	return value{out: out, empty: none, zero: none}, nil
}

// plain are the values of the plain types when nothing is given.
var plain = map[string]any{"string": "", "bool": false, "int32": int64(0), "int64": int64(0), "float64": float64(0)}

// number is a number as a type has it; nil where the type is for none, or for whole ones and it is not.
func number(name string, f float64, i int64) any {
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

func (t *typ) formList(in any) (value, error) {
	if text, ok := in.(string); ok && t.of.name == "uint8" {
		data, err := base64.StdEncoding.DecodeString(text)
		return value{out: base64.StdEncoding.EncodeToString(data), empty: len(data) == 0}, err
	}
	list, ok := in.([]any)
	switch {
	case in == nil, ok && list == nil:
		return value{empty: true, zero: true}, nil
	case !ok:
		return value{}, misfit(t.name, in)
	case t.of.name == "uint8":
		return convert[[]byte](in)
	}
	out := make([]any, len(list))
	for i := range list {
		v, err := t.of.form(list[i])
		if err != nil {
			return value{}, err
		}
		out[i] = v.out
	}
	return value{out: out, empty: len(out) == 0}, nil
}

func (t *typ) formMap(in any) (value, error) {
	fields, ok := in.(map[string]any)
	switch {
	case in == nil, ok && fields == nil:
		return value{empty: true, zero: true}, nil
	case !ok:
		return value{}, misfit(t.name, in)
	}
	out := make(map[string]any, len(fields))
	for key := range fields {
		v, err := t.of.form(fields[key])
		if err != nil {
			return value{}, err
		}
		out[key] = v.out
	}
	return value{out: out, empty: len(out) == 0}, nil
}

func (t *typ) formFields(in any) (value, error) {
	given, ok := in.(map[string]any)
	if in != nil && !ok {
		return value{}, misfit(t.name, in)
	}
	out, zero := make(map[string]any, len(given)), true
	fields := t.all()
	for i := range fields {
		f := &fields[i]
		is, given := given[f.name]
		if !given && f.omitEmpty && f.sort != "struct" {
			continue
		}
		v, err := f.form(is)
		if err != nil {
			return value{}, err
		}
		zero = zero && v.zero
		if f.omitEmpty && v.empty || f.omitZero && v.zero {
			continue
		}
		out[f.name] = v.out
	}
	return value{out: out, zero: zero}, nil
}

func misfit(name string, in any) error { return fmt.Errorf("a %T is no %s", in, name) }

// special are the types that are written in a way of their own, which is left to their library.
var special = map[string]func(any) (value, error){
	"apis/meta/v1.Time":        library[metav1.Time](),
	"*apis/meta/v1.Time":       library[*metav1.Time](),
	"apis/meta/v1.MicroTime":   library[metav1.MicroTime](),
	"*apis/meta/v1.MicroTime":  library[*metav1.MicroTime](),
	"apis/meta/v1.Duration":    library[metav1.Duration](),
	"*apis/meta/v1.Duration":   library[*metav1.Duration](),
	"apis/meta/v1.FieldsV1":    library[metav1.FieldsV1](),
	"*apis/meta/v1.FieldsV1":   library[*metav1.FieldsV1](),
	"api/resource.Quantity":    library[resource.Quantity](),
	"*api/resource.Quantity":   library[*resource.Quantity](),
	"util/intstr.IntOrString":  library[intstr.IntOrString](),
	"*util/intstr.IntOrString": library[*intstr.IntOrString](),
	"runtime.RawExtension":     library[runtime.RawExtension](),
	"*runtime.RawExtension":    library[*runtime.RawExtension](),
}

// library gives what reads a value into a type and writes it again.
func library[T any]() func(any) (value, error) {
	none := sync.OnceValues(func() (value, error) { return convert[T](nil) })
	return func(in any) (value, error) {
		if in == nil {
			return none()
		}
		return convert[T](in)
	}
}

// convert has the converter of the library read and write a value. What it leaves out is empty or zero.
func convert[T any](in any) (value, error) {
	var all struct {
		Value    T `json:"value"`
		NotEmpty T `json:"notEmpty,omitempty"`
		NotZero  T `json:"notZero,omitzero"`
	}
	converter := runtime.DefaultUnstructuredConverter
	if err := converter.FromUnstructured(map[string]any{"value": in, "notEmpty": in, "notZero": in}, &all); err != nil {
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
