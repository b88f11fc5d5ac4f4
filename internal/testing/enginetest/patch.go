package enginetest

import (
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/muster-deploy/muster/internal/builtin"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// patched returns the live object with the patch of a write: a JSON patch, a strategic merge patch
// or a JSON merge patch.
func patched(live *unstructured.Unstructured, w cluster.Write) (*unstructured.Unstructured, error) {
	switch w.PatchType {
	case types.StrategicMergePatchType:
		return mergedStrategically(live, w.Patch)
	case types.JSONPatchType:
		if w.UID != "" || w.Version != "" {
			return nil, fmt.Errorf("a JSON patch has no preconditions: %s", w.Patch)
		}
		return patchedJSON(live, func(before []byte) ([]byte, error) {
			patch, err := jsonpatch.DecodePatch(w.Patch)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			after, err := patch.Apply(before)
			if err != nil {
				return nil, unprocessable(live, err)
			}
			return after, nil
		})
	case types.MergePatchType:
		return patchedJSON(live, func(before []byte) ([]byte, error) {
			return jsonpatch.MergePatch(before, w.Patch)
		})
	default:
		return nil, fmt.Errorf("the patch type %q is not known", w.PatchType)
	}
}

// mergedStrategically returns an object of a built-in kind with a strategic merge patch.
func mergedStrategically(
	live *unstructured.Unstructured, patch []byte,
) (*unstructured.Unstructured, error) {
	meta, ok := builtin.PatchMeta(live.GroupVersionKind())
	if !ok {
		return nil, apierrors.NewGenericServerResponse(415, "patch", resourceOf(object.RefOf(live)),
			live.GetName(), "the kind has no strategic merge patches", 0, false)
	}
	fields := map[string]any{}
	if err := utiljson.Unmarshal(patch, &fields); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	merged, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(
		live.DeepCopy().Object, fields, meta,
	)
	return &unstructured.Unstructured{Object: merged}, err
}

// patchedJSON returns an object whose JSON a function has changed.
func patchedJSON(
	live *unstructured.Unstructured, change func([]byte) ([]byte, error),
) (*unstructured.Unstructured, error) {
	before, err := live.MarshalJSON()
	if err != nil {
		return nil, err
	}
	after, err := change(before)
	if err != nil {
		return nil, err
	}
	next := &unstructured.Unstructured{}
	return next, next.UnmarshalJSON(after)
}

// unprocessable returns the error for a JSON patch that does not fit the object.
func unprocessable(obj *unstructured.Unstructured, cause error) error {
	err := apierrors.NewInvalid(obj.GroupVersionKind().GroupKind(), obj.GetName(), nil)
	err.ErrStatus.Message, err.ErrStatus.Details = cause.Error(), &metav1.StatusDetails{}
	return err
}
