package live

import "testing"

// TestShorten cuts names of objects, of which the parts that tell them apart stay.
func TestShorten(t *testing.T) {
	for _, c := range []struct {
		name    string
		columns int
		ascii   bool
		want    string
	}{
		{"deployment.apps/web", 19, false, "deployment.apps/web"},
		{"deployment.apps/web", 18, false, "deployment.ap…/web"},
		{"deployment.apps/web", 8, false, "dep…/web"},
		{"deployment.apps/web", 8, true, "d.../web"},
		{"deployment.apps/web", 7, false, "web"},
		{"deployment.apps/web", 2, false, "…b"},
		{"shop/deployment.apps/web", 13, false, "shop/dep…/web"},
		{"job.batch/a-very-long-name-1", 16, false, "a-very-…g-name-1"},
		{"job.batch/世界世界世界", 8, false, "世…世界"},
		{"job.batch/web", 1, false, "…"},
		{"job.batch/web", 0, false, ""},
	} {
		if got := shorten(c.name, c.columns, c.ascii); got != c.want {
			t.Errorf("%s in %d columns: %q, want %q", c.name, c.columns, got, c.want)
		}
	}
}
