package change

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ApplyConfiguration gives what a server is asked to merge into the live object of an update: what is described, as the rules of the
// configuration make it, without what they only took over from the live object. It must not be changed.
func (c *Change) ApplyConfiguration() (*unstructured.Unstructured, error) {
	live := bare(c.Existing)
	rebased, err := c.set.conf.Rebase(live, c.New)
	if err != nil {
		return nil, err
	}
	fields := own(rebased.Object, c.New.Object, live.Object)
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	declared := &unstructured.Unstructured{Object: fields}
	forget(declared)
	return declared, nil
}

// own leaves out of the fields of an object those that are not described and are as the live object has them.
func own(fields, described, live map[string]any) map[string]any {
	out := make(map[string]any, len(described))
	for key, value := range fields {
		was, isDescribed := described[key]
		is, isLive := live[key]
		inner, isMap := value.(map[string]any)
		wasMap, _ := was.(map[string]any)
		isLiveMap, _ := is.(map[string]any)
		switch {
		case !isDescribed && isLive && equal(value, is):
		case isMap && (wasMap != nil || !isDescribed && isLiveMap != nil):
			out[key] = own(inner, wasMap, isLiveMap)
		default:
			out[key] = value
		}
	}
	return out
}
