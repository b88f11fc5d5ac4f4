package lastapplied

import (
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// Fingerprint returns the md5, in hex, of the changes that a server made to an applied object: of
// the structural difference between the stored object and the applied one rebased onto it. Both are
// taken without the record, the identity and excluded fields; neither is changed.
func Fingerprint(stored, applied *unstructured.Unstructured, rules *config.Config) (string, error) {
	plain, err := withoutRecord(applied, rules)
	if err != nil {
		return "", err
	}
	return fingerprint(stored, plain, rules)
}

// withoutRecord returns an applied object in the form that is recorded. The metadata and the
// annotations of the result may be changed; it may share everything else with the object.
func withoutRecord(
	applied *unstructured.Unstructured, rules *config.Config,
) (*unstructured.Unstructured, error) {
	plain := withoutAnnotations(applied, recordKeys...)
	if !rules.HasExclusions(plain) {
		return plain, nil
	}
	plain = plain.DeepCopy()
	if err := rules.StripExisting(plain); err != nil {
		return nil, fmt.Errorf("record %s: %w", resource.Describe(applied), err)
	}
	return plain, nil
}

// fingerprint returns the Fingerprint of an applied object in its recorded form.
func fingerprint(stored, applied *unstructured.Unstructured, rules *config.Config) (string, error) {
	left := withoutAnnotations(stored, slices.Concat(recordKeys, []string{resource.AnnIdentity})...)
	if metadata, ok := left.Object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields") // the same on both sides, and most of the object
	}
	left = left.DeepCopy()
	right := &unstructured.Unstructured{Object: withFloats(applied.Object).(map[string]any)}
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

// withFloats returns a copy of a value in which all numbers are float64, as Go's decoder of JSON
// returns them.
func withFloats(value any) any {
	switch value := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(value))
		for key, item := range value {
			out[key] = withFloats(item)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, item := range value {
			out[i] = withFloats(item)
		}
		return out
	case int64:
		return float64(value)
	}
	return runtime.DeepCopyJSONValue(value)
}
