package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// BenchmarkDecodeList decodes 5,000 objects in pages of 500, as Read does.
func BenchmarkDecodeList(b *testing.B) {
	for _, kind := range []string{"deployment", "configmap"} {
		page := listPage(b, "../diff/testdata/applied_"+kind+".txtar", 500)
		for name, drop := range map[string]bool{"complete": false, "without-managed-fields": true} {
			b.Run(kind+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				b.SetBytes(int64(10 * len(page)))
				for b.Loop() {
					for range 10 {
						var list unstructured.UnstructuredList
						if _, _, err := jsonCodec(drop).Decode(page, nil, &list); err != nil {
							b.Fatal(err)
						}
					}
				}
			})
		}
	}
}

// listPage returns a page of a list with copies of the live object of an archive.
func listPage(b *testing.B, archive string, length int) []byte {
	b.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		b.Fatal(err)
	}
	var obj unstructured.Unstructured
	for _, file := range a.Files {
		if file.Name == "live.yaml" {
			if err := yaml.Unmarshal(file.Data, &obj.Object); err != nil {
				b.Fatal(err)
			}
		}
	}
	items := make([]any, length)
	for i := range items {
		item := obj.DeepCopy()
		item.SetName(fmt.Sprintf("object-%d", i))
		item.SetUID("0d2c7ad4-9a0a-4b5c-8a6f-3c5a3f6a1b2c")
		items[i] = item.Object
	}
	var page bytes.Buffer
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": items}
	if err := json.NewEncoder(&page).Encode(list); err != nil {
		b.Fatal(err)
	}
	return page.Bytes()
}
