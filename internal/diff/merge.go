package diff

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/diff/jsonvalue"
)

// Patch is what is sent to the server to change an object: a strategic merge patch or a JSON merge patch. The zero value, and any
// without data, means that there is nothing to send. The patch of a Secret contains what Mask hides elsewhere.
type Patch struct {
	Type types.PatchType `json:"type,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// ThreeWay gives the patch that brings live to want, deleting what recorded (the object as it was applied last, nil if unknown)
// had and want has no longer, and the object that results. Fields that are in neither stay as they are in live, and null in want
// deletes a field. It decides as kubectl apply does: a strategic merge for the kinds of Kubernetes itself, else a JSON merge; only
// that lists are not sent to undo the defaults in their items, and that a patch that would change nothing is the zero Patch,
// with live itself as the result. The result is what the patch makes
// of live here; the server may still default and mutate it.
//
// Where live could only be read in another version than that of want, the fields of the two cannot be compared: all of want is
// sent, in its version. It is an error if group, kind or name of live and want differ, since no patch can change them.
func ThreeWay(recorded, want, live *unstructured.Unstructured) (Patch, *unstructured.Unstructured, error) {
	if want == nil || live == nil {
		return Patch{}, nil, errors.New("build patch: both the wanted and the live object are needed")
	}
	if err := sameObject(want, live); err != nil {
		return Patch{}, nil, fmt.Errorf("build patch: %w", err)
	}
	known := live // as far as it can be compared
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

// sameObject checks what a patch cannot change.
func sameObject(want, live *unstructured.Unstructured) error {
	for _, field := range []struct{ name, want, live string }{
		{"group", want.GroupVersionKind().Group, live.GroupVersionKind().Group},
		{"kind", want.GetKind(), live.GetKind()},
		{"metadata.name", want.GetName(), live.GetName()},
	} {
		if field.want != field.live {
			return fmt.Errorf("%s of an object cannot change: it is %q in the cluster and %q in the manifest",
				field.name, field.live, field.want)
		}
	}
	return nil
}
