package preflight

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// fields are the fields of a schema by their paths: ^.spec.ports[*].name; ^ is the object.
type fields map[string]map[string]any

// fieldsOf returns the fields of a version. Parts of a schema without a path of their own, such as
// alternatives, stand for the field whose value they describe: the last one counts, as in kapp.
func fieldsOf(schema map[string]any) fields {
	f := fields{}
	f.add("^", schema)
	return f
}

func (f fields) add(path string, value any) {
	schema, ok := value.(map[string]any)
	if !ok {
		return
	}
	f[path] = schema
	f.add(path+"[*]", schema["items"])
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		alternatives, _ := schema[key].([]any)
		for _, alternative := range alternatives {
			f.add(path, alternative)
		}
	}
	f.add(path, schema["not"])
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		f.add(path+"."+name, properties[name])
	}
	f.add(path+"[*]", schema["additionalProperties"])
}

// missingIn returns the paths of fields that are not in others, sorted.
func (f fields) missingIn(others fields) []string {
	var missing []string
	for _, path := range slices.Sorted(maps.Keys(f)) {
		if _, ok := others[path]; !ok {
			missing = append(missing, path)
		}
	}
	return missing
}

// eachVersion calls visit with the fields of each version that both definitions have, in the order
// of the first one.
func eachVersion(first, second definition, visit func(name string, first, second fields)) {
	for _, version := range first.Spec.Versions {
		for _, other := range second.Spec.Versions {
			if other.Name == version.Name {
				visit(version.Name, fieldsOf(version.Schema.Properties), fieldsOf(other.Schema.Properties))
				break
			}
		}
	}
}

// removedFields returns an error for each field that the new definition lacks.
func removedFields(name string, before, after definition) error {
	var errs []error
	eachVersion(after, before, func(version string, after, before fields) {
		for _, path := range before.missingIn(after) {
			errs = append(errs,
				fmt.Errorf("crd/%s version/%s field/%s may not be removed", name, version, path))
		}
	})
	return errors.Join(errs...)
}

// changedFields returns an error for each change of a field that may invalidate existing objects or
// that is not known to be safe.
func changedFields(before, after definition) error {
	var errs []error
	eachVersion(before, after, func(version string, before, after fields) {
		if len(before.missingIn(after)) > 0 {
			errs = append(errs, fmt.Errorf("calculating schema diff for CRD version %q", version))
			return
		}
		for _, path := range slices.Sorted(maps.Keys(before)) {
			problems, known := compareField(plainField(before[path]), plainField(after[path]))
			for _, problem := range problems {
				errs = append(errs, fmt.Errorf("version %q, field %q: %s", version, path, problem))
			}
			if !known {
				errs = append(errs, fmt.Errorf("version %q, field %q has unknown change, refusing to "+
					"determine that change is safe", version, path))
			}
		}
	})
	return errors.Join(errs...)
}

// plainField returns a copy of a field without its properties, which are fields themselves, and
// without values that mean the same as none. Values that need not be whole are floats.
func plainField(field map[string]any) map[string]any {
	plain := maps.Clone(field)
	delete(plain, "properties")
	for key, value := range plain {
		switch key {
		case "default", "example", "additionalProperties", "x-kubernetes-preserve-unknown-fields":
			if value == nil {
				delete(plain, key)
			}
			continue // false and empty are meant
		case "minimum", "maximum":
			if number, ok := number(value); ok {
				plain[key] = number
			}
		}
		if value == nil || value == false || value == "" {
			delete(plain, key)
		}
	}
	return plain
}

// limits are the limits of values, with their names in messages, in kapp's order.
var limits = []struct {
	key, name string
	least     bool // otherwise the largest allowed value
}{
	{"maximum", "maximum", false},
	{"maxItems", "maximum items", false},
	{"maxLength", "maximum length", false},
	{"maxProperties", "maximum properties", false},
	{"minimum", "minimum", true},
	{"minItems", "minimum items", true},
	{"minLength", "minimum length", true},
	{"minProperties", "minimum properties", true},
}

// compareField returns the problems with the changes of a field, and whether all changes are known.
// It removes from the fields what it compares.
func compareField(before, after map[string]any) (problems []string, known bool) {
	add := func(problem string) {
		if problem != "" {
			problems = append(problems, problem)
		}
	}
	add(compareEnum(before["enum"], after["enum"]))
	add(compareRequired(before["required"], after["required"]))
	judged := []string{"enum", "required", "default"}
	for _, limit := range limits {
		add(compareLimit(limit.name, limit.least, before[limit.key], after[limit.key]))
		judged = append(judged, limit.key)
	}
	was, had := before["default"]
	is, has := after["default"]
	switch {
	case !had && has:
		add(fmt.Sprintf("new value added as default when previously no default value existed: "+
			"&JSON{Raw:*%v,}", encode(is)))
	case had && !has:
		add(fmt.Sprintf("default value has been removed when previously a default value existed: %v",
			encode(was)))
	case !jsonvalue.Equal(was, is):
		add(fmt.Sprintf("default value has been changed from %v to %v", encode(was), encode(is)))
	}
	for _, key := range judged {
		delete(before, key)
		delete(after, key)
	}
	return problems, jsonvalue.Equal(before, after)
}

func compareEnum(before, after any) string {
	had, has := texts(before, jsonText), texts(after, jsonText)
	if len(had) == 0 && len(has) > 0 {
		return "enums added when there were no enum restrictions previously"
	}
	if removed := without(had, has); len(removed) > 0 {
		return fmt.Sprintf("enum values removed: %v", removed)
	}
	return ""
}

func compareRequired(before, after any) string {
	had, has := texts(before, fmt.Sprint), texts(after, fmt.Sprint)
	if len(had) == 0 && len(has) > 0 {
		return fmt.Sprintf("new values added as required when previously no required fields existed: %v",
			has)
	}
	if added := without(has, had); len(added) > 0 {
		return fmt.Sprintf("new required fields added: %v", added)
	}
	return ""
}

func compareLimit(name string, least bool, before, after any) string {
	was, had := number(before)
	is, has := number(after)
	switch {
	case has && !had:
		return fmt.Sprintf("%s constraint added when one did not exist previously: %v", name, after)
	case has && least && was < is:
		return fmt.Sprintf("%s constraint increased from %v to %v", name, before, after)
	case has && !least && is < was:
		return fmt.Sprintf("%s constraint decreased from %v to %v", name, before, after)
	}
	return ""
}

func number(value any) (float64, bool) {
	switch value := value.(type) {
	case int64:
		return float64(value), true
	case float64:
		return value, true
	}
	return 0, false
}

// texts returns the texts of the items of a list.
func texts(list any, text func(...any) string) []string {
	var all []string
	items, _ := list.([]any)
	for _, item := range items {
		all = append(all, text(item))
	}
	return all
}

// without returns the sorted texts that are not among others, each once.
func without(all, others []string) []string {
	var left []string
	for _, text := range all {
		if !slices.Contains(others, text) {
			left = append(left, text)
		}
	}
	slices.Sort(left)
	return slices.Compact(left)
}

func jsonText(values ...any) string { return string(encode(values[0])) }

// encode returns a value of a manifest as JSON.
func encode(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		return []byte(err.Error()) // manifests hold only what JSON can hold
	}
	return text
}
