// Package history is what kapp records on the objects that it deploys, in two annotations: the original, which is the object
// as it was applied, and the md5 of a structural difference between that and what the server stored. As long as the md5 is
// still true nobody has touched the object, and the original is what a new version is compared with.
//
// kapp knows the md5 only after the server has answered, and writes every object twice. Here Sign foresees what the server
// will store and puts both annotations into the first write; Record gives the second one if the server stored something else.
// Nothing but the number of requests depends on what was foreseen.
//
// Numbers: kapp reads files, and the original, into float64, but what the server answers into int64, and the text that is
// hashed shows which is which (1e+06, 1000000). Objects here may hold either; Fingerprint turns all numbers of the applied
// side into float64 before it rebases, so that those taken over from the stored side stay as the server gave them.
package lastapplied

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/apps/resource"
)

// Rules are the data rules of a configuration that history depends on.
type Rules interface {
	// Rebase gives a copy of new with what the rules take over from existing, which may be nil. It changes neither.
	Rebase(existing, new *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// StripLastApplied takes out, in place, what the server generates and a fingerprint must not see.
	StripLastApplied(obj *unstructured.Unstructured) error
	// StripExisting takes out, in place, what is never compared, such as the status.
	StripExisting(obj *unstructured.Unstructured) error
}

// recorded are the annotations of history, those that old versions wrote for debugging among them.
var recorded = []string{resource.AnnOriginal, resource.AnnOriginalDiffMD5, resource.AnnOriginalDiff, resource.AnnOriginalDiffFull}

// Strip takes the annotations of history out of an object, in place. If no other is left the object keeps an empty map: kapp
// does, and shows it.
func Strip(obj *unstructured.Unstructured) {
	strip(obj.Object, recorded...)
}

// StripIdentity takes the annotation kapp.k14s.io/identity out of an object, in place, and leaves an empty map too.
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

// without is a copy that lacks annotations. It shares all else with the object.
func without(obj *unstructured.Unstructured, keys ...string) *unstructured.Unstructured {
	out := open(obj)
	strip(out.Object, keys...)
	return out
}

// open is a copy whose metadata and annotations may be changed. It shares all else with the object.
func open(obj *unstructured.Unstructured) *unstructured.Unstructured {
	out := &unstructured.Unstructured{Object: maps.Clone(obj.Object)}
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return out
	}
	metadata = maps.Clone(metadata)
	out.Object["metadata"] = metadata
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		metadata["annotations"] = maps.Clone(annotations)
	}
	return out
}

// annotation is one annotation of an object, without a copy of all of them.
func annotation(obj *unstructured.Unstructured, key string) (string, bool) {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	value, ok := annotations[key].(string)
	return value, ok
}

// Base gives what a live object is compared with if nobody touched it since it was recorded: the original, rebased onto
// the live object, without the annotations of history and what is never compared. ok is false if nothing usable is recorded
// or the object is no longer what it was; the live object itself is compared then. An error is one of the rules.
func Base(live *unstructured.Unstructured, rules Rules) (base *unstructured.Unstructured, ok bool, err error) {
	text, _ := annotation(live, resource.AnnOriginal)
	want, _ := annotation(live, resource.AnnOriginalDiffMD5)
	if text == "" || want == "" {
		return nil, false, nil
	}
	original, ok := parse(text)
	if !ok {
		return nil, false, nil
	}
	if err := bare(original, rules); err != nil {
		return nil, false, fmt.Errorf("recorded original of %s: %w", resource.Describe(live), err)
	}
	if got, err := fingerprint(live, original, rules); err != nil || got != want {
		return nil, false, err
	}
	base, err = rules.Rebase(without(live, resource.AnnIdentity), original)
	if err == nil {
		err = bare(base, rules)
	}
	if err != nil {
		return nil, false, fmt.Errorf("rebase the recorded original of %s: %w", resource.Describe(live), err)
	}
	return base, true, nil
}

// Original gives what was applied last, as it is recorded on a live object, whether or not somebody has changed that since; nil if
// nothing usable is recorded.
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

// bare takes out of an object, in place, the annotations of history and what is never compared.
func bare(obj *unstructured.Unstructured, rules Rules) error {
	Strip(obj)
	return rules.StripExisting(obj)
}
