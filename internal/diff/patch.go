package diff

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/muster-deploy/muster/internal/builtin"
)

// merge creates and applies patches: strategic ones if it has the metadata of a type, else JSON
// merge patches. It knows what excludes each other in a type also if clients do not merge it
// strategically.
type merge struct {
	meta strategicpatch.LookupPatchMeta
	of   strategicpatch.LookupPatchMeta // the type; nil if it is not built in
}

// mergeFor returns the strategic merge for built-in kinds, and the JSON merge for others.
func mergeFor(obj *unstructured.Unstructured) merge {
	of, _ := builtin.TypeMeta(obj.GroupVersionKind())
	if meta, ok := builtin.PatchMeta(obj.GroupVersionKind()); ok {
		return merge{meta, of}
	}
	return merge{of: of}
}

// between returns the patch that brings a live object to the wanted side, and the object after it.
// The patch is nil if there is nothing to send.
func (m merge) between(
	live *unstructured.Unstructured, in sides,
) (patch map[string]any, how types.PatchType, result *unstructured.Unstructured, err error) {
	defer recoverError(&err)
	in = in.recording(pathsOf(m.obstacles(in)))
	if m.meta == nil {
		patch = mergePatch(in.recorded, in.want, in.live)
		result = &unstructured.Unstructured{Object: applyMergePatch(live.Object, patch)}
		return patch, types.MergePatchType, result.DeepCopy(), nil
	}
	in, lists, _ := splitLists(in, m.meta)
	if patch, err = m.create(in); err != nil || len(patch)+len(lists) == 0 {
		return nil, "", nil, err
	}
	merged, err := strategicpatch.StrategicMergeMapPatchUsingLookupPatchMeta(
		live.DeepCopy().Object, runtime.DeepCopyJSON(patch), m.meta,
	)
	if err != nil {
		return nil, "", nil, withoutValues(err)
	}
	result = &unstructured.Unstructured{Object: merged}
	if len(lists) == 0 {
		return patch, types.StrategicMergePatchType, result, nil
	}
	// A strategic patch would group the items by key, also those of a list that it replaces.
	setLists(merged, lists, m.meta)
	return mergePatch(live.Object, merged, live.Object), types.MergePatchType, result, nil
}

// create returns the strategic patch of sides without lists that it cannot merge.
func (m merge) create(in sides) (patch map[string]any, err error) {
	if in = in.differing(m.meta); len(in.want)+len(in.recorded) == 0 {
		return nil, nil
	}
	return m.createWhole(in)
}

// createWhole returns the same, and compares all fields.
func (m merge) createWhole(in sides) (patch map[string]any, err error) {
	recorded, want, live, err := in.encode()
	if err != nil {
		return nil, err
	}
	data, err := strategicpatch.CreateThreeWayMergePatch(recorded, want, live, m.meta, true)
	if err != nil {
		return nil, withoutValues(err)
	}
	return patch, utiljson.Unmarshal(data, &patch)
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

// sides are the three sides of a merge; recorded is nil if unknown.
type sides struct{ recorded, want, live map[string]any }

// sidesOf omits what a merge cannot change: status where it has requests of its own, the rules of
// aggregated roles, and maps that are not stored. It omits status and managedFields of live unless
// want has them: a merge never deletes fields that only live has.
func sidesOf(recorded, want, live *unstructured.Unstructured) sides {
	s := sides{want: withoutCreation(want.Object), live: live.Object}
	if recorded != nil {
		s.recorded = withoutCreation(recorded.Object)
	}
	ignored := ignoredFields(want)
	s.recorded, s.want = without(s.recorded, ignored...), without(s.want, ignored...)
	for _, name := range builtin.UnstoredMaps(want.Object) {
		if len(fieldsOf(s.recorded, name)) == 0 { // else it keeps what others have set
			s.want = without(s.want, name)
		}
	}
	if s.want["status"] == nil {
		s.live = without(s.live, "status")
	}
	metadata := fieldsOf(s.live, "metadata")
	if fieldsOf(s.want, "metadata")["managedFields"] == nil && metadata != nil {
		s.live = without(s.live, "metadata")
		s.live["metadata"] = without(metadata, "managedFields")
	}
	return s
}

// WithoutIgnored returns an object without the fields that no apply can set: status where it has
// requests of its own, the rules of aggregated roles, and those of WithoutUnstoredMaps. It shares
// values with the object.
func WithoutIgnored(obj *unstructured.Unstructured) *unstructured.Unstructured {
	fields := without(obj.Object, ignoredFields(obj)...)
	return WithoutUnstoredMaps(&unstructured.Unstructured{Object: fields})
}

// WithoutUnstoredMaps returns an object without the maps that are not stored, since they have no
// content. A server may take them for a change. It shares values with the object.
func WithoutUnstoredMaps(obj *unstructured.Unstructured) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: without(obj.Object, builtin.UnstoredMaps(obj.Object)...)}
}

// ignoredFields returns the fields of an object that no apply can set.
func ignoredFields(obj *unstructured.Unstructured) (names []string) {
	if isAggregated(obj) {
		names = append(names, "rules")
	}
	if hasStatusRequests(obj) {
		names = append(names, "status")
	}
	return names
}

// encode returns the three sides as JSON; recorded is empty if unknown.
func (s sides) encode() (recorded, want, live []byte, err error) {
	if s.recorded != nil {
		if recorded, err = json.Marshal(s.recorded); err != nil {
			return nil, nil, nil, err
		}
	}
	if want, err = json.Marshal(s.want); err != nil {
		return nil, nil, nil, err
	}
	live, err = json.Marshal(s.live)
	return recorded, want, live, err
}

// hasStatusRequests reports whether the server ignores the status in all requests but those for it:
// for all kinds of Kubernetes, as far as they have one.
func hasStatusRequests(obj *unstructured.Unstructured) bool {
	gvk := obj.GroupVersionKind()
	_, isBuiltin := builtin.PatchMeta(gvk)
	return isBuiltin || gvk.Group == "apiextensions.k8s.io" || gvk.Group == "apiregistration.k8s.io"
}

// isAggregated reports whether an object is a ClusterRole whose rules a controller fills in: it has
// an aggregation rule and no rules of its own.
func isAggregated(obj *unstructured.Unstructured) bool {
	rules, _ := obj.Object["rules"].([]any)
	return obj.GroupVersionKind().GroupKind() == clusterRoleKind && len(rules) == 0 &&
		fieldsOf(obj.Object, "aggregationRule") != nil
}

var clusterRoleKind = schema.GroupKind{Group: "rbac.authorization.k8s.io", Kind: "ClusterRole"}

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
