package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// version is one version of a generated set, with ${NS} for the namespace of the test. Its keys and
// texts are those of contents.
type version struct {
	manifests string
	texts     map[string]string
}

// add adds an object.
func (v *version) add(obj *unstructured.Unstructured, text string) {
	data, _ := json.Marshal(obj) // of texts only
	v.manifests += "---\n" + string(data) + "\n"
	v.texts[key(obj)] = text
}

// versions returns two versions of a set of 5 to 15 objects: ConfigMaps and Secrets, some of which
// depend on the one before or on the Deployment, which is ready a second after its last change.
// Most objects are in both versions, with the same or another text.
func versions(random *rand.Rand, app bool) [2]version {
	set := [2]version{{texts: map[string]string{}}, {texts: map[string]string{}}}
	before := [2]*unstructured.Unstructured{}
	for i := range 5 + random.IntN(11) {
		kind := []string{"ConfigMap", "ConfigMap", "Secret"}[random.IntN(3)]
		if i == 0 {
			kind = "Deployment"
		}
		name := fmt.Sprintf("object-%02d", i)
		in, changes, depends := random.IntN(4), random.IntN(2), random.IntN(3)
		for v := range set {
			if in == 1-v {
				continue // it is in the other version only
			}
			text := fmt.Sprintf("%s of %d", name, v*changes)
			obj := generated(kind, name, text)
			switch {
			case app:
				annotate(obj, "kapp.k14s.io/change-group", "e2e/"+name)
				if before[v] != nil && depends == 0 {
					annotate(obj, "kapp.k14s.io/change-rule", fmt.Sprintf(
						"upsert after upserting e2e/%s", before[v].GetName()))
				}
			case before[v] != nil && depends == 0:
				annotate(obj, "config.kubernetes.io/depends-on", dependency(before[v]))
			}
			if before[v] == nil || before[v].GetKind() != "Deployment" || depends != 1 {
				before[v] = obj // otherwise the next object may depend on the Deployment, too
			}
			set[v].add(obj, text)
		}
	}
	return set
}

// The names of the objects of rich sets.
const (
	ownNamespace = "${NS}-own"
	ownGroup     = "${NS}.example.com"
	versionedMap = "versioned"
)

// enrich adds to both versions a versioned ConfigMap and, to one or both, a namespace with an
// object and a definition with an object.
func enrich(random *rand.Rand, set *[2]version) {
	ofNamespace, ofDefinition := random.IntN(3), random.IntN(3)
	for v := range set {
		text := fmt.Sprintf("of version %d", v)
		versioned := generated("ConfigMap", versionedMap, text)
		annotate(versioned, "kapp.k14s.io/versioned", "")
		set[v].add(versioned, text)
		if ofNamespace != 1-v {
			inner := generated("ConfigMap", "inner", text)
			inner.SetNamespace(ownNamespace)
			set[v].add(inner, text)
			set[v].add(generated("Namespace", ownNamespace, ""), "")
		}
		if ofDefinition != 1-v {
			thing := generated("Thing", "thing", text)
			thing.SetAPIVersion(ownGroup + "/v1")
			set[v].add(thing, text)
			set[v].add(definition(), "")
		}
	}
}

// definition returns the definition of Things.
func definition() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"spec": map[string]any{
			"group": ownGroup, "scope": "Namespaced",
			"names": map[string]any{"kind": "Thing", "plural": "things"},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{
					"type": "object", "x-kubernetes-preserve-unknown-fields": true,
				}},
			}},
		},
	}}
	crd.SetName("things." + ownGroup)
	return crd
}

// generated returns the manifest of an object of a set. Its namespace is that of the test.
func generated(kind, name, text string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	obj.SetName(name)
	switch kind {
	case "Deployment":
		labels := map[string]any{"app": name}
		obj.SetAPIVersion("apps/v1")
		obj.Object["spec"] = map[string]any{
			"selector": map[string]any{"matchLabels": labels},
			"template": map[string]any{
				"metadata": map[string]any{"labels": labels, "annotations": map[string]any{
					"local.muster.dev/ready-after": "1s", "text": text,
				}},
				"spec": map[string]any{"containers": []any{
					map[string]any{"name": "app", "image": "example/app:1"},
				}},
			},
		}
	case "Namespace":
	case "Secret":
		obj.Object["data"] = map[string]any{"text": base64.StdEncoding.EncodeToString([]byte(text))}
	default:
		obj.Object["data"] = map[string]any{"text": text}
	}
	return obj
}

func annotate(obj *unstructured.Unstructured, key, value string) {
	annotations := obj.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = value
	obj.SetAnnotations(annotations)
}

// dependency returns an object as depends-on names it. ${NS} is the namespace.
func dependency(obj *unstructured.Unstructured) string {
	group := strings.TrimSuffix(strings.TrimSuffix(obj.GetAPIVersion(), "v1"), "/")
	return fmt.Sprintf("%s/namespaces/${NS}/%s/%s", group, obj.GetKind(), obj.GetName())
}

// key returns the kind and the name of an object: ConfigMap/object-07.
func key(obj *unstructured.Unstructured) string { return obj.GetKind() + "/" + obj.GetName() }

// textOf returns the text of a generated object, empty if somebody removed it.
func textOf(obj *unstructured.Unstructured) string {
	fields := []string{"data", "text"}
	if obj.GetKind() == "Deployment" {
		fields = []string{"spec", "template", "metadata", "annotations", "text"}
	}
	text, _, _ := unstructured.NestedString(obj.Object, fields...)
	if obj.GetKind() == "Secret" {
		decoded, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return ""
		}
		return string(decoded)
	}
	return text
}
