package change

import (
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/apps/judge"
	"github.com/muster-deploy/muster/internal/apps/resource"
)

// rules stand for a configuration with a few of the default rules: what the live object has of
// metadata is taken over, but for labels and annotations; a status is never compared; ConfigMaps
// are referred to by envFrom of pod templates.
type rules struct {
	Copy []string // dotted paths that are copied from the live object where it has them
	Add  []string // annotations that are added to what is rebased
	Fail string   // names the operation that fails
}

func (r rules) Rebase(
	existing, new *unstructured.Unstructured,
) (*unstructured.Unstructured, error) {
	if r.Fail == "rebase" {
		return nil, errors.New(
			"FieldCopyMod for path 'a' on resource 'b': Unexpected non-map found: string",
		)
	}
	out := new.DeepCopy()
	if existing == nil {
		return out, nil
	}
	metadata, _, _ := unstructured.NestedMap(existing.Object, "metadata")
	delete(metadata, "labels")
	delete(metadata, "annotations")
	for _, key := range []string{"labels", "annotations"} {
		if value, found, _ := unstructured.NestedFieldCopy(new.Object, "metadata", key); found {
			metadata[key] = value
		}
	}
	out.Object["metadata"] = metadata
	for _, path := range r.Copy {
		if value, found, _ := unstructured.NestedFieldCopy(existing.Object,
			strings.Split(path, ".")...); found {
			unstructured.SetNestedField(out.Object, value, strings.Split(path, ".")...)
		}
	}
	for _, key := range r.Add {
		unstructured.SetNestedField(out.Object, "", "metadata", "annotations", key)
	}
	return out, nil
}

func (r rules) StripExisting(obj *unstructured.Unstructured) error {
	if r.Fail == "strip" {
		return errors.New("FieldRemoveMod for path 'a' on resource 'b': Unexpected non-map found: string")
	}
	delete(obj.Object, "status")
	return nil
}

func (r rules) HasExclusions(obj *unstructured.Unstructured) bool {
	return r.Fail == "strip" || obj.Object["status"] != nil
}

func (r rules) Judge(obj *unstructured.Unstructured) (judge.Judgement, bool, bool) {
	phase, found, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return judge.Judgement{
			Done:       phase == "Ready",
			Successful: phase == "Ready",
			Message:    "phase is " + phase,
		}, false, found &&
			obj.GetKind() == "Thing"
}

func (r rules) RewriteRefs(holder, target *unstructured.Unstructured, base, name string) error {
	if r.Fail == "refer" {
		return errors.New(
			"ObjectRefSetMod for path 'a' on resource 'b': Unexpected non-map found: string",
		)
	}
	for key, value := range holder.GetAnnotations() {
		if !strings.HasPrefix(key, resource.AnnVersionedExplicit) {
			continue
		}
		var ref map[string]any
		if err := yaml.Unmarshal([]byte(value), &ref); err != nil {
			return err
		}
		if ref["kind"] == target.GetKind() && ref["name"] == base {
			ref["name"] = name
		}
		text, err := yaml.Marshal(ref)
		if err != nil {
			return err
		}
		unstructured.SetNestedField(holder.Object, string(text), "metadata", "annotations", key)
	}
	if target.GetKind() != "ConfigMap" {
		return nil
	}
	if ref, ok := holder.Object["ref"].(map[string]any); ok && ref["name"] == base {
		ref["name"] = name
	}
	return nil
}

func (r rules) Mask(obj *unstructured.Unstructured, hide func(any) string) error {
	if obj.GetKind() != "Secret" {
		return nil
	}
	for _, field := range []string{"data", "stringData"} {
		values, found, err := unstructured.NestedMap(obj.Object, field)
		if err != nil {
			return errors.New("ObjectRefSetMod for path '" + field + "': Unexpected non-map found: string")
		}
		for _, key := range sorted(values) {
			values[key] = hide(values[key])
		}
		if found {
			obj.Object[field] = values
		}
	}
	return nil
}

func (r rules) Masks(obj *unstructured.Unstructured) bool { return obj.GetKind() == "Secret" }

// lastApplied stands for the history: an object that carries "valid" as sum was not changed by
// others since.
func (r rules) lastApplied(
	live *unstructured.Unstructured,
) (*unstructured.Unstructured, bool, error) {
	if r.Fail == "history" {
		return nil, false, errors.New("the history cannot be read")
	}
	if live.GetAnnotations()[resource.AnnOriginalDiffMD5] != "valid" {
		return nil, false, nil
	}
	original := &unstructured.Unstructured{}
	if err := original.UnmarshalJSON([]byte(live.GetAnnotations()[resource.AnnOriginal])); err != nil {
		return nil, false, err
	}
	base, err := r.Rebase(live, original)
	if err == nil {
		removeRecord(base)
	}
	return base, err == nil, err
}
