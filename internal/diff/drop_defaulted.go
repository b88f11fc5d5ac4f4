package diff

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// dropDefaulted removes lists from a patch that would only undo defaults. An atomic list differs
// from the live one as soon as the server has set defaults in its items. It need not be sent if the
// wanted list equals the recorded one and the live list covers it. So defaulted fields stay inside
// lists just like inside maps.
func dropDefaulted(data []byte, recorded, want, live *unstructured.Unstructured) ([]byte, error) {
	if recorded == nil {
		return data, nil
	}
	var patch map[string]any
	if err := json.Unmarshal(data, &patch); err != nil {
		return nil, fmt.Errorf("read the patch: %w", err)
	}
	if !dropLists(patch, recorded.Object, want.Object, live.Object) {
		return data, nil
	}
	return json.Marshal(patch)
}

// dropLists removes such lists below the maps of one level and reports whether it removed any.
func dropLists(patch, recorded, want, live map[string]any) bool {
	dropped := false
	for key, value := range patch {
		switch value := value.(type) {
		case map[string]any:
			r, _ := recorded[key].(map[string]any)
			w, _ := want[key].(map[string]any)
			l, _ := live[key].(map[string]any)
			if dropLists(value, r, w, l) {
				dropped = true
				if len(value) == 0 {
					delete(patch, key)
				}
			}
		case []any:
			unchanged := jsonvalue.Equal(value, want[key]) && jsonvalue.Equal(recorded[key], want[key])
			if unchanged && covers(live[key], value) {
				delete(patch, key)
				dropped = true
			}
		}
	}
	return dropped
}

// covers reports whether a live value has everything wanted: the same scalars, all keys of maps,
// and for lists as many items in the same order. No value covers an empty list or map.
func covers(live, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		l, ok := live.(map[string]any)
		if !ok && (live != nil || len(want) > 0) {
			return false
		}
		for key, value := range want {
			if !covers(l[key], value) {
				return false
			}
		}
		return true
	case []any:
		l, ok := live.([]any)
		if !ok && live != nil || len(l) != len(want) {
			return false
		}
		for i := range want {
			if !covers(l[i], want[i]) {
				return false
			}
		}
		return true
	default:
		return jsonvalue.Equal(live, want)
	}
}
