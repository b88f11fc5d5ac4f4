package diff

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
)

// differing returns the sides without the fields that a strategic patch would not have, since the
// live object has the wanted values. To compare fields takes less time than to encode them.
func (s sides) differing(meta strategicpatch.LookupPatchMeta) sides {
	rest := sides{map[string]any{}, map[string]any{}, map[string]any{}}
	for key, recorded := range s.recorded {
		if _, isWanted := s.want[key]; !isWanted {
			rest.recorded[key] = recorded
		}
	}
	for key, want := range s.want {
		recorded, isRecorded := s.recorded[key]
		live, isLive := s.live[key]
		below, differs := s.differingAt(key, meta)
		switch {
		case !differs:
			continue
		case below != nil:
			recorded, want, live = below.recorded, below.want, below.live
		}
		rest.want[key] = want
		if isRecorded {
			rest.recorded[key] = recorded
		}
		if isLive {
			rest.live[key] = live
		}
	}
	return rest
}

// differingAt reports whether a strategic patch may have a wanted field. Below are the differing
// sides of a map; nil for other values, and for maps that the patch may have although they are the
// same.
func (s sides) differingAt(
	key string, meta strategicpatch.LookupPatchMeta,
) (below *sides, differs bool) {
	live, isLive := s.live[key]
	if !isLive {
		return nil, true
	}
	want := s.want[key]
	if _, isMap := want.(map[string]any); isMap {
		inner, how, err := meta.LookupPatchMetadataForStruct(key)
		_, isMap = live.(map[string]any)
		switch {
		case err != nil: // of an unknown field, unless it is the same
		case strings.Join(how.GetPatchStrategies(), "") != "" || !isMap:
			return nil, true
		default:
			rest := s.field(key).differing(inner)
			return &rest, len(rest.want)+len(rest.recorded) > 0
		}
	}
	recorded, isRecorded := s.recorded[key]
	same := jsonvalue.Equal(want, live) && (!isRecorded || jsonvalue.Equal(want, recorded))
	return nil, !same
}
