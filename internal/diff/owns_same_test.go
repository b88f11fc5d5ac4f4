package diff_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/diff"
)

// TestOwnsSame covers what an apply changes of who owns the fields of an object: that of a manager
// which has only updated it, and one that adopts updates, among them the defaults of a creation.
func TestOwnsSame(t *testing.T) {
	entry := func(operation, fields string) string {
		return "{manager: me, apiVersion: v1, fieldsType: FieldsV1, operation: " + operation +
			", fieldsV1: {" + fields + "}}"
	}
	updated, applied := entry("Update", "f:a: {}, f:default: {}"), entry("Apply", "f:a: {}")
	for _, tc := range []struct {
		name          string
		before, after string
		adopted, same bool
	}{
		{"a second apply", applied, applied, false, true},
		{"a first apply", updated, updated + "," + applied, false, false},
		{"an apply beside updates", updated + "," + applied, updated + "," + applied, false, true},
		{"an apply that adopts updates", updated + "," + applied, updated + "," + applied, true, false},
		{"one that has adopted them", updated + "," + applied, applied, true, false},
		{"updates of what is applied", applied + "," + entry("Update", "f:a: {}"), applied, true, true},
	} {
		obj := func(entries string) *unstructured.Unstructured {
			return objectOf(t, "{apiVersion: v1, kind: X, metadata: {name: a, managedFields: ["+
				entries+"]}}")
		}
		same, err := diff.OwnsSame("me", obj(tc.before), obj(tc.after), tc.adopted)
		if err != nil || same != tc.same {
			t.Errorf("%s: %t (%v)", tc.name, same, err)
		}
	}
}
