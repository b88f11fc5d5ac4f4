package sets

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/policy/config"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
)

// A run that did not succeed has left out the objects that the set does not have. Versions of an
// object have other names, and the rules of an app are no object.
func TestUnwritten(t *testing.T) {
	described := func(apiVersion, name string, annotations map[string]any) history.Object {
		return history.Object{Unstructured: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": apiVersion, "kind": "ConfigMap",
			"metadata": map[string]any{"namespace": "shop", "name": name, "annotations": annotations},
		}}}
	}
	ref := func(name string) object.Ref {
		return object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: name}
	}
	versioned := map[string]any{resource.AnnVersioned: ""}
	r := &Restored{Revision: &history.Revision{Objects: []history.Object{
		described("v1", "kept", nil), described("v1", "late", nil),
		described("v1", "settings", versioned), described("v1", "new", versioned),
		described(config.DocVersion, "rules", nil),
	}}}
	existing := object.NewSet(ref("kept"), ref("settings-ver-3"))
	for outcome, want := range map[history.Outcome][]object.Ref{
		history.Failed:      {ref("late"), ref("new")},
		history.Interrupted: {ref("late"), ref("new")},
		history.Succeeded:   nil,
		history.Applied:     nil,
	} {
		r.Revision.Outcome = outcome
		if got := r.Unwritten(existing); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
	}
}
