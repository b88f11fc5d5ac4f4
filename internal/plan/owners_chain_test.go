package plan_test

import (
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestLossesOfChain deletes a long chain of owners whose last dependent stays: all of them stay,
// each for the next, whatever their order.
func TestLossesOfChain(t *testing.T) {
	const length = 5_000
	for _, backward := range []bool{false, true} {
		fates := make([]plan.Fate, length)
		for i := range fates {
			obj := &unstructured.Unstructured{Object: map[string]any{}}
			obj.SetUID(types.UID(strconv.Itoa(i)))
			if i > 0 {
				obj.SetOwnerReferences([]metav1.OwnerReference{{UID: types.UID(strconv.Itoa(i - 1))}})
			}
			at := i
			if backward {
				at = length - 1 - i
			}
			fates[at] = plan.Fate{Live: obj, Deleted: i < length-1}
		}
		losses := plan.Losses(fates)
		if len(losses) != length-1 {
			t.Fatalf("%d of %d owners stay", len(losses), length-1)
		}
		for i, loss := range losses {
			if i > 0 && loss.Dependent != losses[i-1].Owner {
				t.Fatalf("owner %d stays for %d, which is not the one before it", loss.Owner, loss.Dependent)
			}
		}
	}
}

// TestLossesOfRepeatedOwner: an object that names its owner twice keeps that, and no other one.
func TestLossesOfRepeatedOwner(t *testing.T) {
	object := func(uid types.UID, owners ...types.UID) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetUID(uid)
		var references []metav1.OwnerReference
		for _, owner := range owners {
			references = append(references, metav1.OwnerReference{UID: owner})
		}
		obj.SetOwnerReferences(references)
		return obj
	}
	losses := plan.Losses([]plan.Fate{
		{Live: object("0"), Deleted: true}, {Live: object("1"), Deleted: true},
		{Live: object("2", "1", "1")},
	})
	if want := (plan.Loss{Owner: 1, Dependent: 2}); len(losses) != 1 || losses[0] != want {
		t.Errorf("got %v, want %v", losses, want)
	}
}

// TestLongChainOfLeavingOwners has a chain of owners, of which the first one is being deleted: all
// others go with it.
func TestLongChainOfLeavingOwners(t *testing.T) {
	const length = 10_000
	live, now := map[object.Ref]*unstructured.Unstructured{}, metav1.Now()
	var last object.Ref
	for i := range length {
		obj := &unstructured.Unstructured{Object: map[string]any{}}
		obj.SetName(strconv.Itoa(i))
		obj.SetUID(types.UID(obj.GetName()))
		if i > 0 {
			obj.SetOwnerReferences([]metav1.OwnerReference{{UID: types.UID(strconv.Itoa(i - 1))}})
		} else {
			obj.SetDeletionTimestamp(&now)
		}
		last = object.RefOf(obj)
		live[last] = obj
	}
	if !plan.Leaving(live)(last) {
		t.Error("the last object of the chain stays")
	}
}
