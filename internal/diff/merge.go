package diff

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// Patch is a change to send to the server: a strategic merge patch, a JSON merge patch or a JSON
// patch. A patch without data means that there is nothing to send. The patch of a Secret contains
// its values.
type Patch struct {
	Type types.PatchType `json:"type,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// ThreeWay returns the patch that brings live to want, and the object that results. It deletes the
// fields that recorded (the last applied configuration, nil if unknown) had and want lacks. Fields
// in neither stay; null in want deletes a field. It decides as kubectl apply does: a strategic
// merge for built-in kinds, else a JSON merge. Two things differ: it sends no lists that would only
// undo defaults in their items, and if the patch would change nothing, it returns the zero Patch
// and live itself. The server may still default and mutate the result.
//
// If live could only be read in another version than want's, their fields cannot be compared: the
// patch is all of want. ThreeWay returns an error if the group, kind or name of live and want
// differ, which no patch can change.
func ThreeWay(
	recorded, want, live *unstructured.Unstructured,
) (Patch, *unstructured.Unstructured, error) {
	if want == nil || live == nil {
		return Patch{}, nil, errors.New("build patch: both the wanted and the live object are needed")
	}
	if err := sameObject(want, live); err != nil {
		return Patch{}, nil, fmt.Errorf("build patch: %w", err)
	}
	known := live // without fields of another version
	if live.GetAPIVersion() != want.GetAPIVersion() {
		known = &unstructured.Unstructured{Object: map[string]any{}}
		live = live.DeepCopy()
		live.SetAPIVersion(want.GetAPIVersion())
	}
	in, err := encode(recorded, want, known)
	if err != nil {
		return Patch{}, nil, fmt.Errorf("build patch: %w", err)
	}
	merge := mergeFor(want)
	data, err := merge.create(in)
	if err != nil {
		return Patch{}, nil, fmt.Errorf("build patch: %w", err)
	}
	if data, err = dropDefaulted(data, recorded, want, known); err != nil {
		return Patch{}, nil, fmt.Errorf("build patch: %w", err)
	}
	if string(data) == "{}" {
		return Patch{}, live, nil
	}
	result, err := merge.apply(live, data)
	if err != nil {
		return Patch{}, nil, fmt.Errorf("apply patch to the live object: %w", err)
	}
	foldStringData(result)
	if known == live && jsonvalue.Equal(result.Object, live.Object) {
		return Patch{}, live, nil
	}
	return Patch{Type: merge.patchType(), Data: data}, result, nil
}

// sameObject returns an error if want and live differ in a field that no patch can change.
func sameObject(want, live *unstructured.Unstructured) error {
	for _, field := range []struct{ name, want, live string }{
		{"group", want.GroupVersionKind().Group, live.GroupVersionKind().Group},
		{"kind", want.GetKind(), live.GetKind()},
		{"metadata.name", want.GetName(), live.GetName()},
	} {
		if field.want != field.live {
			return fmt.Errorf(
				"%s of an object cannot change: it is %q in the cluster and %q in the manifest",
				field.name,
				field.live,
				field.want,
			)
		}
	}
	return nil
}
