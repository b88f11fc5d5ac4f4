package diff

import (
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// MergePatch returns the JSON merge patch (RFC 7386) that makes a live object the same as another
// one, except for managed fields; zero if they are the same.
func MergePatch(live, want *unstructured.Unstructured) (Patch, error) {
	have, becomes := live.DeepCopy(), want.DeepCopy()
	have.SetManagedFields(nil)
	becomes.SetManagedFields(nil)
	fields := mergePatch(have.Object, becomes.Object, have.Object)
	if len(fields) == 0 {
		return Patch{}, nil
	}
	data, err := json.Marshal(fields)
	return Patch{Type: types.MergePatchType, Data: data}, err
}

// Merged returns an object after a JSON merge patch; it shares values with the object.
func (p Patch) Merged(obj *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	fields := map[string]any{}
	if err := utiljson.Unmarshal(p.Data, &fields); err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: applyMergePatch(obj.Object, fields)}, nil
}

// mergePatch returns the JSON merge patch (RFC 7386) that brings live to want and deletes what
// recorded has and want lacks. It shares values with want. Whole numbers stay what they are: the
// library would turn them into floating-point numbers, which have no more than 53 bits.
func mergePatch(recorded, want, live map[string]any) map[string]any {
	patch := map[string]any{}
	for key, value := range want {
		wanted, isMap := value.(map[string]any)
		below, isLiveMap := live[key].(map[string]any)
		switch {
		case isMap && (isLiveMap || live[key] == nil):
			inner := mergePatch(fieldsOf(recorded, key), wanted, below)
			if len(inner) > 0 || !isLiveMap {
				patch[key] = inner
			}
		case !jsonvalue.Equal(value, live[key]):
			patch[key] = value
		}
	}
	for key := range recorded {
		if _, ok := want[key]; !ok {
			patch[key] = nil
		}
	}
	return patch
}

// applyMergePatch returns the fields after a JSON merge patch. It shares values with both.
func applyMergePatch(fields, patch map[string]any) map[string]any {
	out := maps.Clone(fields)
	if out == nil {
		out = map[string]any{}
	}
	for key, value := range patch {
		switch value := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			out[key] = applyMergePatch(fieldsOf(out, key), value)
		default:
			out[key] = value
		}
	}
	return out
}
