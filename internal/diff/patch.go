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

// merge makes and applies patches: strategic ones if it has the metadata of a type, else JSON merge patches.
type merge struct {
	meta strategicpatch.LookupPatchMeta
}

// mergeFor chooses the strategic merge for the built-in kinds.
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

func (m merge) create(in encoded) (patch []byte, err error) {
	defer recovered(&err)
	if m.meta == nil {
		return jsonmergepatch.CreateThreeWayJSONMergePatch(in.recorded, in.want, in.live)
	}
	patch, err = strategicpatch.CreateThreeWayMergePatch(in.recorded, in.want, in.live, m.meta, true)
	return patch, unquoted(err)
}

func (m merge) apply(live *unstructured.Unstructured, patch []byte) (result *unstructured.Unstructured, err error) {
	defer recovered(&err)
	if m.meta == nil {
		return applyJSON(live, patch)
	}
	var fields map[string]any
	if err := utiljson.Unmarshal(patch, &fields); err != nil {
		return nil, err
	}
	merged, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(live.DeepCopy().Object, fields, m.meta)
	if err != nil {
		return nil, unquoted(err)
	}
	return &unstructured.Unstructured{Object: merged}, nil
}

// keyless is what the library says of an item of a list that lacks the key by which the list is merged.
var keyless = regexp.MustCompile(`(?s)^map: map\[.*\] does not contain declared merge key: (\S+)$`)

// unquoted leaves out of an error of the library the parts of the object that it prints: they may be secret, and nobody can
// read them.
func unquoted(err error) error {
	if err == nil {
		return nil
	}
	if found := keyless.FindStringSubmatch(err.Error()); found != nil {
		return fmt.Errorf("an item of a list has no %s, by which the items are told apart", found[1])
	}
	if strings.Contains(err.Error(), "map[") {
		return errors.New("what is wanted cannot be merged with what is there")
	}
	return err
}

// recovered makes an error of a panic: the library compares the keys of list items without looking at what they are, and a
// manifest may have a map or a list there.
func recovered(err *error) {
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

// encoded are the three sides of a merge as JSON; recorded is empty if unknown.
type encoded struct{ recorded, want, live []byte }

// encode leaves status and managedFields out of live if want does not speak of them: a merge never deletes what only live has.
func encode(recorded, want, live *unstructured.Unstructured) (out encoded, err error) {
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
	if metadata := fieldsOf(fields, "metadata"); fieldsOf(want.Object, "metadata")["managedFields"] == nil && metadata != nil {
		fields = without(fields, "metadata")
		fields["metadata"] = without(metadata, "managedFields")
	}
	out.live, err = json.Marshal(fields)
	return out, err
}

// withoutCreation leaves out a null creationTimestamp, which generated manifests are full of: the server never deletes its own.
func withoutCreation(fields map[string]any) map[string]any {
	metadata := fieldsOf(fields, "metadata")
	if value, ok := metadata["creationTimestamp"]; !ok || value != nil {
		return fields
	}
	fields = without(fields, "metadata")
	fields["metadata"] = without(metadata, "creationTimestamp")
	return fields
}
