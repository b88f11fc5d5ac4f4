package clusters

import (
	"testing"

	"k8s.io/client-go/rest"
)

// TestNoAccount: without a service account there is no connection to the controller's own cluster,
// since that would have the permissions of the controller.
func TestNoAccount(t *testing.T) {
	pool := NewPool(&rest.Config{Host: "https://near"}, secrets{}, "test", nil)
	if _, err := pool.As(t.Context(), setOf("shop", ""), "deployer"); err != nil {
		t.Fatal(err)
	}
	if as, err := pool.As(t.Context(), setOf("shop", ""), ""); err == nil {
		t.Errorf("without an account: connected as %q", as.Key)
	}
	if len(pool.identities) != 0 {
		t.Errorf("identities that nobody has: %d", len(pool.identities))
	}
}
