package diff

import "testing"

// TestLostMaps finds maps without content that an apply has removed with their content.
func TestLostMaps(t *testing.T) {
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
	} {
		t.Run(tc.name, func(t *testing.T) {
			of := func(spec string) string { return "{metadata: {name: a}, spec: " + spec + "}" }
			got := LostMaps(objectOf(t, of(tc.applied)), objectOf(t, of(tc.before)),
				objectOf(t, of(tc.stored)))
			if got != tc.lost {
				t.Errorf("lost: %t, want %t", got, tc.lost)
			}
		})
	}
}
