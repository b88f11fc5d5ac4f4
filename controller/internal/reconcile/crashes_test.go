package reconcile

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/run"
)

// crash lets an earlier process have crashed during a run of a Set, which the next one notes.
func (p *plane) crash(t *testing.T, set *v1alpha1.Set) {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(run.Crashed{
		Namespace: set.Namespace, Name: set.Name, UID: set.UID, Generation: set.Generation,
		Reconcile: set.Annotations[v1alpha1.AnnotationReconcile],
	})
	if err != nil {
		t.Fatal(err)
	}
	err = os.WriteFile(filepath.Join(dir, "shop_shop.running"), text, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, crashed, err := run.OpenJournal(dir)
	if err != nil || len(crashed) != 1 {
		t.Fatalf("%v, %v", crashed, err)
	}
	p.NoteCrashes(t.Context(), crashed)
	if _, crashed, _ := run.OpenJournal(dir); len(crashed) > 0 {
		t.Error("the crash is noted twice")
	}
}

// get returns the Set as the server has it.
func (p *plane) get(t *testing.T) *v1alpha1.Set {
	t.Helper()
	set := &v1alpha1.Set{}
	name := client.ObjectKey{Namespace: "shop", Name: "shop"}
	if err := p.server.Get(context.Background(), name, set); err != nil {
		t.Fatal(err)
	}
	return set
}

// TestCrashes: a Set whose runs were under way at two crashes in a row is put aside until it is
// changed, or a run is asked for.
func TestCrashes(t *testing.T) {
	changes := map[string]func(*v1alpha1.Set){
		"a new generation": func(set *v1alpha1.Set) { set.Generation++ },
		"a request": func(set *v1alpha1.Set) {
			set.Annotations = map[string]string{v1alpha1.AnnotationReconcile: "now"}
		},
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			p, set := newPlane(t), shop("1", 1, "deployer")
			p.Client = p.server
			put(t, p.server, set)
			p.crash(t, shop("another", 1, "deployer"))
			if c := p.get(t).Status.Crashes; c.Count != 0 {
				t.Errorf("a crash of another Set of the name: %+v", c)
			}
			p.crash(t, set)
			if got := p.step(t); len(got) == 0 {
				t.Error("after one crash there is no run")
			}
			p.crash(t, set)
			if got := p.step(t); len(got) > 0 {
				t.Errorf("after two crashes there is a run of %q", got)
			}
			aside := p.get(t)
			stalled := meta.FindStatusCondition(aside.Status.Conditions, v1alpha1.ConditionStalled)
			if stalled == nil || stalled.Reason != "ControllerCrashed" ||
				!strings.Contains(stalled.Message, "muster reconcile shop -n shop") {
				t.Errorf("the condition is %+v", stalled)
			}
			change(aside)
			put(t, p.server, aside)
			if got := p.step(t); len(got) == 0 {
				t.Error("after a change there is no run")
			}
		})
	}
}
