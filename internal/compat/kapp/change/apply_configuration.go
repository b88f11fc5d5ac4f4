package change

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// ApplyConfiguration returns the object that a server merges into the live object of an update: the
// described one after the rules of the configuration, without the fields that these only took over
// from the live object. It must not be changed.
func (c *Change) ApplyConfiguration() (*unstructured.Unstructured, error) {
	live := withoutRecord(c.Existing)
	rebased, err := c.calc.conf.Rebase(live, c.New)
	if err != nil {
		return nil, err
	}
	fields := declaredFields(rebased.Object, c.New.Object, live.Object)
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	declared := &unstructured.Unstructured{Object: fields}
	removeRecord(declared)
	return declared, nil
}

// declaredFields returns the fields of an object without those that are not described and equal the
// live ones.
func declaredFields(fields, described, live map[string]any) map[string]any {
	out := make(map[string]any, len(described))
	for key, value := range fields {
		was, isDescribed := described[key]
		is, isLive := live[key]
		inner, isMap := value.(map[string]any)
		wasMap, _ := was.(map[string]any)
		isLiveMap, _ := is.(map[string]any)
		switch {
		case !isDescribed && isLive && jsonvalue.Equal(value, is):
		case isMap && (wasMap != nil || !isDescribed && isLiveMap != nil):
			out[key] = declaredFields(inner, wasMap, isLiveMap)
		default:
			out[key] = value
		}
	}
	return out
}
