package lastapplied

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The values here depend on other fields or on the replaced object. All others are in
// the table of package builtin.

// before changes an object, in place, before it gets the form of its type.
func before(obj *unstructured.Unstructured) {
	plain, ok := obj.Object["stringData"].(map[string]any)
	if !ok || !isKind(obj, "Secret") {
		return
	}
	delete(obj.Object, "stringData")
	data, ok := obj.Object["data"].(map[string]any)
	if !ok {
		data = map[string]any{}
		obj.Object["data"] = data
	}
	for key, value := range plain {
		if text, ok := value.(string); ok {
			data[key] = base64.StdEncoding.EncodeToString([]byte(text))
		}
	}
}

// after changes an object, in place, once it has its defaults. existing is the replaced object, or
// nil.
func after(obj, existing *unstructured.Unstructured) {
	switch obj.GetAPIVersion() + " " + obj.GetKind() {
	case "v1 Namespace":
		setMetadata(obj, "labels", "kubernetes.io/metadata.name", obj.GetName())
	case "v1 Service":
		setServiceAddresses(obj, existing)
	case "apps/v1 DaemonSet":
		setMetadata(obj, "annotations", "deprecated.daemonset.template.generation",
			strconv.Itoa(templateGeneration(obj, existing)))
	case "apiextensions.k8s.io/v1 CustomResourceDefinition":
		if names, ok := field(obj.Object, "spec", "names").(map[string]any); ok {
			kind, _ := names["kind"].(string)
			fill(names, "singular", strings.ToLower(kind))
			fill(names, "listKind", kind+"List")
		}
	}
}

// setMetadata sets a label or an annotation.
func setMetadata(obj *unstructured.Unstructured, where, key, value string) {
	metadata, ok := obj.Object["metadata"].(map[string]any)
	if !ok {
		return
	}
	values, ok := metadata[where].(map[string]any)
	if !ok {
		values = map[string]any{}
		metadata[where] = values
	}
	values[key] = value
}

// templateGeneration returns the number of changes of a DaemonSet's template, as the server still
// counts them.
func templateGeneration(obj, existing *unstructured.Unstructured) int {
	if existing == nil {
		return 1
	}
	text, _ := annotation(existing, "deprecated.daemonset.template.generation")
	generation, _ := strconv.Atoi(text) // 0 for an object that was not read from a server
	if !reflect.DeepEqual(field(obj.Object, "spec", "template"),
		field(existing.Object, "spec", "template")) {
		generation++
	}
	return generation
}

// setServiceAddresses sets the address fields of a Service that are assigned on creation: those of
// the replaced Service, or none for a headless one. The address of any other new Service is
// unpredictable.
func setServiceAddresses(obj, existing *unstructured.Unstructured) {
	spec, ok := obj.Object["spec"].(map[string]any)
	if !ok || spec["type"] == "ExternalName" {
		return
	}
	if existing != nil && reflect.DeepEqual(field(existing.Object, "spec", "type"), spec["type"]) {
		for _, name := range []string{"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} {
			if value := field(existing.Object, "spec", name); value != nil {
				fill(spec, name, value)
			}
		}
	}
	if spec["clusterIP"] != "None" {
		return
	}
	fill(spec, "clusterIPs", []any{"None"})
	if spec["selector"] == nil {
		fill(spec, "ipFamilies", []any{"IPv4", "IPv6"})
		fill(spec, "ipFamilyPolicy", "RequireDualStack")
		return
	}
	fill(spec, "ipFamilies", []any{"IPv4"})
	fill(spec, "ipFamilyPolicy", "SingleStack")
}

// fill sets a field that has no value.
func fill(fields map[string]any, name string, value any) {
	if fields[name] == nil {
		fields[name] = value
	}
}

// field returns the value at a path through maps, or nil.
func field(value any, path ...string) any {
	for _, name := range path {
		fields, _ := value.(map[string]any)
		value = fields[name]
	}
	return value
}
