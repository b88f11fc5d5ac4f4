package packages

import (
	"testing"

	"github.com/muster-deploy/muster/internal/plan"
)

// TestDigestOfLargeNumbers makes digests of objects that differ in the last digit of a number.
func TestDigestOfLargeNumbers(t *testing.T) {
	seen := map[string]bool{}
	for _, number := range []int64{1 << 53, 1<<53 + 1, 1234567890123456789, 1234567890123456788} {
		sum, err := plan.DigestOf(nil, map[string]any{"spec": map[string]any{"serial": []any{number}}})
		if err != nil || seen[sum] {
			t.Errorf("%d has the digest %s of another number: %v", number, sum, err)
		}
		seen[sum] = true
	}
}
