package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// TestMarkParent: the record has the kinds and namespaces of all shards, and loses the marks of a
// parent when the package is an ApplySet no more. Those of another parent stay.
func TestMarkParent(t *testing.T) {
	inv := &Inventory{
		Ref:         object.Ref{Group: "kpt.dev", Kind: "ResourceGroup", Namespace: "a", Name: "shop"},
		Annotations: map[string]string{ApplySetKey: "true"},
	}
	contents := []shardContent{
		{state: record.State{Members: []record.Member{
			{Ref: object.Ref{Kind: "Service", Namespace: "a", Name: "x"}},
			{Ref: object.Ref{Group: "apps", Kind: "Deployment", Namespace: "c", Name: "x"}},
		}}},
		{state: record.State{Members: []record.Member{
			{Ref: object.Ref{Kind: "Service", Namespace: "b", Name: "x"}},
			{Ref: object.Ref{Kind: "Namespace", Name: "b"}},
		}}},
	}
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	if !inv.markParent(obj, contents) || inv.markParent(obj, contents) {
		t.Error("the marks of a parent are not written, or written twice")
	}
	want := map[string]string{
		parentTooling: tooling, parentKinds: "Deployment.apps,Namespace,Service",
		parentNamespaces: "b,c",
	}
	if diff := cmp.Diff(want, obj.GetAnnotations()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if id := obj.GetLabels()[parentID]; id != inv.ApplySetID() {
		t.Errorf("the ID is %q", id)
	}
	inv.Annotations = nil
	if !inv.markParent(obj, contents) || len(obj.GetLabels())+len(obj.GetAnnotations()) > 0 {
		t.Errorf("marks are left: %v", obj)
	}
	obj.SetLabels(map[string]string{parentID: "other"})
	if inv.markParent(obj, contents) {
		t.Error("the marks of another parent are changed")
	}
}
