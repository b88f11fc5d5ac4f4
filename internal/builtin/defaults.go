package builtin

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

//go:embed defaults.yaml
var defaultsText []byte

// defaults are the values that an API server sets, as rules for each kind ("apps/v1 Deployment"),
// and for shapes that several kinds have in common.
type defaults struct {
	Kinds  map[string][]*rule `json:"kinds"`
	Shapes map[string][]*rule `json:"shapes"`
}

// rule sets fields of the maps at one place. The rules of a list are applied in order, so that a
// later one may descend into the values of an earlier one.
type rule struct {
	// At is the path: names separated by dots, * for each item of a list, a|b for either. Empty is
	// the map itself.
	At    string            `json:"at"`
	When  map[string]any    `json:"when"`  // fields that have these values, or one of a list of values
	Lacks []string          `json:"lacks"` // fields without a value
	Like  map[string]string `json:"like"`  // fields whose text matches these expressions

	Set  map[string]any    `json:"set"`  // values of fields without one
	Zero map[string]any    `json:"zero"` // the same of fields for which zero is no value
	Copy map[string]string `json:"copy"` // the same, copied from the second field
	Use  string            `json:"use"`  // a shape whose rules apply

	path []string
	like map[string]*regexp.Regexp
}

// SetDefaults sets the values, in place, that an API server sets in an object of its kind.
func SetDefaults(object map[string]any) {
	d := embeddedDefaults()
	d.fill(d.Kinds[fmt.Sprint(object["apiVersion"], " ", object["kind"])], object)
}

// embeddedDefaults returns the embedded defaults. A test makes sure that they can be read.
var embeddedDefaults = sync.OnceValue(func() *defaults {
	d, err := readDefaults(defaultsText)
	if err != nil {
		panic(err)
	}
	return d
})

// readDefaults reads rules, with integers as int64, and checks their shapes and expressions.
func readDefaults(text []byte) (*defaults, error) {
	data, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, fmt.Errorf("defaults: %w", err)
	}
	d := &defaults{}
	if err := utiljson.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("defaults: %w", err)
	}
	for _, lists := range []map[string][]*rule{d.Kinds, d.Shapes} {
		for name, rules := range lists {
			for _, r := range rules {
				if err := r.prepare(d); err != nil {
					return nil, fmt.Errorf("defaults of %s: %w", name, err)
				}
			}
		}
	}
	return d, nil
}

func (r *rule) prepare(d *defaults) error {
	if r.At != "" {
		r.path = strings.Split(r.At, ".")
	}
	if r.Use != "" && d.Shapes[r.Use] == nil {
		return fmt.Errorf("there is no shape %q", r.Use)
	}
	r.like = map[string]*regexp.Regexp{}
	for name, text := range r.Like {
		expression, err := regexp.Compile(text)
		if err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
		r.like[name] = expression
	}
	return nil
}

func (d *defaults) fill(rules []*rule, fields map[string]any) {
	for _, r := range rules {
		d.descend(r, r.path, fields)
	}
}

func (d *defaults) descend(r *rule, path []string, value any) {
	if len(path) == 0 {
		if fields, ok := value.(map[string]any); ok && r.holds(fields) {
			r.fill(fields)
			d.fill(d.Shapes[r.Use], fields)
		}
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for name := range strings.SplitSeq(path[0], "|") {
			d.descend(r, path[1:], value[name])
		}
	case []any:
		for _, item := range value {
			d.descend(r, path[1:], item)
		}
	}
}

// fill sets the fields without a value. An empty text counts as none and, where a field is copied,
// so does zero.
func (r *rule) fill(fields map[string]any) {
	for name, value := range r.Set {
		if fields[name] == nil || fields[name] == "" {
			fields[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	for name, value := range r.Zero {
		if fields[name] == nil || fields[name] == int64(0) {
			fields[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	for name, from := range r.Copy {
		value := fields[from]
		if value != nil && (fields[name] == nil || fields[name] == "" || fields[name] == int64(0)) {
			fields[name] = runtime.DeepCopyJSONValue(value)
		}
	}
}

// holds reports whether the conditions of a rule are met.
func (r *rule) holds(fields map[string]any) bool {
	for name, want := range r.When {
		if choice, ok := want.([]any); ok && !slices.Contains(choice, fields[name]) ||
			!ok && fields[name] != want {
			return false
		}
	}
	for _, name := range r.Lacks {
		if fields[name] != nil {
			return false
		}
	}
	for name, expression := range r.like {
		if text, ok := fields[name].(string); !ok || !expression.MatchString(text) {
			return false
		}
	}
	return true
}
