// Package lastapplied reads and writes what kapp records on deployed objects, in two annotations.
// The original is the object as it was applied. The md5 is the hash of a structural difference
// between the original and the object that the server stored. While the md5 is correct nobody has
// changed the object, and new versions are compared with the original.
//
// kapp knows the md5 only after the server has answered, and writes every object twice. Here
// Annotate predicts what the server will store and adds both annotations to the first write, for
// kapp's commands; OriginalOf and Seal return them for plans of native commands. Correction returns
// the second write if the prediction was wrong. Only the number of requests depends on it. The
// merges of native commands start from the original, whatever the md5 says.
//
// Numbers: kapp reads files and the original into float64, but answers of the server into int64,
// and the hashed text shows the difference (1e+06, 1000000). Objects here may hold either.
// Fingerprint turns all numbers of the applied side into float64 before it rebases, so that those
// taken over from the stored side stay as the server returned them.
package lastapplied

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// recordKeys are the annotations with the record, including those that old versions wrote for
// debugging.
var recordKeys = []string{
	resource.AnnOriginal,
	resource.AnnOriginalDiffMD5,
	resource.AnnOriginalDiff,
	resource.AnnOriginalDiffFull,
}

// Annotations returns the keys of the annotations that only this program and kapp write.
func Annotations() []string { return append(slices.Clone(recordKeys), resource.AnnIdentity) }

// Strip removes the annotations of the record from an object, in place. If no other is left, the
// object keeps an empty map, as with kapp, which prints it.
func Strip(obj *unstructured.Unstructured) {
	strip(obj.Object, recordKeys...)
}

// StripIdentity removes the annotation kapp.k14s.io/identity from an object, in place, and leaves
// an empty map too.
func StripIdentity(obj *unstructured.Unstructured) {
	strip(obj.Object, resource.AnnIdentity)
}

func strip(object map[string]any, keys ...string) {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	for _, key := range keys {
		delete(annotations, key)
	}
}

// withoutAnnotations returns a copy without some annotations. Its metadata and annotations may be
// changed; everything else is shared.
func withoutAnnotations(obj *unstructured.Unstructured, keys ...string) *unstructured.Unstructured {
	return object.WithMetadata(obj, func(metadata map[string]any) {
		strip(map[string]any{"metadata": metadata}, keys...)
	})
}

// annotation returns one annotation of an object without copying all of them.
func annotation(obj *unstructured.Unstructured, key string) (string, bool) {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, ok := annotations[key].(string)
	return value, ok
}

// Base returns the object that new versions are compared with if nobody has changed a live object
// since it was recorded: the original, rebased onto the live object, without the annotations of the
// record and without excluded fields. ok is false if nothing usable is recorded or the object has
// changed; then the live object itself is compared. A record is not usable if a rule fails on it:
// the rule may be newer than the original and expect fields that this lacks.
func Base(
	live *unstructured.Unstructured, rules *config.Config,
) (base *unstructured.Unstructured, ok bool) {
	text, _ := annotation(live, resource.AnnOriginal)
	want, _ := annotation(live, resource.AnnOriginalDiffMD5)
	if text == "" || want == "" {
		return nil, false
	}
	original, ok := parse(text)
	if !ok || bare(original, rules) != nil {
		return nil, false
	}
	if got, err := fingerprint(live, original, rules); err != nil || got != want {
		return nil, false
	}
	base, err := rules.Rebase(withoutAnnotations(live, resource.AnnIdentity), original)
	if err != nil || bare(base, rules) != nil {
		return nil, false
	}
	return base, true
}

// Original returns the recorded original of a live object, whether or not the object has changed
// since, or nil if nothing usable is recorded.
func Original(live *unstructured.Unstructured) *unstructured.Unstructured {
	text, _ := annotation(live, resource.AnnOriginal)
	if text == "" {
		return nil
	}
	original, _ := parse(text)
	return original
}

// parse reads an original, which is JSON, or YAML if an old version wrote it.
func parse(text string) (*unstructured.Unstructured, bool) {
	data, fields := []byte(text), map[string]any{}
	if data[0] != '{' {
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, false
		}
	}
	if err := utiljson.Unmarshal(data, &fields); err != nil || len(fields) == 0 {
		return nil, false
	}
	return &unstructured.Unstructured{Object: fields}, true
}

// bare removes the annotations of the record and excluded fields from an object, in place.
func bare(obj *unstructured.Unstructured, rules *config.Config) error {
	Strip(obj)
	return rules.StripExisting(obj)
}
