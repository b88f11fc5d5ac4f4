package engine_test

import (
	"testing"
	"testing/synctest"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/engine/enginetest"
	"github.com/muster-deploy/muster/internal/object"
)

// An object that is wanted under another kind is forgotten under the old one only once it was applied under the new one: not
// if that failed and ended the run.
func TestRenamedObjectIsNotForgottenWhenTheRunEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(&enginetest.Cluster{})
		if _, err := w.apply(t.Context(), policy(), engine.Options{}, want(thing("Widget/x"))...); err != nil {
			t.Fatal(err)
		}
		moved := w.Object(ref("Widget/x"))
		moved.SetAPIVersion("other.example.com/v1")
		w.Put(moved)
		next := thing("Widget/x", "new=yes")
		next.SetAPIVersion("other.example.com/v1")
		w.Fails = map[object.Ref]error{object.RefOf(next): forbidden}
		if _, err := w.apply(t.Context(), policy(), engine.Options{FailFast: true}, want(next)...); err != nil {
			t.Fatal(err)
		}
		w.expectRecord(t, "widget.example.com/x Delete Skipped Skipped")
	})
}
