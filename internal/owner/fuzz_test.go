package owner

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// FuzzOf looks for marks that panic, or that belong to an owner whom nobody can name.
func FuzzOf(f *testing.F) {
	for _, key := range []string{inventoryAnnotation, appLabel, argoTracking, argoInstance, helmName,
		ApplySetLabel} {
		f.Add(key, "shop")
		f.Add(key, "shop:apps/Deployment:n/web")
	}
	f.Fuzz(func(t *testing.T, key, value string) {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetLabels(map[string]string{key: value})
		obj.SetAnnotations(map[string]string{key: value})
		for _, o := range Of(obj) {
			if o.ID == "" && o.Name == "" || o.String() == "" || !o.Is(o) {
				t.Errorf("%s: %q has the owner %+v", key, value, o)
			}
		}
	})
}
