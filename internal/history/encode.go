package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// partSize is the limit of the data of one Secret in bytes. Servers refuse more than 1 MiB.
const partSize = 900 << 10

// The keys of the data of a part.
const (
	keyIndex   = "index"   // entries, as a JSON list, compressed
	keyObjects = "objects" // objects, as JSON lines, compressed
	keySecrets = "secrets" // secretData, as JSON lines, compressed
	keyDetails = "details" // Details, as JSON, compressed; missing if there are none
)

// entry is what the index says about an object.
type entry struct {
	object.Ref
	Source string `json:"source,omitempty"`
	Digest string `json:"digest"`
	// Data says where the data of a Secret is, if it is not with the object.
	Data DataPolicy `json:"data,omitempty"`
	// DataDigest and StringKeys describe data that is not with the object.
	DataDigest string   `json:"dataDigest,omitempty"`
	StringKeys []string `json:"stringKeys,omitempty"`
	// Keys are those of data that is not with the object; nil if they are not known.
	Keys *[]string `json:"dataKeys,omitempty"`
	// Unstored is that of the object.
	Unstored []string `json:"unstored,omitempty"`
	// Completed is that of the object.
	Completed time.Time `json:"completed,omitzero"`
}

// secretData is the data of one Secret.
type secretData struct {
	Name   string         `json:"name"`
	Fields map[string]any `json:"fields"` // data and stringData
}

// dataFields are the fields of a Secret that are its data.
var dataFields = []string{"data", "stringData"}

// content returns an object without metadata that a server sets. A null field and the status are
// the manifest's: the copy of what was applied last has them, and a custom resource may have a
// status that the server takes from its manifest. They must be restored.
func content(obj *unstructured.Unstructured) map[string]any {
	fields := maps.Clone(obj.Object)
	if metadata, ok := fields["metadata"].(map[string]any); ok {
		metadata = maps.Clone(metadata)
		for _, field := range object.ServerMetadata() {
			if metadata[field] != nil {
				delete(metadata, field)
			}
		}
		fields["metadata"] = metadata
	}
	return fields
}

// withoutData returns the fields of a Secret without its data, and its data.
func withoutData(fields map[string]any) (rest, data map[string]any) {
	rest, data = maps.Clone(fields), map[string]any{}
	for _, field := range dataFields {
		if value, ok := rest[field]; ok {
			data[field] = value
			delete(rest, field)
		}
	}
	return rest, data
}

// isSecret reports whether an object is a Secret.
func isSecret(ref object.Ref) bool { return ref.GroupKind() == secretKind.GroupKind() }

// line returns a value as JSON with sorted keys and the end of a line.
func line(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return b.Bytes(), err
}

// DigestOf returns what Object.Digest is for an object that is no Secret.
func DigestOf(obj *unstructured.Unstructured) (string, error) {
	text, err := line(content(obj))
	if err != nil {
		return "", fmt.Errorf("%s: %w", object.RefOf(obj), err)
	}
	return digest(text), nil
}

// digest returns the first 128 bits of the SHA-256 of some bytes.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// maxRevision limits the content of a revision in bytes, before it is packed. Whoever may write
// Secrets may have packed it.
const maxRevision = 64 << 20

// keyed is the content of one key of the data of parts.
type keyed struct {
	key  string
	data []byte
}

// pack divides contents into parts of at most partSize bytes, in order. There is at least one part.
func pack(contents ...keyed) []map[string][]byte {
	parts, room := []map[string][]byte{{}}, partSize
	for _, c := range contents {
		for len(c.data) > 0 {
			if room == 0 {
				parts, room = append(parts, map[string][]byte{}), partSize
			}
			n := min(room, len(c.data))
			parts[len(parts)-1][c.key] = c.data[:n]
			c.data, room = c.data[n:], room-n
		}
	}
	return parts
}

// sumOf returns the SHA-256 of the data of a part.
func sumOf(part map[string][]byte) string {
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(part)) {
		fmt.Fprintf(sum, "%s %d\n", key, len(part[key]))
		sum.Write(part[key])
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// encoded returns the data of a part as a Secret has it.
func encoded(part map[string][]byte) map[string]any {
	data := make(map[string]any, len(part))
	for key, value := range part {
		data[key] = base64.StdEncoding.EncodeToString(value)
	}
	return data
}

// dataOf returns the data of a Secret; a value that is no base64 is missing.
func dataOf(secret *unstructured.Unstructured) map[string][]byte {
	fields, _, _ := unstructured.NestedStringMap(secret.Object, "data")
	data := make(map[string][]byte, len(fields))
	for key, text := range fields {
		if value, err := base64.StdEncoding.DecodeString(text); err == nil {
			data[key] = value
		}
	}
	return data
}
