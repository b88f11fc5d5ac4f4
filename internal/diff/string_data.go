package diff

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/muster-deploy/muster/internal/object"
)

// StaleStringData returns the keys, sorted, of the data of a live Secret that a manager has applied
// as stringData and that want lacks. No apply removes them: the server has moved the values to
// data, which nobody owns. Managed fields that cannot be read count as none.
func StaleStringData(live, want *unstructured.Unstructured, manager string) []string {
	if live == nil || !object.IsSecret(live) {
		return nil
	}
	applied, owned := map[string]bool{}, map[string]bool{}
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		set, err := managedSet(entry)
		if err != nil {
			return nil
		}
		set.Iterate(func(path fieldpath.Path) {
			if len(path) != 2 || path[0].FieldName == nil || path[1].FieldName == nil {
				return
			}
			switch key := *path[1].FieldName; *path[0].FieldName {
			case "stringData":
				applied[key] = applied[key] || entry.Manager == manager
			case "data":
				owned[key] = true
			}
		})
	}
	data, wanted := fieldsOf(live.Object, "data"), fieldsOf(WithEncodedData(want).Object, "data")
	var stale []string
	for key := range data {
		if _, ok := wanted[key]; !ok && applied[key] && !owned[key] {
			stale = append(stale, key)
		}
	}
	slices.Sort(stale)
	return stale
}
