package laws

import (
	_ "embed"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed kinds.yaml
var kindsText string

//go:embed feature.yaml
var featureText []byte

// Kind is a kind of objects: the one that generated ones begin with, and which of its fields are
// generated and changed: all but the pinned ones or, if there are some, the free ones only.
type Kind struct {
	Object *unstructured.Unstructured
	Pinned []Path
	Free   []Path
	// Focus are changes of which most are made, if they are possible: of unions, and of lists that
	// have a key more than once.
	Focus []Focus
}

// Focus are changes of one kind, or all if it is empty, of values below a path.
type Focus struct {
	Kind string // as that of an Edit
	Path Path
}

// Kinds returns the kinds of which objects are generated, for a namespace.
func Kinds(namespace string) ([]Kind, error) {
	var read []struct {
		Object map[string]any
		Pin    []string
		Only   []string
		Focus  []string
	}
	text := strings.ReplaceAll(kindsText, "${NS}", namespace)
	if err := yaml.Unmarshal([]byte(text), &read); err != nil {
		return nil, err
	}
	var kinds []Kind
	for _, k := range read {
		kind := Kind{Object: &unstructured.Unstructured{Object: integers(k.Object).(map[string]any)}}
		for _, text := range k.Pin {
			kind.Pinned = append(kind.Pinned, ParsePath(text))
		}
		for _, text := range k.Only {
			kind.Free = append(kind.Free, ParsePath(text))
		}
		for _, text := range k.Focus {
			change, path, found := strings.Cut(text, " ")
			if !found {
				change, path = "", text
			}
			kind.Focus = append(kind.Focus, Focus{change, ParsePath(path)})
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// Feature returns the definition of the kind that has every feature of schemas.
func Feature() (*unstructured.Unstructured, error) {
	obj := map[string]any{}
	err := yaml.Unmarshal(featureText, &obj)
	return &unstructured.Unstructured{Object: integers(obj).(map[string]any)}, err
}

// integers returns a value of YAML with integers where it has floating point numbers without a
// fraction, as the values of objects are.
func integers(value any) any {
	switch at := value.(type) {
	case map[string]any:
		for name, field := range at {
			at[name] = integers(field)
		}
	case []any:
		for i, item := range at {
			at[i] = integers(item)
		}
	case float64:
		if at == float64(int64(at)) {
			return int64(at)
		}
	}
	return value
}

// isFree reports whether a value may be changed: it is in a free field, or no field is.
func (k Kind) isFree(path Path) bool {
	return len(k.Free) == 0 || slices.ContainsFunc(k.Free, path.Begins)
}

// order returns 0 for a value in a focus, else 1.
func (k Kind) order(path Path) int {
	if slices.ContainsFunc(k.Focus, func(f Focus) bool { return path.Begins(f.Path) }) {
		return 0
	}
	return 1
}
