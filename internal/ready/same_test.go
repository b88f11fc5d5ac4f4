package ready

import "testing"

// TestSame: the name of a temporary file, which a controller creates again in each attempt, is
// nothing new. Other numbers are.
func TestSame(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"path not found", "path not found", true},
		{"stat /tmp/kustomization-2193969390/gone: not found",
			"stat /tmp/kustomization-87374304/gone: not found", true},
		{"open /tmp/render123456.yaml", "open /tmp/render654321.yaml", true},
		{"open /tmp/render123456.yaml", "open /tmp/other654321.yaml", false},
		{"open /srv/2026/a", "open /srv/2027/a", false},
		{"Replicas: 1/3", "Replicas: 2/3", false},
		{"imported 1234567 of 7654321 bytes", "imported 2234567 of 7654321 bytes", false},
	} {
		a, b := inProgress("Waiting", test.a), inProgress("Waiting", test.b)
		if a.Same(b) != test.same {
			t.Errorf("statuses %q, %q: same is %t", test.a, test.b, !test.same)
		}
		if (Cause{Message: test.a}).Same(Cause{Message: test.b}) != test.same {
			t.Errorf("causes %q, %q: same is %t", test.a, test.b, !test.same)
		}
	}
}
