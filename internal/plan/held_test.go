package plan_test

import (
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/plan"
)

// The flag takes kinds with and without their group, in any case, and refuses names that would
// allow nothing.
func TestAllowDelete(t *testing.T) {
	for _, tc := range []struct {
		values string
		held   int
		err    string
	}{
		{"", 4, ""},
		{"namespace", 3, ""},
		{"CustomResourceDefinition.apiextensions.k8s.io Namespace", 2, ""},
		{"*", 0, ""},
		{"namespaces", 4, "must be one of Namespace, CustomResourceDefinition, " +
			"PersistentVolumeClaim, PersistentVolume, * for all, or none"},
		{"none", 4, ""},
	} {
		var allow plan.AllowDelete
		for value := range strings.FieldsSeq(tc.values) {
			if err := allow.Set(value); tc.err != "" && (err == nil || err.Error() != tc.err) ||
				tc.err == "" && err != nil {
				t.Errorf("%s: %v", value, err)
			}
		}
		if held := allow.Held(); len(held) != tc.held {
			t.Errorf("%q: held %v", tc.values, held)
		}
	}
}
