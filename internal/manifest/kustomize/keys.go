package kustomize

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// checkKeys rejects a text in JSON with two keys that the library takes for the same field of a
// type, since it ignores the case of keys.
func checkKeys(text []byte, of reflect.Type) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err
	}
	return checkValue(value, of)
}

func checkValue(value any, of reflect.Type) error {
	if of.Kind() == reflect.Pointer {
		return checkValue(value, of.Elem())
	}
	switch v := value.(type) {
	case []any:
		if of.Kind() != reflect.Slice {
			return nil
		}
		for _, element := range v {
			if err := checkValue(element, of.Elem()); err != nil {
				return err
			}
		}
	case map[string]any:
		if of.Kind() != reflect.Struct {
			return nil
		}
		written := map[string]string{} // by the name of the field
		for _, key := range sortedKeys(v) {
			name, field := fieldOf(of, key)
			if field == nil {
				continue
			}
			if other, twice := written[name]; twice {
				return fmt.Errorf("%q and %q are the same field; keep one of them", other, key)
			}
			written[name] = key
			if err := checkValue(v[key], field); err != nil {
				return err
			}
		}
	}
	return nil
}

// fieldOf returns the name and the type of the field that a key stands for in whatever case, and a
// nil type if there is none.
func fieldOf(of reflect.Type, key string) (string, reflect.Type) {
	for _, field := range reflect.VisibleFields(of) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous && name == "" || !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		if strings.EqualFold(name, key) {
			return name, field.Type
		}
	}
	return "", nil
}
