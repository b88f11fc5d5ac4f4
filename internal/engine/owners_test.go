package engine_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// own makes live objects the owners of another one, as a controller does.
func (w *world) own(name string, owners ...string) {
	obj := w.Object(ref(name))
	var refs []metav1.OwnerReference
	for _, owner := range owners {
		uid := types.UID(owner) // of an object outside the set
		if live := w.Object(ref(owner)); live != nil {
			uid = live.GetUID()
		}
		kind, name, _ := strings.Cut(owner, "/")
		refs = append(refs, metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: name, UID: uid})
	}
	obj.SetOwnerReferences(refs)
	w.Put(obj)
}

// TestOwnerOfMemberIsKept has owners that are no longer desired. The garbage collector would delete
// members that stay, and that nothing else owns, with them: such owners stay as well.
func TestOwnerOfMemberIsKept(t *testing.T) {
	type ownership map[string][]string
	for _, tc := range []struct {
		name    string
		owners  ownership
		desired []string
		deleted string // kinds
	}{
		{"owner of a desired object", ownership{"Service/c": {"Service/a"}}, []string{"Service/c"}, "b"},
		{"its owner", ownership{"Service/c": {"Service/b"}, "Service/b": {"Service/a"}},
			[]string{"Service/c"}, ""},
		{"one of two owners", ownership{"Service/c": {"Service/a", "Service/b"}},
			[]string{"Service/b", "Service/c"}, "a"},
		{"both owners", ownership{"Service/c": {"Service/a", "Service/b"}}, []string{"Service/c"}, ""},
		{"beside one outside", ownership{"Service/c": {"Service/a", "Service/other"}},
			[]string{"Service/c"}, "a b"},
		{"owner of one that is deleted too", ownership{"Service/b": {"Service/a"}},
			[]string{"Service/c"}, "a b"},
		{"a cycle", ownership{"Service/a": {"Service/b"}, "Service/b": {"Service/a"}},
			[]string{"Service/c"}, "a b"},
	} {
		for _, mode := range writeModes[:2] {
			each(t, tc.name+" "+mode.name, func(t *testing.T) {
				w := newWorld(&enginetest.Cluster{Collects: true})
				w.Put(thing("Service/other"))
				rules := policy()
				rules.ServerSide, rules.Manager = mode.serverSide, "me"
				if _, err := w.apply(t.Context(), rules, realRun,
					want(thing("Service/a"), thing("Service/b"), thing("Service/c"))...); err != nil {
					t.Fatal(err)
				}
				for name, owners := range tc.owners {
					w.own(name, owners...)
				}
				var desired []*unstructured.Unstructured
				for _, name := range tc.desired {
					desired = append(desired, thing(name))
				}
				summary, err := w.apply(t.Context(), rules, realRun, want(desired...)...)
				if err != nil || summary.Failures() > 0 {
					t.Fatalf("%+v, %v", summary, err)
				}
				for _, name := range []string{"a", "b", "c"} {
					exists := w.Object(ref("Service/"+name)) != nil
					if exists == strings.Contains(tc.deleted, name) {
						t.Errorf("%s exists: %t\n%s", name, exists, strings.Join(w.lines, "\n"))
					}
				}
				expectTracked(t, w)
			})
		}
	}
}

// TestOwnerInManifestIsKept has a manifest that names the owner itself, which is no longer
// desired: the new object would be collected as soon as the owner is deleted.
func TestOwnerInManifestIsKept(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Collects: true})
		if _, err := w.apply(t.Context(), policy(), realRun,
			want(thing("Service/a"))...); err != nil {
			t.Fatal(err)
		}
		owned := thing("Service/c")
		owned.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "v1", Kind: "Service", Name: "a", UID: w.Object(ref("Service/a")).GetUID(),
		}})
		if _, err := w.apply(t.Context(), policy(), realRun, want(owned)...); err != nil {
			t.Fatal(err)
		}
		if w.Object(ref("Service/c")) == nil || w.Object(ref("Service/a")) == nil {
			t.Error(strings.Join(w.lines, "\n"))
		}
	})
}

