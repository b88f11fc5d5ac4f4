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

	"github.com/muster-deploy/muster/internal/record"
)

// mapFormat holds a record in a ConfigMap, as older tools do: a key of its data for each member, its condition as the value.
// It keeps no order but that of the keys.
type mapFormat struct{}

// mapRoom is how many bytes the members of a ConfigMap may take up: what a server keeps, but for its metadata. Every key is in
// there twice, since the managed fields name it as well, with about keyBytes around it.
const (
	mapRoom  = 1_400_000
	keyBytes = 20
)

// condition is the value of a member; the keys are sorted as other tools write them.
type condition struct {
	Actuation record.Progress `json:"actuation"`
	Reconcile record.Progress `json:"reconcile"`
	Strategy  record.Strategy `json:"strategy"`
}

func (mapFormat) kind() schema.GroupVersionKind { return ConfigMapKind }

func (mapFormat) room() int { return undivided }

// find looks for the label, since the first tools changed the name with every change of the members. Whoever may not list
// finds the ConfigMap by its name.
func (mapFormat) find(ctx context.Context, c Cluster, inv *Inventory) (*unstructured.Unstructured, error) {
	for _, key := range IDKeys {
		found, err := c.List(ctx, ConfigMapKind.GroupKind(), inv.Ref.Namespace, map[string]string{key: inv.ID})
		switch {
		case apierrors.IsForbidden(err):
			return findByName(ctx, c, inv, ConfigMapKind.Version)
		case err != nil:
			return nil, fmt.Errorf("read the inventory: %w", err)
		case len(found) > 1:
			return nil, fmt.Errorf("the namespace %q has several ConfigMaps with the label %s: %s, such as %s and %s; "+
				"move the data of all into one and delete the others", inv.Ref.Namespace, key, inv.ID, found[0].GetName(), found[1].GetName())
		case len(found) == 1:
			return found[0], nil
		}
	}
	return findByName(ctx, c, inv, ConfigMapKind.Version)
}

func (mapFormat) decode(stored *unstructured.Unstructured) (*record.State, error) {
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

func dataOf(stored *unstructured.Unstructured) (map[string]string, error) {
	data, _, err := unstructured.NestedStringMap(stored.Object, "data")
	return data, err
}

// setMembers writes all of data. Without statuses the members that stay keep what is said of them.
func (mapFormat) setMembers(obj *unstructured.Unstructured, _, want *record.State, statuses bool) (bool, error) {
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
		data[key] = before[key]
		if statuses {
			if data[key], err = valueOf(member); err != nil {
				return false, err
			}
		}
		bytes += 2*len(key) + len(data[key]) + keyBytes
	}
	if maps.Equal(before, data) {
		return false, nil
	}
	if bytes > mapRoom {
		return false, fmt.Errorf("a ConfigMap cannot hold %d members; run migrate, a ResourceGroup can", len(data))
	}
	if len(data) == 0 {
		unstructured.RemoveNestedField(obj.Object, "data")
		return true, nil
	}
	return true, unstructured.SetNestedStringMap(obj.Object, data, "data")
}

// setStatuses has nothing to do: a ConfigMap has no subresource.
func (mapFormat) setStatuses(_ *unstructured.Unstructured, _, _ *record.State) bool { return false }

// valueOf is the value of a member: nothing if nothing is known of it.
func valueOf(member record.Member) (string, error) {
	known := condition{Actuation: member.Actuation, Reconcile: member.Reconcile, Strategy: member.Strategy}
	if known == (condition{}) {
		return "", nil
	}
	text, err := json.Marshal(known)
	return string(text), err
}
