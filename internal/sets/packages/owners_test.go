package packages

import (
	"slices"
	"testing"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
	"github.com/muster-deploy/muster/internal/sets/policy"
)

// TestTakenOver: a recorded object that another package has taken over is left alone and leaves the
// record, whether it is pruned or destroyed. Under kpt's grammar it stays in the record.
func TestTakenOver(t *testing.T) {
	own := object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "own"}
	taken := object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "taken"}
	for _, tc := range []struct {
		name     string
		destroys bool
		kpt      bool
		want     []object.Ref // in the record afterwards
	}{
		{"prune", false, false, []object.Ref{own}},
		{"prune of kpt", false, true, []object.Ref{taken, own}},
		{"destroy", true, false, nil},
		{"destroy of kpt", true, true, []object.Ref{taken}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, inv := newTestCluster(), groupAt()
			putRecord(t, c, inv, taken)
			put(c, taken, "others", "")
			options := policy.Options{FieldManager: policy.DefaultManager, OnlyInventories: tc.kpt}
			op := plannedWith(t, c, testPackage(t, own.Name), options)
			if err := op.CheckEmpty("the package"); err != nil {
				t.Error(err)
			}
			if tc.destroys {
				if _, err := run(t, op); err != nil {
					t.Fatal(err)
				}
				putRecord(t, c, inv, own, taken)
				put(c, taken, "others", "")
				var err error
				op, err = PrepareDestroy(c, inv, operation.DestroyOptions{
					Options: options, Notice: func(string) {},
				})
				if err == nil {
					err = op.MakePlan(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			before := c.Object(taken).GetResourceVersion()
			if summary, err := run(t, op); err != nil || summary.Failures() > 0 {
				t.Fatalf("summary = %+v, %v", summary, err)
			}
			if left := c.Object(taken); left == nil || left.GetResourceVersion() != before {
				t.Errorf("the object of others was changed: %v", left)
			}
			store := inventory.NewStore(c, inv, true)
			state, err := store.Load(t.Context())
			if err != nil || !slices.Equal(state.Refs(), tc.want) || store.Exists() != (tc.want != nil) {
				t.Errorf("record = %v, exists = %v, %v", state.Refs(), store.Exists(), err)
			}
		})
	}
}

// TestTakenOverAlone: a package without objects prunes nothing if others have taken over all that
// it deployed.
func TestTakenOverAlone(t *testing.T) {
	c, taken := newTestCluster(), object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "taken"}
	putRecord(t, c, groupAt(), taken)
	put(c, taken, "others", "")
	if err := planned(t, c, testPackage(t)).CheckEmpty("the package"); err != nil {
		t.Error(err)
	}
}
