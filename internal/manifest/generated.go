package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsGenerated reports whether an object has a generateName in place of a name.
func IsGenerated(obj map[string]any) bool {
	metadata, _ := obj["metadata"].(map[string]any)
	prefix, _ := metadata["generateName"].(string)
	return prefix != "" && (metadata["name"] == nil || metadata["name"] == "")
}

// hashLength is the number of letters of the hash in a name: those of 40 bits.
const hashLength = 10

// nameLimit is the length of the longest name that servers make of a generateName. Pods and labels
// get names of their owners, so that most kinds of workloads allow no more.
const nameLimit = 63

// nameLimits are those of kinds that allow less: the names of what they create have a suffix.
var nameLimits = map[schema.GroupKind]int{
	{Group: "batch", Kind: "CronJob"}:    52,
	{Group: "apps", Kind: "StatefulSet"}: 52,
}

// NameGenerated sets the names of objects with a generateName to that and a hash of their content:
// the same content is the same object, and other content another one.
func NameGenerated(objects []Object) error {
	for _, obj := range objects {
		if err := Name(obj.Unstructured); err != nil {
			return err
		}
	}
	return nil
}

// Name sets the name of an object that has a generateName and no name, as NameGenerated does.
// References of other objects to it are not changed.
func Name(obj *unstructured.Unstructured) error {
	if !IsGenerated(obj.Object) {
		return nil
	}
	text, err := json.Marshal(contentOf(obj.Object))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	limit, ok := nameLimits[obj.GroupVersionKind().GroupKind()]
	if !ok {
		limit = nameLimit
	}
	prefix := obj.GetGenerateName()
	prefix = prefix[:min(len(prefix), limit-hashLength)]
	obj.SetGenerateName("")
	obj.SetName(prefix + hex.EncodeToString(sum[:])[:hashLength])
	return nil
}

// contentOf returns the fields of an object that count for its name: all but its namespace, since a
// flag may set that as well.
func contentOf(obj map[string]any) map[string]any {
	fields := maps.Clone(obj)
	metadata, _ := obj["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	for _, key := range []string{"name", "namespace"} {
		delete(metadata, key)
	}
	fields["metadata"] = metadata
	return fields
}
