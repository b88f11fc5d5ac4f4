package diff_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/muster-deploy/muster/internal/diff"
)

// TestConverted removes from the answer to a dry run what the server has not stored before.
func TestConverted(t *testing.T) {
	const same = "as before"
	for _, tc := range []struct {
		name, answer, live, mine, after, others, applied, stored string
	}{
		{"lost", "{a: 1, b: 2}", "{a: 1}", "f:a: {}, f:b: {}", same, "", "x", "{a: 1}"},
		{"lost beside a change", "{a: 3, b: 2}", "{a: 1}", "f:a: {}, f:b: {}", same, "", "y", "{a: 3}"},
		{"new", "{a: 1, b: 2}", "{a: 1}", "f:a: {}", same, "", "y", "{a: 1, b: 2}"},
		{"of others", "{a: 1, b: 2}", "{a: 1}", "f:a: {}", same, "f:b: {}", "x", "{a: 1, b: 2}"},
		{"a map that was empty", "{a: {b: 1}}", "{}", "f:a: {}", "f:a: {f:b: {}}", "", "y",
			"{a: {b: 1}}"},
		{"a map that others have emptied", "{a: {b: 1}}", "{a: {}}", "f:a: {}", "f:a: {f:b: {}}", "",
			"x", "{a: {b: 1}}"},
		{"an item that others have emptied", "{l: [{name: x, a: 1}]}", "{l: [{name: x}]}",
			`f:l: {'k:{"name":"x"}': {.: {}}}`, `f:l: {'k:{"name":"x"}': {.: {}, f:a: {}}}`, "", "x",
			"{l: [{name: x, a: 1}]}"},
		{"a map as a whole", "{a: {b: 1}}", "{}", "f:a: {}", same, "", "x", "{}"},
		{"content of a map as a whole", "{a: {b: 1}}", "{a: {}}", "f:a: {}", same, "", "x", "{a: {}}"},
		{"within", "{a: {b: {c: 1}}}", "{a: {}}", "f:a: {f:b: {f:c: {}}}", same, "", "x", "{a: {}}"},
		{"in an item", "{l: [{name: x, a: 1}, {name: y, a: 2}]}", "{l: [{name: x}, {name: y, a: 2}]}",
			`f:l: {'k:{"name":"x"}': {.: {}, f:name: {}, f:a: {}}}`, same, "", "x",
			"{l: [{name: x}, {name: y, a: 2}]}"},
		{"an item", "{l: [{name: x}, {name: y}]}", "{l: [{name: y}]}",
			`f:l: {'k:{"name":"x"}': {.: {}, f:name: {}}}`, same, "", "x", "{l: [{name: y}]}"},
		{"in a list as a whole", "{l: [{a: 1, b: 2}]}", "{l: [{a: 1}]}", "f:l: {}", same, "", "x",
			"{l: [{a: 1}]}"},
		{"new in a list as a whole", "{l: [{a: 1, b: 2}]}", "{l: [{a: 1}]}", "f:l: {}", same, "", "y",
			"{l: [{a: 1, b: 2}]}"},
		{"changed in a list by others", "{l: [{a: 1, b: 2}]}", "{l: [{a: 1}]}", "f:x: {}", same,
			"f:l: {}", "x", "{l: [{a: 1, b: 2}]}"},
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
			managed := func(mine string) []metav1.ManagedFieldsEntry {
				return objectOf(t, "{apiVersion: v1, kind: X, metadata: {name: a, managedFields: ["+
					entry("me", mine)+","+entry("other", tc.others)+"]}}").GetManagedFields()
			}
			live.SetManagedFields(managed(tc.mine))
			if tc.after == same {
				tc.after = tc.mine
			}
			answer.SetManagedFields(managed(tc.after))
			sent := answer.DeepCopy()
			got := diff.Converted(answer, live, "me", "applied")
			if diff := cmp.Diff(sent.Object, answer.Object); diff != "" {
				t.Errorf("the answer was changed:\n%s", diff)
			}
			got.SetManagedFields(nil)
			if diff := cmp.Diff(objectOf(t, of(tc.stored, tc.applied)).Object, got.Object); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestConvertedBuiltin checks that content of a built-in kind counts, although its manager has sent
// the list before: the list was empty then, and no conversion drops values of these kinds.
func TestConvertedBuiltin(t *testing.T) {
	const account = "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, managedFields: [" +
		"{manager: me, operation: Apply, apiVersion: v1, fieldsV1: {f:imagePullSecrets: {}}}]}"
	answer := objectOf(t, account+", imagePullSecrets: [{name: b}]}")
	if got := diff.Converted(answer, objectOf(t, account+"}"), "me", "applied"); got != answer {
		t.Errorf("got %v", got)
	}
}
