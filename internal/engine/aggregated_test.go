package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// role makes a ClusterRole of the set. It has the label part-of if part is not empty, and
// aggregates the roles with that label if whole is not empty.
func role(name, part, whole string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole",
	})
	obj.SetName(name)
	obj.SetAnnotations(map[string]string{"owner": "me"})
	if part != "" {
		obj.SetLabels(map[string]string{"part-of": part})
	}
	if whole != "" {
		obj.Object["aggregationRule"] = map[string]any{"clusterRoleSelectors": []any{
			map[string]any{"matchLabels": map[string]any{"part-of": whole}},
		}}
	}
	return obj
}

func roleRef(name string) object.Ref { return object.RefOf(role(name, "", "")) }

// withRoles returns a world whose set has deployed roles: two parts and one that aggregates them,
// which its controller creates again at these times after its deletions.
func withRoles(waits ...time.Duration) *world {
	w := newWorld(&enginetest.Cluster{
		Rewrites: map[object.Ref][]time.Duration{roleRef("m-all"): waits},
	})
	for _, obj := range []*unstructured.Unstructured{
		role("a-part", "all", ""), role("m-all", "", "all"), role("z-part", "all", ""),
	} {
		w.Put(obj)
		w.store.State.Members = append(w.store.State.Members, record.Member{Ref: object.RefOf(obj)})
	}
	return w
}

// A role that aggregates others is deleted before these, and stays deleted although its controller
// applies it once more.
func TestAggregatedRoleStaysGone(t *testing.T) {
	for _, tc := range []struct {
		name  string
		waits []time.Duration
	}{
		{"never", nil}, {"soon", []time.Duration{time.Millisecond}},
		{"twice", []time.Duration{time.Millisecond, time.Second}}, {"late", []time.Duration{time.Second}},
	} {
		for _, how := range []string{"destroy", "prune", "waves"} {
			each(t, how+" "+tc.name, func(t *testing.T) {
				w, rules, desired := withRoles(tc.waits...), policy(), want()
				if rules.Waves = how == "waves"; how == "prune" {
					desired = want(thing("ConfigMap/a"))
				}
				summary, err := w.apply(t.Context(), rules, realRun, desired...)
				if err != nil || summary.Failures() > 0 {
					t.Errorf("%v: %+v\n%s", err, summary, strings.Join(w.lines, "\n"))
				}
				time.Sleep(time.Minute) // the controller writes later, if it does
				for _, ref := range w.Refs().Refs() {
					if ref.Kind == "ClusterRole" {
						t.Errorf("%s exists\n%s", ref, strings.Join(w.lines, "\n"))
					}
				}
				all := slices.Index(w.Wrote, "delete "+roleRef("m-all").String())
				for _, part := range []string{"a-part", "z-part"} {
					if at := slices.Index(w.Wrote, "delete "+roleRef(part).String()); at < all {
						t.Errorf("%s is deleted at %d, m-all at %d", part, at, all)
					}
				}
			})
		}
	}
}

// What somebody else creates in place of a deleted role stays, also if it has no mark of anybody.
func TestRoleOfOthersStays(t *testing.T) {
	for _, marked := range []bool{true, false} {
		each(t, "", func(t *testing.T) {
			w := withRoles()
			other := role("m-all", "", "")
			other.SetAnnotations(nil)
			if marked {
				other = role("m-all", "", "all")
				other.SetAnnotations(map[string]string{"owner": "other"})
			}
			other.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "kubectl-create"}})
			w.hear = func(e event.Event) {
				if e.Kind == event.Acted && e.Ref == roleRef("m-all") {
					w.Put(other)
				}
			}
			if _, err := w.apply(t.Context(), policy(), realRun); err != nil {
				t.Fatal(err)
			}
			if left := w.Refs().Refs(); len(left) != 1 || left[0] != roleRef("m-all") {
				t.Errorf("%v exist\n%s", left, strings.Join(w.lines, "\n"))
			}
		})
	}
}

// A role that came back and cannot be deleted fails the run and stays in the record.
func TestAggregatedRoleCannotBeDeletedAgain(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := withRoles(time.Millisecond)
		w.Answers = map[object.Ref][]error{roleRef("m-all"): {nil, errors.New("no more deletions")}}
		summary, err := w.apply(t.Context(), policy(), realRun)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(w.lines, "\n")
		if summary.Failures() != 1 || !strings.Contains(text, "no more deletions") {
			t.Errorf("%d failures:\n%s", summary.Failures(), text)
		}
		members := w.store.State.Members
		if len(members) != 1 || members[0].Ref != roleRef("m-all") {
			t.Errorf("recorded %v", members)
		}
	})
}