// TestOwnerOfRetainedStays has a destroy that leaves an object in the cluster, or holds it back,
// and deletes its owner: it stays with that.
func TestOwnerOfRetainedStays(t *testing.T) {
	for _, kind := range []string{"Service", "PersistentVolumeClaim"} {
		each(t, kind, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Collects: true})
			rules := policy()
			rules.Retain = []plan.Annotation{{Key: "keep", Value: "yes"}}
			rules.Held = plan.AllowDelete{}.Held()
			owned := thing(kind + "/c")
			if kind == "Service" {
				owned = thing("Service/c", "keep=yes")
			}
			if _, err := w.apply(t.Context(), rules, realRun,
				want(thing("Service/a"), thing("Service/b"), owned)...); err != nil {
				t.Fatal(err)
			}
			w.own(kind+"/c", "Service/a")
			if _, err := w.apply(t.Context(), rules, realRun); err != nil {
				t.Fatal(err)
			}
			if w.Object(ref(kind+"/c")) == nil || w.Object(ref("Service/a")) == nil ||
				w.Object(ref("Service/b")) != nil {
				t.Errorf("left %v:\n%s", w.Refs().Refs(), strings.Join(w.lines, "\n"))
			}
			expectTracked(t, w)
		})
	}
}

// TestOwnerOfMemberIsNotRecreated has an owner whose recreation would delete a member with it. The
// step fails in plans and runs, says which object would be lost, and nothing is deleted.
func TestOwnerOfMemberIsNotRecreated(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "Service"}, "a", nil)
	for _, mode := range writeModes[:2] {
		for _, in := range []plan.Replacement{
			plan.ReplaceAlways, plan.ReplaceInvalid, plan.ReplaceImmutable,
		} {
			for _, dryRun := range []engine.DryRun{
				engine.DryRunNone, engine.DryRunClient, engine.DryRunServer,
			} {
				for _, outside := range []bool{false, true} {
					name := strings.Join([]string{mode.name, string(in), string(dryRun)}, " ")
					each(t, name, func(t *testing.T) {
						if dryRun == engine.DryRunClient && mode.serverSide && in != plan.ReplaceAlways {
							return // the server is not asked
						}
						w := newWorld(&enginetest.Cluster{Collects: true})
						w.Put(thing("Service/other"))
						if _, err := w.apply(t.Context(), policy(), realRun,
							want(thing("Service/a", "is=old"), thing("Service/c"))...); err != nil {
							t.Fatal(err)
						}
						owners := []string{"Service/a"}
						if outside {
							owners = append(owners, "Service/other")
						}
						w.own("Service/c", owners...)
						rules := policy()
						rules.ServerSide, rules.RecreateHint = mode.serverSide, "--recreate KIND does it"
						rules.Replacement = func(obj *unstructured.Unstructured) (plan.Replacement, error) {
							if obj.GetName() != "a" {
								return "", nil
							}
							return in, nil
						}
						if in != plan.ReplaceAlways {
							w.Answers = map[object.Ref][]error{ref("Service/a"): {invalid}}
						}
						var acted event.Event
						w.hear = func(e event.Event) {
							if e.Kind == event.Acted && e.Ref == ref("Service/a") {
								acted = e
							}
						}
						if _, err := w.apply(t.Context(), rules, engine.Options{DryRun: dryRun},
							want(thing("Service/a", "is=new"), thing("Service/c"))...); err != nil {
							t.Fatal(err)
						}
						if w.Object(ref("Service/c")) == nil {
							t.Errorf("the member is gone:\n%s", strings.Join(w.lines, "\n"))
						}
						if outside {
							if acted.Err != nil {
								t.Errorf("error %v", acted.Err)
							}
							return
						}
						if acted.Err == nil || !strings.Contains(acted.Err.Error(), "service/c") ||
							!strings.Contains(acted.Err.Error(), "owner reference") {
							t.Errorf("error %v", acted.Err)
						}
						if dryRun == engine.DryRunNone && w.is("Service/a") != "old" {
							t.Errorf("the owner is %q", w.is("Service/a"))
						}
					})
				}
			}
		}
	}
}

