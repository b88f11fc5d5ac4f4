package laws

import (
	_ "embed"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

//go:embed kinds.yaml
var kindsText string

//go:embed feature.yaml
var featureText []byte

// Kind is a kind of objects: the one that generated ones begin with, and its pinned fields.
type Kind struct {
	Object *unstructured.Unstructured
	Pinned []Path
}

// Kinds returns the kinds of which objects are generated, for a namespace.
func Kinds(namespace string) ([]Kind, error) {
	var read []struct {
		Object map[string]any
		Pin    []string
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
