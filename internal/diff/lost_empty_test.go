package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLostEmpty finds maps and lists without content that an apply has removed with their
// content.
func TestLostEmpty(t *testing.T) {
	for _, tc := range []struct {
		name, applied, before, stored string
		lost                          bool
	}{
		{"lost", "{a: {}}", "{a: {b: 1}}", "{}", true},
		{"lost with its parent", "{a: {c: {}}}", "{a: {c: {b: 1}}}", "{}", true},
		{"stored", "{a: {}}", "{a: {b: 1}}", "{a: {}}", false},
		{"with content of others", "{a: {}}", "{a: {b: 1}}", "{a: {d: 1}}", false},
		{"never stored", "{a: {}}", "{a: {}}", "{}", false},
		{"new", "{a: {}}", "{}", "{}", false},
		{"in a list", "{l: [{name: x, a: {}}]}", "{l: [{name: y}, {name: x, a: {b: 1}}]}",
			"{l: [{name: y}, {name: x}]}", true},
		{"a list", "{a: []}", "{a: [b]}", "{}", true},
		{"a list of items", "{l: [{name: x, a: []}]}", "{l: [{name: x, a: [{b: 1}]}]}",
			"{l: [{name: x}]}", true},
		{"a list with items of others", "{a: []}", "{a: [b]}", "{a: [c]}", false},
		{"a list that was never stored", "{a: []}", "{}", "{}", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := func(spec string) string { return "{metadata: {name: a}, spec: " + spec + "}" }
			got := LostEmpty(objectOf(t, of(tc.applied)), objectOf(t, of(tc.before)),
				objectOf(t, of(tc.stored)))
			if got != tc.lost {
				t.Errorf("lost: %t, want %t", got, tc.lost)
			}
		})
	}
}

// TestWithLostEmpty sets the maps and lists that an apply has removed with their content.
func TestWithLostEmpty(t *testing.T) {
	of := func(spec string) string { return "{metadata: {name: a}, spec: " + spec + "}" }
	for _, tc := range []struct{ name, applied, before, stored, result string }{
		{"lost", "{a: {}}", "{a: {b: 1}}", "{d: 1}", "{a: {}, d: 1}"},
		{"lost with its parent", "{a: {c: {}}}", "{a: {c: {b: 1}}}", "{}", "{a: {c: {}}}"},
		{"never stored", "{a: {}}", "{a: {}}", "{}", "{}"},
		{"in a list", "{l: [{name: x, a: {}}]}", "{l: [{name: y}, {name: x, a: {b: 1}}]}",
			"{l: [{name: y}, {name: x}]}", "{l: [{name: y}, {name: x, a: {}}]}"},
		{"lists", "{a: [], c: {d: []}}", "{a: [b], c: {d: [b]}}", "{}", "{a: [], c: {d: []}}"},
	} {
		stored := objectOf(t, of(tc.stored))
		got := WithLostEmpty(objectOf(t, of(tc.applied)), objectOf(t, of(tc.before)), stored)
		if diff := cmp.Diff(objectOf(t, of(tc.result)).Object, got.Object); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
		if diff := cmp.Diff(objectOf(t, of(tc.stored)).Object, stored.Object); diff != "" {
			t.Errorf("%s: the answer was changed:\n%s", tc.name, diff)
		}
	}
}