// TestOwnerIsLeaving has an owner that somebody deletes: the member that only it owns will be
// collected, and is created after that in the same run.
func TestOwnerIsLeaving(t *testing.T) {
	each(t, "", func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{Collects: true})
		objects := want(thing("ConfigMap/held"), thing("Service/c"))
		if _, err := w.apply(t.Context(), recreating(), realRun, objects...); err != nil {
			t.Fatal(err)
		}
		w.own("Service/c", "ConfigMap/held")
		before := w.Object(ref("Service/c")).GetUID()
		w.leave(t, "ConfigMap/held", 60e9)
		summary, err := w.apply(t.Context(), recreating(), realRun, objects...)
		if err != nil || summary.Failures() > 0 {
			t.Fatalf("%+v, %v", summary, err)
		}
		after := w.Object(ref("Service/c"))
		if after == nil || after.GetUID() == before {
			t.Errorf("the member is %v:\n%s", after, strings.Join(w.lines, "\n"))
		}
	})
}

// TestRetainedLosesReferenceToRecord has a destroy that leaves an object in the cluster whose owner
// is the object that holds the record: without another owner it would be deleted with that.
func TestRetainedLosesReferenceToRecord(t *testing.T) {
	for _, others := range [][]string{nil, {"Service/other"}} {
		each(t, strings.Join(others, ""), func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Collects: true})
			w.store.UID = "ConfigMap/record"
			w.Put(thing("Service/other"))
			rules := policy()
			rules.Retain = []plan.Annotation{{Key: "keep", Value: "yes"}}
			if _, err := w.apply(t.Context(), rules, realRun,
				want(thing("Service/a"), thing("Service/b", "keep=yes"))...); err != nil {
				t.Fatal(err)
			}
			w.own("Service/b", append(others, "ConfigMap/record")...)
			if _, err := w.apply(t.Context(), rules, realRun); err != nil {
				t.Fatal(err)
			}
			left := w.Object(ref("Service/b"))
			if left == nil || len(left.GetOwnerReferences()) != len(others) || !w.store.Deleted {
				t.Errorf("left %v:\n%s", left, strings.Join(w.lines, "\n"))
			}
		})
	}
}

// TestOwnerOutsideTheSet has members that objects of others own. If somebody deletes such an owner
// while the run is under way, the member goes with it, and the run is no success.
func TestOwnerOutsideTheSet(t *testing.T) {
	for _, owner := range []string{"Service/deleted", "Service/kept"} {
		each(t, owner, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{Collects: true})
			w.Put(thing("Service/deleted"))
			w.Put(thing("Service/kept"))
			objects := want(thing("Service/a"), thing("Service/c"))
			if _, err := w.apply(t.Context(), policy(), realRun, objects...); err != nil {
				t.Fatal(err)
			}
			w.own("Service/c", owner)
			w.hear = func(e event.Event) {
				if e.Kind == event.Settled && e.Ref == ref("Service/c") {
					_, err := w.Delete(t.Context(), cluster.Delete{Ref: ref("Service/deleted")})
					if err != nil {
						t.Error(err)
					}
				}
			}
			_, err := w.apply(t.Context(), policy(), realRun, objects...)
			lost := err != nil && strings.Contains(err.Error(), "service/c is gone")
			if isLost := owner == "Service/deleted"; lost != isLost || lost != (err != nil) {
				t.Errorf("error %v", err)
			}
			expectTracked(t, w)
		})
	}
}
