package diff

import (
	"fmt"
	"testing"

	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// An item is found among many without memory for each of the others.
func TestAllocationsOfIndexOf(t *testing.T) {
	var list []any
	for i := range 1_000 {
		list = append(list, map[string]any{"name": fmt.Sprint("n", i)})
	}
	element := fieldpath.PathElement{Key: fieldpath.KeyByFields("name", "n999")}
	count := testing.AllocsPerRun(10, func() {
		if at := indexOf(list, element); at != 999 {
			t.Errorf("the item is at %d", at)
		}
	})
	if count > 20 {
		t.Errorf("%v allocations", count)
	}
}
