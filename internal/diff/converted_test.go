package diff_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/diff"
)

// TestConverted removes from the answer to a dry run what the server has not stored before.
func TestConverted(t *testing.T) {
	for _, tc := range []struct {
		name, answer, live, mine, others, applied, stored string
	}{
		{"lost", "{a: 1, b: 2}", "{a: 1}", "f:a: {}, f:b: {}", "", "x", "{a: 1}"},
		{"lost beside a change", "{a: 3, b: 2}", "{a: 1}", "f:a: {}, f:b: {}", "", "y", "{a: 3}"},
		{"new", "{a: 1, b: 2}", "{a: 1}", "f:a: {}", "", "y", "{a: 1, b: 2}"},
		{"of others", "{a: 1, b: 2}", "{a: 1}", "f:a: {}", "f:b: {}", "x", "{a: 1, b: 2}"},
		{"a map that was empty", "{a: {b: 1}}", "{}", "f:a: {}", "", "y", "{a: {b: 1}}"},
		{"a map as a whole", "{a: {b: 1}}", "{}", "f:a: {}", "", "x", "{}"},
		{"within", "{a: {b: {c: 1}}}", "{a: {}}", "f:a: {f:b: {f:c: {}}}", "", "x", "{a: {}}"},
		{"in an item", "{l: [{name: x, a: 1}, {name: y, a: 2}]}", "{l: [{name: x}, {name: y, a: 2}]}",
			`f:l: {'k:{"name":"x"}': {.: {}, f:name: {}, f:a: {}}}`, "", "x",
			"{l: [{name: x}, {name: y, a: 2}]}"},
		{"an item", "{l: [{name: x}, {name: y}]}", "{l: [{name: y}]}",
			`f:l: {'k:{"name":"x"}': {.: {}, f:name: {}}}`, "", "x", "{l: [{name: y}]}"},
		{"in a list as a whole", "{l: [{a: 1, b: 2}]}", "{l: [{a: 1}]}", "f:l: {}", "", "x",
			"{l: [{a: 1}]}"},
		{"new in a list as a whole", "{l: [{a: 1, b: 2}]}", "{l: [{a: 1}]}", "f:l: {}", "", "y",
			"{l: [{a: 1, b: 2}]}"},
		{"changed in a list by others", "{l: [{a: 1, b: 2}]}", "{l: [{a: 1}]}", "f:x: {}", "f:l: {}",
			"x", "{l: [{a: 1, b: 2}]}"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := func(spec, applied string) string {
				return "{apiVersion: example.com/v1, kind: X, metadata: {name: a, annotations: " +
					"{applied: " + applied + "}}, spec: " + spec + "}"
			}
			entry := func(manager, fields string) string {
				return "{manager: " + manager + ", operation: Update, apiVersion: example.com/v1" +
					", fieldsV1: {f:spec: {" + fields + "}}}"
			}
			answer, live := objectOf(t, of(tc.answer, tc.applied)), objectOf(t, of(tc.live, "x"))
			owned := objectOf(t, "{apiVersion: v1, kind: X, metadata: {name: a, managedFields: ["+
				entry("me", tc.mine)+","+entry("other", tc.others)+"]}}")
			live.SetManagedFields(owned.GetManagedFields())
			got := diff.Converted(answer, live, "me", "applied")
			if diff := cmp.Diff(objectOf(t, of(tc.stored, tc.applied)).Object, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(objectOf(t, of(tc.answer, tc.applied)).Object, answer.Object); diff != "" {
				t.Errorf("the answer was changed:\n%s", diff)
			}
		})
	}
}
