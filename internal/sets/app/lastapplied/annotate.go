package lastapplied

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// annotationLimit is the limit of an API server for the keys and values of all annotations of an
// object, in bytes. kapp applies it to each value and retries rejected writes for a minute. Both
// record nothing.
const annotationLimit = 256 << 10

// Annotate returns an object for its first write: toSend with its identity, the original, which is
// the applied object, and the md5 of the predicted stored object. existing is the live object that
// is replaced, or nil. Nothing is recorded if the object has the annotation
// kapp.k14s.io/disable-original, or if its annotations would exceed the limit of a server, or if a
// rule fails on the prediction: then the stored object decides. The result shares memory with
// toSend; no argument is changed.
func Annotate(
	toSend, applied, existing *unstructured.Unstructured, rules *config.Config,
) (*unstructured.Unstructured, error) {
	out := withoutAnnotations(toSend, recordKeys...)
	setAnnotation(out, resource.AnnIdentity, resource.Identity(out))
	if _, disabled := annotation(out, resource.AnnDisableOriginal); disabled {
		return out, nil
	}
	plain, err := withoutRecord(applied, rules)
	if err != nil {
		return nil, err
	}
	original, err := originalText(plain)
	if err != nil || !fits(out, original) {
		return out, err
	}
	sum, err := fingerprint(predict(out, existing, rules), plain, rules)
	if err != nil {
		return out, nil // a rule may expect fields that only the server sets
	}
	setAnnotation(out, resource.AnnOriginal, original)
	setAnnotation(out, resource.AnnOriginalDiffMD5, sum)
	return out, nil
}

// CopyAnnotations returns obj with the identity and the record of an annotated object. The result
// shares memory with both; neither is changed.
func CopyAnnotations(signed, obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := withoutAnnotations(obj, recordKeys...)
	keys := []string{resource.AnnIdentity, resource.AnnOriginal, resource.AnnOriginalDiffMD5}
	for _, key := range keys {
		if value, ok := annotation(signed, key); ok {
			setAnnotation(out, key, value)
		}
	}
	return out
}

// Correction returns the latest state of an object with the record for the server's first answer,
// whose Fingerprint is md5: later changes by others must not count as the server's. It returns nil
// if the predicted record is correct or there is to be none, and otherwise an object to be sent in
// full.
func Correction(
	latest, applied *unstructured.Unstructured, md5 string, rules *config.Config,
) (*unstructured.Unstructured, error) {
	if _, disabled := annotation(latest, resource.AnnDisableOriginal); disabled {
		return nil, nil
	}
	plain, err := withoutRecord(applied, rules)
	if err != nil {
		return nil, err
	}
	return record(latest, plain, md5)
}

func record(
	latest, plain *unstructured.Unstructured, md5 string,
) (*unstructured.Unstructured, error) {
	original, err := originalText(plain)
	if err != nil {
		return nil, err
	}
	had, _ := annotation(latest, resource.AnnOriginal)
	hadSum, _ := annotation(latest, resource.AnnOriginalDiffMD5)
	if had == original && hadSum == md5 {
		return nil, nil
	}
	out := withoutAnnotations(latest, recordKeys...)
	if !fits(out, original) {
		return nil, nil
	}
	setAnnotation(out, resource.AnnIdentity, resource.Identity(out))
	setAnnotation(out, resource.AnnOriginal, original)
	setAnnotation(out, resource.AnnOriginalDiffMD5, md5)
	return out, nil
}

// originalText returns the text of an original: JSON without blanks, with sorted keys.
func originalText(plain *unstructured.Unstructured) (string, error) {
	text, err := json.Marshal(plain.Object)
	if err != nil {
		return "", fmt.Errorf("record %s: %w", resource.Describe(plain), err)
	}
	return string(text), nil
}

// fits reports whether the annotations of an object together with a record are within the limit.
func fits(obj *unstructured.Unstructured, original string) bool {
	size := len(resource.AnnOriginal) + len(original) + len(resource.AnnOriginalDiffMD5) + 32
	for key, value := range obj.GetAnnotations() {
		size += len(key) + len(value)
	}
	return size <= annotationLimit
}

// setAnnotation sets an annotation of an object whose metadata may be changed.
func setAnnotation(obj *unstructured.Unstructured, key, value string) {
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

// OriginalOf returns the text of the original of an object that is about to be applied; ok is false
// for one that gets none: it has the annotation kapp.k14s.io/disable-original, or its annotations
// would exceed the limit of a server.
func OriginalOf(
	applied *unstructured.Unstructured, rules *config.Config,
) (text string, ok bool, err error) {
	if _, disabled := annotation(applied, resource.AnnDisableOriginal); disabled {
		return "", false, nil
	}
	plain, err := withoutRecord(applied, rules)
	if err != nil {
		return "", false, err
	}
	StripIdentity(plain)
	if text, err = originalText(plain); err != nil {
		return "", false, err
	}
	return text, fits(withoutAnnotations(applied, recordKeys...), text), nil
}

// Seal returns the other annotations of an object that has its original and is about to be stored
// in place of a live one, or of none: the identity, and the md5 of the predicted stored object,
// unless a rule fails on the prediction. No argument is changed.
func Seal(sent, existing *unstructured.Unstructured, rules *config.Config) map[string]string {
	seals := map[string]string{resource.AnnIdentity: resource.Identity(sent)}
	original := Original(sent)
	if original == nil {
		return seals
	}
	if sum, err := fingerprint(predict(sent, existing, rules), original, rules); err == nil {
		seals[resource.AnnOriginalDiffMD5] = sum
	}
	return seals
}
