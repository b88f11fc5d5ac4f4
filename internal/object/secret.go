package object

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// IsSecret reports whether an object is a Secret; nil is none.
func IsSecret(obj *unstructured.Unstructured) bool {
	return obj != nil && obj.GroupVersionKind().GroupKind() == schema.GroupKind{Kind: "Secret"}
}

// IsPrivate reports whether a top-level field of a Secret holds private values; unknown fields do.
func IsPrivate(field string) bool {
	switch field {
	case "apiVersion", "kind", "metadata", "type", "immutable":
		return false
	}
	return true
}

// minHidden is the length of the values that HideValues hides. Shorter ones are parts of any text.
const minHidden = 3

// HideValues returns a text of others about an object, such as the message of a rule, with "***" in
// place of the values of a Secret: as the object has them, and decoded from base64.
func HideValues(obj *unstructured.Unstructured, text string) string {
	if text == "" || !IsSecret(obj) {
		return text
	}
	var values []string
	for field, value := range obj.Object {
		if IsPrivate(field) {
			values = appendTexts(values, value)
		}
	}
	// A value may be a part of another one.
	slices.SortFunc(values, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	for _, value := range values {
		text = strings.ReplaceAll(text, value, "***")
	}
	return text
}

// appendTexts appends the texts of all scalars of a value.
func appendTexts(list []string, value any) []string {
	switch value := value.(type) {
	case map[string]any:
		for _, element := range value {
			list = appendTexts(list, element)
		}
	case []any:
		for _, element := range value {
			list = appendTexts(list, element)
		}
	case nil, bool:
	default:
		text := fmt.Sprint(value)
		decoded, _ := base64.StdEncoding.DecodeString(text)
		for _, text := range []string{text, string(decoded)} {
			if len(text) >= minHidden {
				list = append(list, text)
			}
		}
	}
	return list
}
