package engine_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/record"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

var widgetKind = ref("Widget/x").GroupKind()

// A connection that was opened before a kind was defined does not know it. The objects of the kind
// are looked for again with what the server has now, before they are forgotten.
func TestKindsOfAnOldDiscoveryAreNotForgotten(t *testing.T) {
	for _, destroys := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			desired := want(thing("ConfigMap/a"), thing("Widget/x"))
			if _, err := w.apply(t.Context(), policy(), realRun, desired...); err != nil {
				t.Fatal(err)
			}
			w.NoKind = map[schema.GroupKind]bool{widgetKind: true}
			w.Discovers = func() { w.NoKind = nil }
			desired = desired[:1]
			if destroys {
				desired = nil
			}
			if _, err := w.apply(t.Context(), policy(), realRun, desired...); err != nil {
				t.Fatal(err)
			}
			if w.Object(ref("Widget/x")) != nil {
				t.Error("the object is left, and forgotten")
			}
		})
	}
}

// A recorded object that did not exist when the plan was made, and cannot be read when the run
// ends, keeps the record, unless the server does not have the kind any more.
func TestUnservedIsNotAbsent(t *testing.T) {
	for _, gone := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(&enginetest.Cluster{})
			desired := want(thing("ConfigMap/a"), thing("Widget/x"))
			if _, err := w.apply(t.Context(), policy(), realRun, desired...); err != nil {
				t.Fatal(err)
			}
			w.Remove(ref("Widget/x"))
			w.hear = func(event.Event) {
				w.Unserved = map[schema.GroupKind]bool{widgetKind: true}
				w.Discovers = func() {
					if gone {
						w.Unserved, w.NoKind = nil, w.Unserved
					}
				}
			}
			_, err := w.apply(t.Context(), policy(), realRun)
			changed := (*record.ChangedError)(nil)
			if kept := errors.As(err, &changed); kept == gone || !kept && err != nil {
				t.Errorf("kind gone: %t: %v", gone, err)
			}
			if kept := len(w.store.State.Members) == 1; kept == gone {
				t.Errorf("kind gone: %t: record %+v", gone, w.store.State)
			}
		})
	}
}
