package versions

import (
	"fmt"
	"testing"
)

// FuzzSplit looks for names that panic, or that are not put together again.
func FuzzSplit(f *testing.F) {
	for _, name := range []string{"", "a", "a-ver-1", "-ver-", "a-ver-b-ver-2",
		"a-ver-99999999999999999999"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		base, number, ok := Split(name)
		if !ok {
			return
		}
		again, n, ok := Split(fmt.Sprintf("%s-ver-%d", base, number))
		if !ok || again != base || n != number {
			t.Errorf("%q is version %d of %q, which became %d of %q", name, number, base, n, again)
		}
	})
}
