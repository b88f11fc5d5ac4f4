package lastapplied

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// Fingerprint gives the md5, in hex, of what a server made of an applied object: of the structural difference between the
// stored object and the applied one rebased onto it. Both are taken without history, identity and what the rules exclude;
// neither is changed.
func Fingerprint(stored, applied *unstructured.Unstructured, rules Rules) (string, error) {
	plain, err := prepare(applied, rules)
	if err != nil {
		return "", err
	}
	return fingerprint(stored, plain, rules)
}

// prepare gives a copy of an applied object as it is recorded.
func prepare(applied *unstructured.Unstructured, rules Rules) (*unstructured.Unstructured, error) {
	plain := applied.DeepCopy()
	if err := bare(plain, rules); err != nil {
		return nil, fmt.Errorf("record %s: %w", resource.Describe(applied), err)
	}
	return plain, nil
}

// fingerprint is Fingerprint of an applied object that has been prepared.
func fingerprint(stored, applied *unstructured.Unstructured, rules Rules) (string, error) {
	left := without(stored, slices.Concat(recorded, []string{resource.AnnIdentity})...)
	if metadata, ok := left.Object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields") // on both sides the same, by the first of the rules, and most of the object
	}
	left = left.DeepCopy()
	right := &unstructured.Unstructured{Object: floats(applied.Object).(map[string]any)}
	err := rules.StripLastApplied(left)
	if err == nil {
		err = rules.StripExisting(left)
	}
	if err == nil {
		right, err = rules.Rebase(left, right)
	}
	if err != nil {
		return "", fmt.Errorf("compare %s with what was applied: %w", resource.Describe(stored), err)
	}
	rendered, err := text(difference(left.Object, right.Object))
	if err != nil {
		return "", fmt.Errorf("compare %s with what was applied: %w", resource.Describe(stored), err)
	}
	sum := md5.Sum(rendered) // the format's choice, and no secret
	return hex.EncodeToString(sum[:]), nil
}

// floats gives a copy of a value in which all numbers are float64, as if it had been read by Go's own decoder of JSON.
func floats(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			out[key] = floats(item)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = floats(item)
		}
		return out
	case int64:
		return float64(value)
	}
	return runtime.DeepCopyJSONValue(value)
}
