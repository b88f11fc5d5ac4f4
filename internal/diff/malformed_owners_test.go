package diff_test

import (
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/diff"
)

// TestMalformedOwners checks that owners of fields which nobody can read are an error wherever they
// matter, rather than no owners.
func TestMalformedOwners(t *testing.T) {
	live := parsed(t, `
apiVersion: example.com/v1
kind: Widget
metadata:
  name: a
  managedFields:
  - {manager: me, operation: Apply, apiVersion: example.com/v1, fieldsType: FieldsV1,
     fieldsV1: {"f:spec": {"f:size": {}}}}
  - {manager: them, operation: Update, apiVersion: example.com/v1, fieldsType: FieldsV1,
     fieldsV1: {"f:spec": {"k:{": {}}}}
spec: {size: 1}
`)
	want := parsed(t, `{apiVersion: example.com/v1, kind: Widget, metadata: {name: a}}`)
	empty := parsed(t, `{apiVersion: example.com/v1, kind: Widget, spec: {}}`)
	by := diff.Applier{Manager: "me"}
	for name, err := range map[string]error{
		"AppliedBy":   second(diff.AppliedBy(want, live, "me")),
		"AfterApply":  second(diff.AfterApply(want, live, by)),
		"EmptyMaps":   second(diff.EmptyMaps(want, live, by)),
		"AppliedPart": second(diff.AppliedPart(live, want, diff.Setter{Manager: "me"})),
		"WithAdded":   second(diff.WithAdded(want, empty, live, diff.Setter{Manager: "me"})),
		"Contested": second(diff.Contested(diff.Comparison{
			Want: want, Live: live, Manager: "me", Operation: "Apply"})),
	} {
		if err == nil || !strings.Contains(err.Error(), `managed fields of "them"`) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// second returns the error of two results.
func second[T any](_ T, err error) error { return err }
