package sets

import (
	"testing"

	"github.com/muster-deploy/muster/internal/feature/adopt"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// undoOf returns what an adoption of a set stores.
func undoOf(name string) *undoInfo {
	return &undoInfo{Request: adopt.Request{Tool: adopt.Selector, Namespace: "demo", Name: name}}
}

// What an undo needs is not overwritten by an adoption that was prepared before it was stored, nor
// is the state of another adoption changed.
func TestUndoOfOthersStays(t *testing.T) {
	for name, loaded := range map[string]bool{"none loaded": false, "an older one loaded": true} {
		t.Run(name, func(t *testing.T) {
			c := &enginetest.Cluster{}
			stores := []*undoStore{
				newUndoStore(c, appFormat(), "demo", "shop"), newUndoStore(c, appFormat(), "demo", "shop"),
			}
			if loaded {
				store := newUndoStore(c, appFormat(), "demo", "shop")
				if err := store.save(t.Context(), undoOf("old")); err != nil {
					t.Fatal(err)
				}
			}
			for _, store := range stores {
				if undo, err := store.load(t.Context()); err != nil || (undo != nil) != loaded {
					t.Fatalf("loaded %v, error %v", undo, err)
				}
			}
			if err := stores[0].save(t.Context(), undoOf("a")); err != nil {
				t.Fatal(err)
			}
			if err := stores[1].save(t.Context(), undoOf("b")); err == nil {
				t.Error("the second adoption was stored")
			}
			if err := stores[1].setState(t.Context(), stateRetired); err == nil {
				t.Error("the state was stored by the second adoption")
			}
			undo, err := newUndoStore(c, appFormat(), "demo", "shop").load(t.Context())
			if err != nil || undo == nil || undo.Request.Name != "a" || undo.Retired {
				t.Errorf("stored: %+v, error %v", undo, err)
			}
			if err := stores[0].setState(t.Context(), stateRetired); err != nil {
				t.Errorf("the state of the first adoption: %v", err)
			}
		})
	}
}
