package history

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// Content returns the digest of all objects, as Meta.Content: of a revision that keeps a digest of
// the data of Secrets, or without it.
func Content(objects []Object, withoutSecrets bool) (string, error) {
	objects = sorted(objects)
	var digests strings.Builder
	for _, obj := range objects {
		ref, fields := object.RefOf(obj.Unstructured), content(obj.Unstructured)
		if withoutSecrets && isSecret(ref) {
			fields, _ = withoutData(fields)
		}
		text, err := line(fields)
		if err != nil {
			return "", fmt.Errorf("%s: %w", ref, err)
		}
		fmt.Fprintf(&digests, "%s %s\n", ref, digest(text))
	}
	return digest([]byte(digests.String())), nil
}

// sorted returns objects in the order of a revision.
func sorted(objects []Object) []Object {
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b Object) int {
		return object.Compare(object.RefOf(a.Unstructured), object.RefOf(b.Unstructured))
	})
	return objects
}

// dataDigest returns a digest of the data of a Secret, whether a manifest or a server wrote it.
func dataDigest(fields map[string]any) string {
	values := map[string][]byte{}
	data, _ := fields["data"].(map[string]any)
	for key, value := range data {
		text, _ := value.(string)
		text = strings.Join(strings.Fields(text), "") // servers accept lines
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "" // the server refuses it
		}
		values[key] = decoded
	}
	texts, _ := fields["stringData"].(map[string]any)
	for key, value := range texts {
		text, _ := value.(string)
		values[key] = []byte(text)
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, "%q %q\n", key, values[key])
	}
	return digest([]byte(b.String()))
}

// stringKeys returns the keys of the data of a Secret that are in stringData, sorted.
func stringKeys(fields map[string]any) []string {
	texts, _ := fields["stringData"].(map[string]any)
	return slices.Sorted(maps.Keys(texts))
}

// dataKeys returns the keys of the data of a Secret, sorted.
func dataKeys(fields map[string]any) []string {
	keys := stringKeys(fields)
	data, _ := fields["data"].(map[string]any)
	keys = slices.AppendSeq(keys, maps.Keys(data))
	slices.Sort(keys)
	return append([]string{}, slices.Compact(keys)...)
}

// ownKeys returns the keys of the data of a Secret; nil if they are not known.
func (o *Object) ownKeys() []string {
	if o.Withheld == nil {
		return dataKeys(o.Object)
	}
	return o.keys
}

// ownData returns the data of a live Secret without the keys that only others have. All of it is
// the object's own if its keys are not known.
func (o *Object) ownData(live map[string]any) map[string]any {
	keys := o.ownKeys()
	data, _ := live["data"].(map[string]any)
	own := maps.Clone(data)
	maps.DeleteFunc(own, func(key string, _ any) bool {
		return keys != nil && !slices.Contains(keys, key)
	})
	return map[string]any{"data": own}
}

// Complete adds the data of a live Secret to an object whose data is withheld, if it is the same as
// the data that was desired. It reports whether it was. Keys that others have added do not count.
func (o *Object) Complete(live *unstructured.Unstructured) bool {
	if o.Withheld == nil || live == nil {
		return o.Withheld == nil
	}
	if o.data == "" || dataDigest(o.ownData(live.Object)) != o.data {
		return false
	}
	o.CopyData(live, nil)
	return true
}

// SameData reports whether two Secrets have the same data. A digest is enough; known is false if
// that is missing too. Of a live Secret keys that others have added do not count.
func SameData(a, b Object) (same, known bool) {
	digests := [2]string{}
	for i, o := range []Object{a, b} {
		other := []Object{b, a}[i]
		switch {
		case o.Withheld != nil:
			digests[i] = o.data
		case other.Withheld != nil && o.GetUID() != "":
			digests[i] = dataDigest(other.ownData(o.Object))
		default:
			digests[i] = dataDigest(o.Object)
		}
	}
	return digests[0] == digests[1], digests[0] != "" && digests[1] != ""
}

// CopyData copies the data of a live Secret to an object whose data is withheld, so that a run of
// the object does not change it. Keys of others do not become those of the set: newest is the
// Secret in the newest revision of the set, or nil.
func (o *Object) CopyData(live *unstructured.Unstructured, newest *Object) {
	if newest == nil || newest.ownKeys() == nil {
		newest = o
	}
	rest, texts := map[string]any{}, map[string]any{}
	data, _, _ := unstructured.NestedStringMap(newest.ownData(live.Object), "data")
	for key, value := range data {
		text, err := base64.StdEncoding.DecodeString(value)
		if err == nil && utf8.Valid(text) && slices.Contains(o.stringKeys, key) {
			texts[key] = string(text)
		} else {
			rest[key] = value
		}
	}
	for field, values := range map[string]map[string]any{"data": rest, "stringData": texts} {
		if len(values) > 0 {
			o.Object[field] = values
		}
	}
	o.Withheld = nil
}
