package run

import (
	"testing"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
)

// TestJournal: a process finds the runs that were under way when the one before it crashed, and no
// others.
func TestJournal(t *testing.T) {
	dir := t.TempDir()
	names := func() (names []string) {
		_, crashed, err := OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range crashed {
			names = append(names, c.Namespace+"/"+c.Name+" "+string(c.UID)+" "+c.Reconcile)
		}
		return names
	}
	journal, crashed, err := OpenJournal(dir)
	if err != nil || len(crashed) > 0 {
		t.Fatalf("a new folder: %v, %v", crashed, err)
	}
	begin := func(name string) (ended func()) {
		set := &v1alpha1.Set{}
		set.Namespace, set.Name, set.UID = "shop", name, "1"
		set.Annotations = map[string]string{v1alpha1.AnnotationReconcile: "now"}
		ended, err := journal.begin(set)
		if err != nil {
			t.Fatal(err)
		}
		return ended
	}
	web, db := begin("web"), begin("db")
	again := begin("web") // an abandoned run may end later
	db()
	db()
	web()
	if got := names(); len(got) != 1 || got[0] != "shop/web 1 now" {
		t.Errorf("after a crash: %q", got)
	}
	again()
	if got := names(); len(got) != 0 {
		t.Errorf("after all runs have ended: %q", got)
	}
	begin("web")
	if err := journal.Close(); err != nil {
		t.Fatal(err)
	}
	if got := names(); len(got) != 0 {
		t.Errorf("after an end in order: %q", got)
	}
}
