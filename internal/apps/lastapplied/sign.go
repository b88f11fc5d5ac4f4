package lastapplied

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// annotationLimit is how many bytes the keys and values of all annotations of an object may have, for an API server. kapp
// applies it to each value and lets the server refuse the rest for a minute; here nothing is recorded either way.
const annotationLimit = 256 << 10

// Annotate gives an object as it is sent the first time: toSend with its identity, the original, which is applied, and the md5
// that will be true if the server stores what is foreseen. existing is the live object that is replaced, as it was read, or
// nil. Nothing is recorded if the object has the annotation kapp.k14s.io/disable-original, or if its annotations would be
// larger than a server takes. The result shares memory with toSend; no argument is changed.
func Annotate(toSend, applied, existing *unstructured.Unstructured, rules Rules) (*unstructured.Unstructured, error) {
	out := without(toSend, recorded...)
	annotate(out, resource.AnnIdentity, resource.Identity(out))
	if _, disabled := annotation(out, resource.AnnDisableOriginal); disabled {
		return out, nil
	}
	plain, err := prepare(applied, rules)
	if err != nil {
		return nil, err
	}
	original, err := compact(plain)
	if err != nil || !fits(out, original) {
		return out, err
	}
	stored, err := foresee(out, existing, rules)
	if err != nil {
		return nil, err
	}
	sum, err := fingerprint(stored, plain, rules)
	if err != nil {
		return nil, err
	}
	annotate(out, resource.AnnOriginal, original)
	annotate(out, resource.AnnOriginalDiffMD5, sum)
	return out, nil
}

// CopyAnnotations gives an object, as it is sent, the identity and the record of another one that was signed. The result shares memory
// with both; neither is changed.
func CopyAnnotations(signed, obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := without(obj, recorded...)
	for _, key := range []string{resource.AnnIdentity, resource.AnnOriginal, resource.AnnOriginalDiffMD5} {
		if value, ok := annotation(signed, key); ok {
			annotate(out, key, value)
		}
	}
	return out
}

// Correction gives the latest state of an object with the record that belongs to an answer of the server, the first, whose Fingerprint
// is given: what others changed since is not to be taken for what the server made of the object. It gives nil if the record that
// Sign foresaw is right, or if there is to be none, and otherwise an object to be sent in full.
func Correction(latest, applied *unstructured.Unstructured, md5 string, rules Rules) (*unstructured.Unstructured, error) {
	if _, disabled := annotation(latest, resource.AnnDisableOriginal); disabled {
		return nil, nil
	}
	plain, err := prepare(applied, rules)
	if err != nil {
		return nil, err
	}
	return record(latest, plain, md5)
}

func record(latest, plain *unstructured.Unstructured, md5 string) (*unstructured.Unstructured, error) {
	original, err := compact(plain)
	if err != nil {
		return nil, err
	}
	had, _ := annotation(latest, resource.AnnOriginal)
	hadSum, _ := annotation(latest, resource.AnnOriginalDiffMD5)
	if had == original && hadSum == md5 {
		return nil, nil
	}
	out := without(latest, recorded...)
	if !fits(out, original) {
		return nil, nil
	}
	annotate(out, resource.AnnIdentity, resource.Identity(out))
	annotate(out, resource.AnnOriginal, original)
	annotate(out, resource.AnnOriginalDiffMD5, md5)
	return out, nil
}

// compact is the text of an original: JSON without blanks, keys sorted.
func compact(plain *unstructured.Unstructured) (string, error) {
	text, err := json.Marshal(plain.Object)
	if err != nil {
		return "", fmt.Errorf("record %s: %w", resource.Describe(plain), err)
	}
	return string(text), nil
}

// fits reports whether a server takes the annotations of an object together with a record.
func fits(obj *unstructured.Unstructured, original string) bool {
	size := len(resource.AnnOriginal) + len(original) + len(resource.AnnOriginalDiffMD5) + 32
	for key, value := range obj.GetAnnotations() {
		size += len(key) + len(value)
	}
	return size <= annotationLimit
}

// annotate sets an annotation of an object that was opened.
func annotate(obj *unstructured.Unstructured, key, value string) {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		obj.Object["metadata"] = metadata
	}
	annotations, ok := metadata["annotations"].(map[string]any)
	if !ok {
		annotations = map[string]any{}
		metadata["annotations"] = annotations
	}
	annotations[key] = value
}
