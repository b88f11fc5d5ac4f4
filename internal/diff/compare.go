package diff

import "github.com/muster-deploy/muster/internal/diff/jsonvalue"

// compare returns the differences between the fields of two objects.
func compare(have, want map[string]any) Diff {
	var diff Diff
	options := jsonvalue.Options{Lists: jsonvalue.ByName, NullIsAbsent: true}
	jsonvalue.Walk(have, want, options, func(d jsonvalue.Difference) {
		kind := Changed
		switch {
		case !d.InOld:
			kind = Added
		case !d.InNew:
			kind = Removed
		}
		diff = append(diff, FieldChange{Path: d.Path.String(), Kind: kind, Old: d.Old, New: d.New})
	})
	return diff
}
