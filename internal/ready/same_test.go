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

// The next attempt of a controller has no other reason although numbers and names differ.
func TestReason(t *testing.T) {
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"back-off 10s restarting failed container", "back-off 5m0s restarting failed container", true},
		{`pods "web-7d9f8-x2k4p" is forbidden`, `pods "web-5c6bd-bbzcd" is forbidden`, true},
		{`pods "web-bcdfg" is forbidden`, `pods "web-zzxxc" is forbidden`, true},
		{"read tcp 10.0.0.3:53211->10.0.0.9:53: i/o timeout",
			"read tcp 10.0.0.3:53399->10.0.0.9:53: i/o timeout", true},
		{"failed at 2026-11-29T12:00:01Z (x3)", "failed at 2026-11-29T12:00:09Z (x4)", true},
		{"image not found", "volume not found", false},
	} {
		a, b := Cause{Message: test.a}, Cause{Message: test.b}
		if (a.Reason() == b.Reason()) != test.same {
			t.Errorf("%q, %q: %q, %q", test.a, test.b, a.Reason(), b.Reason())
		}
	}
	for _, test := range []struct {
		a, b string
		same bool
	}{
		{"next attempt at 12:00:01", "next attempt at 12:03:01", true},
		{"retry in 1m20s, since 2026-11-29T12:00:01Z", "retry in 32s, since 2026-11-30T01:00:01Z", true},
		{"Replicas: 1/3", "Replicas: 2/3", false},
	} {
		a, b := inProgress("Waiting", test.a), inProgress("Waiting", test.b)
		if a.WithoutTimes().Same(b.WithoutTimes()) != test.same {
			t.Errorf("statuses %q, %q: same is %t", test.a, test.b, !test.same)
		}
	}
}
