// Package resource identifies and describes one object of an app, and names the labels and
// annotations that kapp sets or honours.
package resource

import (
	"crypto/md5"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/plaintext"
)

// Resource is one object of the input and its origin: "file 'a.yml' doc 1", "stdin doc 2". An
// object that was read from the cluster has no origin.
type Resource struct {
	*unstructured.Unstructured
	Origin string
}

// Describe returns the name of an object in kapp's lines: "deployment/web (apps/v1) namespace:
// demo", or "… cluster" without a namespace. Without a name it has its generateName and an
// asterisk. Control characters are replaced.
func Describe(obj *unstructured.Unstructured) string {
	where, name := "cluster", obj.GetName()
	if namespace := obj.GetNamespace(); namespace != "" {
		where = "namespace: " + namespace
	}
	if name == "" && obj.GetGenerateName() != "" {
		name = obj.GetGenerateName() + "*"
	}
	return plaintext.Printable(
		strings.ToLower(obj.GetKind()) + "/" + name + " (" + obj.GetAPIVersion() + ") " + where)
}

// Key returns the identity of an object without its version: "NAMESPACE/GROUP/KIND/NAME", as in
// "demo//ConfigMap/web".
func Key(obj *unstructured.Unstructured) string {
	gk := obj.GroupVersionKind().GroupKind()
	name := obj.GetName()
	if name == "" && obj.GetGenerateName() != "" {
		name = obj.GetGenerateName() + "*"
	}
	return obj.GetNamespace() + "/" + gk.Group + "/" + gk.Kind + "/" + name
}

// HasAnnotation reports whether an object has an annotation, whatever its value.
func HasAnnotation(obj *unstructured.Unstructured, key string) bool {
	_, found := Annotations(obj)[key]
	return found
}

// Annotations returns the annotations of an object without copying them; nil if they are not a map.
func Annotations(obj *unstructured.Unstructured) map[string]any {
	metadata, _ := obj.Object["metadata"].(map[string]any)
	all, _ := metadata["annotations"].(map[string]any)
	return all
}

// Annotation returns the value of one annotation; a value that is no text counts as absent.
func Annotation(obj *unstructured.Unstructured, key string) (value string, found bool) {
	value, found = Annotations(obj)[key].(string)
	return value, found
}

// Nonce returns the value of AnnNonce in a run.
func Nonce(now time.Time) string { return strconv.FormatInt(now.UnixNano(), 10) }

// IsExternal reports whether somebody else creates an object.
func IsExternal(obj *unstructured.Unstructured) bool {
	_, ok := obj.GetAnnotations()[AnnExists]
	return ok
}

// Association returns the value of LabelAssociation: "v1." and the MD5 of the key, in hex. The key
// of a versioned object is the one without its version's suffix.
func Association(key string) string {
	sum := md5.Sum([]byte(key)) // the format's choice, and no secret
	return "v1." + hex.EncodeToString(sum[:])
}

// Identity returns the value of AnnIdentity: "v1;KEY;APIVERSION".
func Identity(obj *unstructured.Unstructured) string {
	return "v1;" + Key(obj) + ";" + obj.GetAPIVersion()
}

// IsTransient reports whether an object with the label of an app was not deployed but created by a
// controller that copied the label: its identity is missing, or another object's.
func IsTransient(obj *unstructured.Unstructured) bool {
	parts := strings.Split(obj.GetAnnotations()[AnnIdentity], ";")
	return len(parts) != 3 || parts[0] != "v1" || parts[1] != Key(obj)
}

// IsGenerated reports whether the server made the name of an object that was deployed. Its identity
// has no name, so that it counts as transient: each deployment creates another one.
func IsGenerated(obj *unstructured.Unstructured) bool {
	if obj.GetGenerateName() == "" {
		return false
	}
	unnamed := &unstructured.Unstructured{Object: map[string]any{}}
	unnamed.SetGroupVersionKind(obj.GroupVersionKind())
	unnamed.SetNamespace(obj.GetNamespace())
	unnamed.SetGenerateName(obj.GetGenerateName())
	parts := strings.Split(obj.GetAnnotations()[AnnIdentity], ";")
	return len(parts) == 3 && parts[0] == "v1" && parts[1] == Key(unnamed)
}

// DeployedVersion returns the API version in which an object was deployed, by its identity, or "".
func DeployedVersion(obj *unstructured.Unstructured) string {
	parts := strings.Split(obj.GetAnnotations()[AnnIdentity], ";")
	if len(parts) != 3 {
		return ""
	}
	return parts[2]
}
