package app

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A kind that may be listed nowhere keeps the namespaces in which its objects may be, and the
// message names those that were tried.
func TestUnlistableKinds(t *testing.T) {
	secrets := schema.GroupResource{Resource: "secrets"}
	for _, tc := range []struct {
		kind             unlistableKind
		kept, permission string
	}{
		{unlistableKind{secrets, true, []string{"a"}}, "a", "list secrets in namespaces: a"},
		{unlistableKind{secrets, true, nil}, "a b", "list secrets in all namespaces"},
		{unlistableKind{secrets, false, nil}, "(cluster)", "list secrets"},
	} {
		u := unlistable{kinds: []unlistableKind{tc.kind}}
		kept := u.within([]string{"(cluster)", "a", "b"})
		if got := strings.Join(kept, " "); got != tc.kept {
			t.Errorf("namespaces %q, want %q", got, tc.kept)
		}
		if got := strings.Join(u.permissions(), "; "); got != tc.permission {
			t.Errorf("permissions %q, want %q", got, tc.permission)
		}
	}
}
