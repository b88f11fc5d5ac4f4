package diff

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/muster-deploy/muster/internal/builtin"
)

// merge creates and applies patches: strategic ones if it has the metadata of a type, else JSON
// merge patches.
type merge struct {
	meta strategicpatch.LookupPatchMeta
}

// mergeFor returns the strategic merge for built-in kinds, and the JSON merge for others.
func mergeFor(obj *unstructured.Unstructured) merge {
	if meta, ok := builtin.PatchMeta(obj.GroupVersionKind()); ok {
		return merge{meta}
	}
	return merge{}
}

func (m merge) patchType() types.PatchType {
	if m.meta == nil {
		return types.MergePatchType
	}
	return types.StrategicMergePatchType
}

func (m merge) create(in jsonSides) (patch []byte, err error) {
	defer recoverError(&err)
	if m.meta == nil {
		return jsonmergepatch.CreateThreeWayJSONMergePatch(in.recorded, in.want, in.live)
	}
	patch, err = strategicpatch.CreateThreeWayMergePatch(in.recorded, in.want, in.live, m.meta, true)
	return patch, withoutValues(err)
}

func (m merge) apply(
	live *unstructured.Unstructured, patch []byte,
) (result *unstructured.Unstructured, err error) {
	defer recoverError(&err)
	if m.meta == nil {
		return applyJSON(live, patch)
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(patch, &fields); err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(
		live.DeepCopy().Object, fields, m.meta,
	)
	if err != nil {
		return nil, withoutValues(err)
	}
	return &unstructured.Unstructured{Object: merged}, nil
}

// keyless matches the library's error for a list item that lacks the merge key of the list.
var keyless = regexp.MustCompile(`(?s)^map: map\[.*\] does not contain declared merge key: (\S+)$`)

// withoutValues removes from an error of the library the parts of objects that it prints: they may
// be secret, and nobody can read them.
func withoutValues(err error) error {
	if err == nil {
		return nil
	}
	if found := keyless.FindStringSubmatch(err.Error()); found != nil {
		return fmt.Errorf("a list item has no %s, the key by which the list is merged", found[1])
	}
	if strings.Contains(err.Error(), "map[") {
		return errors.New("the manifest cannot be merged with the live object")
	}
	return err
}

// recoverError turns a panic into an error. The library compares the keys of list items without
// checking their types, and a manifest may have a map or a list there.
func recoverError(err *error) {
	if cause := recover(); cause != nil {
		*err = fmt.Errorf("the object is malformed: %v", cause)
	}
}

func applyJSON(live *unstructured.Unstructured, patch []byte) (*unstructured.Unstructured, error) {
	before, err := json.Marshal(live.Object)
	if err != nil {
		return nil, err
	}
	after, err := jsonpatch.MergePatch(before, patch)
	if err != nil {
		return nil, err
	}
	merged := &unstructured.Unstructured{}
	return merged, utiljson.Unmarshal(after, &merged.Object)
}

// jsonSides are the three sides of a merge as JSON; recorded is empty if unknown.
type jsonSides struct{ recorded, want, live []byte }

// encode omits status and managedFields of live unless want has them: a merge never deletes fields
// that only live has.
func encode(recorded, want, live *unstructured.Unstructured) (out jsonSides, err error) {
	if recorded != nil {
		if out.recorded, err = json.Marshal(withoutCreation(recorded.Object)); err != nil {
			return out, err
		}
	}
	if out.want, err = json.Marshal(withoutCreation(want.Object)); err != nil {
		return out, err
	}
	fields := live.Object
	if want.Object["status"] == nil {
		fields = without(fields, "status")
	}
	metadata := fieldsOf(fields, "metadata")
	if fieldsOf(want.Object, "metadata")["managedFields"] == nil &&
		metadata != nil {
		fields = without(fields, "metadata")
		fields["metadata"] = without(metadata, "managedFields")
	}
	out.live, err = json.Marshal(fields)
	return out, err
}

// withoutCreation omits a null creationTimestamp, as in many generated manifests: the server never
// deletes its own.
func withoutCreation(fields map[string]any) map[string]any {
	metadata := fieldsOf(fields, "metadata")
	if value, ok := metadata["creationTimestamp"]; !ok || value != nil {
		return fields
	}
	fields = without(fields, "metadata")
	fields["metadata"] = without(metadata, "creationTimestamp")
	return fields
}
