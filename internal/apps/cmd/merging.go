package cmd

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/lastapplied"
	"github.com/muster-deploy/muster/internal/diff"
)

// With --apply-mode server-side the server merges what is described into the live object. What becomes of it is foreseen here,
// since that is what is compared and shown.

// declared is what the server is asked to merge into the live object of an update, with the history of what becomes of it.
func declared(c *change.Change, becomes *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	sent, err := c.ApplyConfiguration()
	if err != nil {
		return nil, err
	}
	return lastapplied.CopyAnnotations(becomes, sent), nil
}

// merged is what becomes of a live object when the server merges what is wanted into it: what was applied last and is not wanted
// any more goes, and what others have made stays.
func merged(live, before, want *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	owners := before.GetManagedFields()
	before, want = before.DeepCopy(), want.DeepCopy()
	before.SetManagedFields(nil)
	want.SetManagedFields(nil)
	recorded := lastapplied.Original(live)
	var emptied [][]string
	if recorded != nil {
		emptied = outline(nil, want.Object, recorded.Object)
	}
	_, becomes, err := diff.ThreeWay(recorded, want, before)
	if err != nil {
		return nil, err
	}
	becomes = becomes.DeepCopy()
	for _, path := range emptied {
		if left, _, _ := unstructured.NestedMap(becomes.Object, path...); len(left) == 0 {
			unstructured.RemoveNestedField(becomes.Object, path...)
		}
	}
	becomes.SetManagedFields(owners)
	return becomes, nil
}

// outline puts into what is wanted, in place, the maps that it has no more, without their fields: a map is not taken away as a
// whole, since others may have fields in it. It gives their paths, the inner ones first.
func outline(path []string, want, recorded map[string]any) (paths [][]string) {
	for key, value := range recorded {
		fields, isMap := value.(map[string]any)
		there, has := want[key]
		inner, _ := there.(map[string]any)
		if !isMap || has && inner == nil {
			continue
		}
		here := append(slices.Clone(path), key)
		if !has {
			inner = map[string]any{}
			want[key] = inner
		}
		paths = append(paths, outline(here, inner, fields)...)
		if !has {
			paths = append(paths, here)
		}
	}
	return paths
}
