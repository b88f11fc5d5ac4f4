package diff_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

func TestSecretTexts(t *testing.T) {
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret",
		"data": map[string]any{
			"pin": "MTIzNA==", "short": "MTIz", "key": "bGluZSBvbmUKbGluZSB0d28K",
		},
		"stringData": map[string]any{"token": "hunter2"},
	}}
	config := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"name": "shop"},
	}}
	mask := diff.SecretTexts(secret, config, nil)
	for text, want := range map[string]string{
		"pin 1234 is wrong":        "pin *** is wrong", // the shortest that is hidden
		"pin 123 is wrong":         "pin 123 is wrong",
		"MTIzNA== is refused":      "*** is refused",
		"begin line two end":       "begin *** end",
		"token=hunter2":            "token=***",
		"token=aHVudGVyMg==":       "token=***",
		"the shop cannot be found": "the shop cannot be found",
	} {
		if got := mask.Replace(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
