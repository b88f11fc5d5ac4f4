package golden

import (
	"slices"
	"testing"
)

func TestGrowth(t *testing.T) {
	missing, added := growth("a\nb\n", []string{"c", "b", "b"})
	if !slices.Equal(missing, []string{"a"}) || !slices.Equal(added, []string{"c"}) {
		t.Errorf("missing %q, added %q", missing, added)
	}
	if missing, added := growth("b\n", []string{"b"}); len(missing)+len(added) > 0 {
		t.Errorf("missing %q, added %q for equal lines", missing, added)
	}
}
