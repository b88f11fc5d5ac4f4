package engine_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// TestRefusedApplyKeepsMarks has a server that refuses a server-side apply: the marks of the former
// owner, without which nobody would find the object, must be in it still.
func TestRefusedApplyKeepsMarks(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "a", nil)
	w := newWorld(&enginetest.Cluster{})
	live := thing("ConfigMap/a")
	live.SetLabels(map[string]string{"app": "theirs"})
	w.Put(live)
	w.Refuses = func(write cluster.Write) error {
		if write.Method == cluster.Apply {
			return invalid
		}
		return nil
	}
	p := policy()
	p.ServerSide, p.Manager, p.Owner.Adoption = true, "me", plan.AdoptAll
	p.Owner.Others = func(live, _ *unstructured.Unstructured) plan.Others {
		if live.GetLabels()["app"] == "" {
			return plan.Others{}
		}
		return plan.Others{Text: "app theirs", Labels: []string{"app"}}
	}
	if _, err := w.apply(t.Context(), p, realRun, want(thing("ConfigMap/a"))...); err != nil {
		t.Fatal(err)
	}
	if labels := w.Object(object.RefOf(live)).GetLabels(); labels["app"] != "theirs" {
		t.Errorf("the object of a refused apply has the labels %v", labels)
	}
}
