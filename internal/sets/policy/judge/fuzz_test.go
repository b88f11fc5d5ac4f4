package judge

import "testing"

// FuzzMinimum looks for annotations whose minimum is none or more than all.
func FuzzMinimum(f *testing.F) {
	for _, text := range []string{"", "1", "50%", "-1", "200%", "0x1", "99999999999"} {
		f.Add(text, int64(3))
	}
	f.Fuzz(func(t *testing.T, text string, replicas int64) {
		replicas = 1 + (replicas&0xffff)%10_000
		if n, err := parseMinimum(text, replicas); err == nil && (n < 1 || n > replicas) {
			t.Errorf("%q of %d replicas is %d", text, replicas, n)
		}
	})
}
