package diff

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/base/jsonvalue"
	"github.com/muster-deploy/muster/internal/builtin"
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
// merge for built-in kinds, else a JSON merge. Three things differ: numbers keep every digit, a
// list whose items the merge cannot distinguish is merged by more keys, and if the server would
// probably store what it has, ThreeWay returns the zero Patch and live itself. The server may still
// default and mutate the result.
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
	in, merge := sidesOf(recorded, want, known), mergeFor(want)
	patch, how, result, err := merge.between(live, in)
	if err != nil {
		return Patch{}, nil, merge.locate(live, in, err)
	}
	if len(patch) == 0 {
		return Patch{}, live, nil
	}
	foldStringData(result)
	if known == live && storedAlike(result.Object, live.Object) {
		return Patch{}, live, nil
	}
	data, err := json.Marshal(patch)
	if err != nil {
		return Patch{}, nil, fmt.Errorf("build patch: %w", err)
	}
	return Patch{Type: how, Data: data}, result, nil
}

// storedAlike reports whether a server stores two objects of one kind alike, as far as known.
func storedAlike(a, b map[string]any) bool {
	if jsonvalue.Equal(a, b) {
		return true
	}
	a, isBuiltin := builtin.Stored(a)
	if !isBuiltin {
		return false
	}
	b, isBuiltin = builtin.Stored(b)
	return isBuiltin && jsonvalue.Equal(a, b)
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

// ImmutableChanges returns the fields, sorted and in the form spec.template, that differ between
// two objects of a built-in kind and that an update cannot change, as far as known.
func ImmutableChanges(live, want *unstructured.Unstructured) []string {
	return builtin.ImmutableChanges(live.Object, want.Object)
}
