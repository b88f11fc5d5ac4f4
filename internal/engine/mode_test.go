package engine_test

import (
	"testing"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestRunWithoutMode: options that do not say whether a run is a dry run let it write nothing.
func TestRunWithoutMode(t *testing.T) {
	w := newWorld(&enginetest.Cluster{})
	summary, err := w.apply(t.Context(), policy(), engine.Options{}, want(thing("ConfigMap/a"))...)
	if err == nil || summary.Failures() > 0 || len(w.Wrote) > 0 {
		t.Errorf("%v, %v; written: %v", summary, err, w.Wrote)
	}
}
