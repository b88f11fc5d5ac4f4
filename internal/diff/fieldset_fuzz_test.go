package diff

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/json"
)

// FuzzFieldSet looks for managed fields that panic when they are read.
func FuzzFieldSet(f *testing.F) {
	for _, text := range []string{"{}", `{"f:spec": {".": {}, "f:replicas": {}}}`,
		`{"f:spec": {"k:{\"name\":\"web\"}": {"f:image": {}}, "v:1": {}, "i:0": {}}}`,
		`{"k:1": {}}`, `{"x:y": {}}`, `{"f": {}}`, `{"i:99999999999999999999": {}}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var document map[string]any
		if json.Unmarshal(text, &document) != nil {
			return
		}
		set := &fieldSet{}
		if set.add(document) == nil {
			again := &fieldSet{}
			if err := again.add(document); err != nil || again.isLeaf() != set.isLeaf() {
				t.Errorf("%s is read in two ways: %v", text, err)
			}
		}
	})
}
