package deploy

import (
	"context"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/sets/app"
)

// locksHeld returns the names of the locks in a world.
func (w *world) locksHeld() string {
	var names []string
	for _, ref := range w.cluster.Refs().Refs() {
		if ref.Kind == lock.Kind.Kind {
			names = append(names, ref.Name)
		}
	}
	return strings.Join(names, " ")
}

// change stores the ConfigMap a with another value, as another client does.
func (w *world) change() {
	obj := w.cluster.Object(configMapRef("a"))
	if err := unstructured.SetNestedField(obj.Object, "others", "data", "k"); err != nil {
		w.t.Fatal(err)
	}
	w.cluster.Put(obj)
}

// replace stores the ConfigMap a as another object.
func (w *world) replace() {
	obj := w.cluster.Object(configMapRef("a"))
	w.cluster.Remove(configMapRef("a"))
	obj.SetUID("")
	w.cluster.Put(obj)
}

// No lock is held while the user is asked. What others change meanwhile is found when an object is
// written, and refused if it is another object now.
func TestAsked(t *testing.T) {
	deploy := func(w *world) error {
		_, err := w.Deploy(t.Context(), w.request(configMap("a", "2")))
		return err
	}
	remove := func(w *world) error {
		_, err := w.Delete(t.Context(), w.deleteRequest())
		return err
	}
	rename := func(w *world) error {
		return w.Rename(t.Context(), RenameRequest{
			App: app.Name{Name: "web", Namespace: "demo"}, To: app.Name{Name: "shop"},
		})
	}
	for name, tc := range map[string]struct {
		run       func(*world) error
		meanwhile func(*world)
		refused   bool
	}{
		"deploy, the same":      {deploy, func(*world) {}, false},
		"delete, the same":      {remove, func(*world) {}, false},
		"delete, changed":       {remove, (*world).change, false},
		"delete, replaced":      {remove, (*world).replace, true},
		"rename, record exists": {rename, func(*world) {}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if _, err := w.Deploy(t.Context(), w.request(configMap("a", "1"))); err != nil {
				t.Fatal(err)
			}
			w.Lock = func(
				ctx context.Context, set lock.Set, command string,
			) (*lock.Lock, context.Context, error) {
				return lock.Acquire(ctx, w.cluster, set, lock.Options{Manager: "muster", Holder: lock.Holder{
					Run: lock.NewRun(), Command: command, Since: time.Now(),
				}})
			}
			asked := 0
			w.answer = func() error {
				asked++
				if held := w.locksHeld(); held != "" {
					t.Errorf("while the user is asked, these locks are held: %s", held)
				}
				tc.meanwhile(w)
				return nil
			}
			w.output()
			err := tc.run(w)
			if refused := err != nil && strings.Contains(err.Error(), "replaced by"); asked != 1 ||
				refused != tc.refused || err != nil && !refused {
				t.Errorf("asked %d times, error %v", asked, err)
			}
			if now := w.cluster.Object(configMapRef("a")); tc.refused && now == nil {
				t.Error("the object was deleted")
			}
			if held := w.locksHeld(); held != "" {
				t.Errorf("left locks: %s", held)
			}
		})
	}
}
