package engine

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
)

// TestDeletedHolders checks with which deleted objects others went.
func TestDeletedHolders(t *testing.T) {
	of := func(version, kind, name string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		obj.SetAPIVersion(version)
		obj.SetKind(kind)
		obj.SetName(name)
		return obj
	}
	pod := object.Ref{Kind: "Pod", Namespace: "n", Name: "a"}
	none, some := (*deletedHolders)(nil), &deletedHolders{}
	for _, d := range []*deletedHolders{none, some} {
		d.add(of("v1", "ConfigMap", "n"))
		if holder, ok := d.of(pod); ok {
			t.Errorf("%s went with %s", pod, holder)
		}
		d.add(of("v1", "Namespace", "m"))
		d.add(of("v1", "Namespace", "n"))
	}
	if holder, ok := none.of(pod); ok {
		t.Errorf("without a run, %s went with %s", pod, holder)
	}
	if holder, ok := some.of(pod); !ok || holder != (object.Ref{Kind: "Namespace", Name: "n"}) {
		t.Errorf("%s went with %s, %t", pod, holder, ok)
	}
}
