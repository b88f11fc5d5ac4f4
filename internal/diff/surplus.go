package diff

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// surplus returns the fields of a live object that a server refuses beside those of a desired one,
// in maps that would have too many fields: other members of unions of custom resources. A map with
// several such fields is left out: it is not known which of them can stay.
func (s sides) surplus(tooMany []string) (paths []fieldpath.Path) {
	for _, name := range tooMany {
		at, path := s, fieldpath.Path{}
		for field := range strings.SplitSeq(name, ".") {
			at = sides{fieldsOf(at.recorded, field), fieldsOf(at.want, field), fieldsOf(at.live, field)}
			path = below(path, fieldpath.PathElement{FieldName: &field})
		}
		var found []string
		for key := range at.live {
			_, wanted := at.want[key]
			_, applied := at.recorded[key]
			if !wanted && !applied {
				found = append(found, key)
			}
		}
		if len(at.want) > 0 && len(found) == 1 {
			paths = append(paths, below(path, fieldpath.PathElement{FieldName: &found[0]}))
		}
	}
	return paths
}

// WithSurplus returns what was applied last, which may be nil, with the fields of a live object
// that a server refuses beside those of a desired one, so that a merge removes them. The server has
// said which maps would have too many fields.
func WithSurplus(
	applied, want, live *unstructured.Unstructured, tooMany []string,
) *unstructured.Unstructured {
	in := sidesOf(applied, want, live)
	paths := in.surplus(tooMany)
	if len(paths) == 0 {
		return applied
	}
	return &unstructured.Unstructured{Object: in.recording(paths).recorded}
}
