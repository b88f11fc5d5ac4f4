package packages

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/sets/operation"
	"github.com/muster-deploy/muster/internal/sets/packages/inventory"
)

// destroying prepares to destroy the package and makes the plan.
func destroying(t *testing.T, c testCluster) *operation.Operation {
	t.Helper()
	op, err := PrepareDestroy(c, groupAt(), operation.DestroyOptions{Notice: func(string) {}})
	if err == nil {
		err = op.MakePlan(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return op
}

// applied applies a package of ConfigMaps.
func applied(t *testing.T, c testCluster, names ...string) {
	t.Helper()
	if summary, err := run(t, planned(t, c, testPackage(t, names...))); err != nil ||
		summary.Failures() > 0 {
		t.Fatalf("summary = %+v, %v", summary, err)
	}
}

// concurrently runs a test with a cluster whose watches poll, so that several runs may share it.
func concurrently(t *testing.T, test func(t *testing.T, c testCluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newTestCluster()
		c.Polls = true
		test(t, c)
	})
}

// runUntil runs a plan, one write after the other, and calls do after the write of a ConfigMap.
func runUntil(t *testing.T, op *operation.Operation, name string, do func()) error {
	t.Helper()
	options := engine.Options{DryRun: engine.DryRunNone, Concurrency: 1}
	_, err := op.Run(t.Context(), options, func(e event.Event) {
		if e.Kind == event.Acted && e.Ref.Name == name {
			do()
		}
	})
	return err
}

// expectRecorded compares the ConfigMaps in the cluster and in the record, by their names.
func expectRecorded(t *testing.T, c testCluster, live, recorded string) {
	t.Helper()
	var exist []string
	for _, ref := range c.Refs().Refs() {
		if ref.Kind == "ConfigMap" {
			exist = append(exist, ref.Name)
		}
	}
	state, err := inventory.NewStore(c, groupAt(), true).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, ref := range state.Refs() {
		listed = append(listed, ref.Name)
	}
	slices.Sort(exist)
	slices.Sort(listed)
	got := strings.Join(exist, " ") + "; " + strings.Join(listed, " ")
	if diff := cmp.Diff(live+"; "+recorded, got); diff != "" {
		t.Errorf("objects and members (-want +got):\n%s", diff)
	}
}

// expectKept checks the error of a destroy that did not delete the record.
func expectKept(t *testing.T, err error, text string) {
	t.Helper()
	changed := (*record.ChangedError)(nil)
	if !errors.As(err, &changed) || err.Error() != "delete the record: "+text {
		t.Errorf("error = %v, want %q", err, text)
	}
}

// A destroy does not delete a record to which an apply has added an object.
func TestDestroyKeepsWhatAnotherRunAdded(t *testing.T) {
	concurrently(t, func(t *testing.T, c testCluster) {
		applied(t, c, "a")
		err := runUntil(t, destroying(t, c), "a", func() { applied(t, c, "b") })
		expectKept(t, err, "another run added 1 object (n/configmap/b) meanwhile: the record was kept")
		expectRecorded(t, c, "b", "b")
		if _, err := run(t, destroying(t, c)); err != nil {
			t.Error(err)
		}
		expectRecorded(t, c, "", "")
		if c.Object(groupAt().Ref) != nil {
			t.Error("the record is not deleted")
		}
	})
}

// A destroy does not delete a record whose objects an apply has created again, though it leaves the
// record as it was.
func TestDestroyKeepsWhatAnotherRunCreatedAgain(t *testing.T) {
	for _, dies := range []bool{false, true} {
		concurrently(t, func(t *testing.T, c testCluster) {
			applied(t, c, "a", "z")
			err := runUntil(t, destroying(t, c), "z", func() {
				op := planned(t, c, testPackage(t, "a", "z"))
				again := runUntil(t, op, "z", func() {
					if dies {
						c.Kill()
					}
				})
				if (again != nil) != dies {
					t.Error(again)
				}
				c.Revive()
			})
			expectKept(t, err, "another run added 1 object (n/configmap/z) meanwhile: the record was kept")
			expectRecorded(t, c, "z", "z")
		})
	}
}

// A recorded object that did not exist when the plan was made stays in the record if another run
// has created it by the end, whether that run survives or not.
func TestRecordedObjectThatAppears(t *testing.T) {
	for _, dies := range []bool{false, true} {
		for _, destroys := range []bool{false, true} {
			concurrently(t, func(t *testing.T, c testCluster) {
				expectAppeared(t, c, dies, destroys)
			})
		}
	}
}

func expectAppeared(t *testing.T, c testCluster, dies, destroys bool) {
	t.Helper()
	var second *operation.Operation
	err := runUntil(t, planned(t, c, testPackage(t, "a", "z")), "a", func() {
		if second = planned(t, c, testPackage(t, "a")); destroys {
			second = destroying(t, c)
		}
		if dies {
			c.Dies = len(c.Wrote) + 1 // the creation of z
		}
	})
	if (err != nil) != dies {
		t.Fatal(err)
	}
	c.Revive()
	_, err = run(t, second)
	if destroys {
		expectKept(t, err, "another run added 1 object (n/configmap/z) meanwhile: the record was kept")
	} else if err != nil {
		t.Errorf("dies %t, destroys %t: %v", dies, destroys, err)
	}
	if destroys {
		expectRecorded(t, c, "z", "z")
	} else {
		expectRecorded(t, c, "a z", "a z")
	}
	if _, err := run(t, destroying(t, c)); err != nil || c.Object(groupAt().Ref) != nil {
		t.Errorf("destroying the rest: %v", err)
	}
	expectRecorded(t, c, "", "")
}

// A recorded object that another run may still create stays in the record if that run has written
// the record since.
func TestRecordedObjectThatMayAppear(t *testing.T) {
	concurrently(t, func(t *testing.T, c testCluster) {
		applied(t, c, "a", "z")
		c.Remove(object.Ref{Kind: "ConfigMap", Namespace: "n", Name: "z"})
		second := planned(t, c, testPackage(t, "a"))
		first := planned(t, c, testPackage(t, "a", "z"))
		if err := runUntil(t, first, "a", func() {
			expectRecorded(t, c, "a", "a z")
			if _, err := run(t, second); err != nil {
				t.Error(err)
			}
			expectRecorded(t, c, "a", "a z")
			c.Kill()
		}); err == nil {
			t.Fatal("the first run ended well")
		}
		c.Revive()
		applied(t, c, "a")
		expectRecorded(t, c, "a", "a")
	})
}
