package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/record"
)

// configMapFormat stores a record in a ConfigMap, as older tools do: a key of its data for each
// member, with the member's condition as the value. The order of members is lost.
type configMapFormat struct{}

// mapCapacity is the number of bytes that the members of a ConfigMap may take up. The managed
// fields of the object repeat every key, with about keyBytes around it.
const (
	mapCapacity = 1_400_000
	keyBytes    = 20
)

// condition is the value of a member. Its keys are in the order in which other tools write them.
type condition struct {
	Actuation record.Progress `json:"actuation"`
	Reconcile record.Progress `json:"reconcile"`
	Strategy  record.Strategy `json:"strategy"`
}

func (configMapFormat) kind() schema.GroupVersionKind { return ConfigMapKind }

func (configMapFormat) capacity() int { return unlimited }

// find looks for the label, since the first tools renamed the ConfigMap with every change of its
// members. Without permission to list, it reads the ConfigMap by name.
func (configMapFormat) find(
	ctx context.Context, c cluster.Writer, inv *Inventory,
) (*unstructured.Unstructured, error) {
	for _, key := range IDKeys {
		found, err := c.List(
			ctx, ConfigMapKind.GroupKind(), inv.Ref.Namespace, map[string]string{key: inv.ID},
		)
		switch {
		case apierrors.IsForbidden(err):
			return findByName(ctx, c, inv, ConfigMapKind.Version)
		case err != nil:
			return nil, fmt.Errorf("read the inventory: %w", err)
		case len(found) > 1:
			return nil, fmt.Errorf(
				"the namespace %q has several ConfigMaps with the label %s: %s, such as %s and "+
					"%s; move the data of all into one and delete the others", inv.Ref.Namespace,
				key, inv.ID, found[0].GetName(), found[1].GetName(),
			)
		case len(found) == 1:
			return found[0], nil
		}
	}
	return findByName(ctx, c, inv, ConfigMapKind.Version)
}

func (configMapFormat) decode(stored *unstructured.Unstructured) (*record.State, error) {
	data, err := dataOf(stored)
	state := &record.State{}
	errs := []error{err}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		ref, err := parseKey(key)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		var known condition
		if json.Unmarshal([]byte(data[key]), &known) != nil {
			known = condition{} // of interest to people alone
		}
		state.Members = append(state.Members, record.Member{
			Ref: ref, Strategy: known.Strategy, Actuation: known.Actuation, Reconcile: known.Reconcile,
		})
	}
	return state, errors.Join(errs...)
}

// unwritten reports whether a member is pending. One without a condition is not: older tools store
// none.
func (configMapFormat) unwritten(m record.Member) bool { return m.Actuation == record.Pending }

func dataOf(stored *unstructured.Unstructured) (map[string]string, error) {
	data, _, err := unstructured.NestedStringMap(stored.Object, "data")
	return data, err
}

// conditionBytes is the size of the longest value of a member.
const conditionBytes = 75

// setMembers writes all of data. Without statuses the members that stay keep their conditions. If a
// space must be left for the condition of each member, reserve, then new members are pending.
func (configMapFormat) setMembers(
	obj *unstructured.Unstructured, _, want *record.State, statuses bool, reserve int,
) (bool, error) {
	before, err := dataOf(obj)
	if err != nil {
		return false, err
	}
	data, bytes := make(map[string]string, len(want.Members)), 0
	for _, member := range want.Members {
		key, err := formatKey(member.Ref)
		if err != nil {
			return false, fmt.Errorf("%w; run migrate, a ResourceGroup can hold it", err)
		}
		value, known := before[key]
		if !known && reserve > 0 {
			member.Strategy, member.Actuation = record.Apply, record.Pending
			member.Reconcile = record.Pending
		}
		if data[key] = value; statuses || !known && reserve > 0 {
			if data[key], err = valueOf(member); err != nil {
				return false, err
			}
		}
		bytes += 2*len(key) + max(len(data[key]), reserve) + keyBytes
	}
	if maps.Equal(before, data) {
		return false, nil
	}
	if bytes > mapCapacity {
		return false, fmt.Errorf(
			"a ConfigMap cannot hold %d members; run migrate, a ResourceGroup can", len(data),
		)
	}
	if len(data) == 0 {
		unstructured.RemoveNestedField(obj.Object, "data")
		return true, nil
	}
	return true, unstructured.SetNestedStringMap(obj.Object, data, "data")
}

// setStatuses does nothing: a ConfigMap has no status subresource.
func (configMapFormat) setStatuses(_ *unstructured.Unstructured, _, _ *record.State) bool {
	return false
}

// valueOf returns the value of a member, empty if its condition is unknown.
func valueOf(member record.Member) (string, error) {
	known := condition{
		Actuation: member.Actuation,
		Reconcile: member.Reconcile,
		Strategy:  member.Strategy,
	}
	if known == (condition{}) {
		return "", nil
	}
	text, err := json.Marshal(known)
	return string(text), err
}
