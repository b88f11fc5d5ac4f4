package lastapplied

import (
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// rules are as much of the default rules as the tests here need: metadata is the live one but for labels and annotations,
// some fields of services, claims and namespaces are kept, and the status and the revision of a deployment are not looked at.
type rules struct{ fail bool }

var errRule = errors.New("a rule that fails")

func (r rules) Rebase(existing, new *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if r.fail {
		return nil, errRule
	}
	out := new.DeepCopy()
	if existing == nil {
		return out, nil
	}
	given, _ := new.Object["metadata"].(map[string]any)
	metadata, _ := runtime.DeepCopyJSONValue(existing.Object["metadata"]).(map[string]any)
	for _, name := range []string{"labels", "annotations"} {
		delete(metadata, name)
		if value, ok := given[name]; ok {
			metadata[name] = runtime.DeepCopyJSONValue(value)
		}
	}
	out.Object["metadata"] = metadata
	keep := map[string][]string{
		"v1 Service":               {"clusterIP", "healthCheckNodePort"},
		"v1 Namespace":             {"finalizers"},
		"v1 PersistentVolumeClaim": {"storageClassName", "volumeMode", "volumeName"},
	}
	for _, name := range keep[new.GetAPIVersion()+" "+new.GetKind()] {
		value, ok, _ := unstructured.NestedFieldCopy(existing.Object, "spec", name)
		spec, isMap := out.Object["spec"].(map[string]any)
		if !isMap {
			spec = map[string]any{}
			out.Object["spec"] = spec
		}
		if _, has := spec[name]; ok && !has {
			spec[name] = value
		}
	}
	return out, nil
}

func (r rules) StripLastApplied(obj *unstructured.Unstructured) error {
	if obj.GetKind() == "Deployment" {
		strip(obj.Object, "deployment.kubernetes.io/revision")
	}
	return nil
}

func (r rules) StripExisting(obj *unstructured.Unstructured) error {
	delete(obj.Object, "status")
	return nil
}
