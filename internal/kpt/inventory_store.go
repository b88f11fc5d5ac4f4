package kpt

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// records is what a store needs of the cluster: what the engine needs, finding by labels, and what is known of kinds.
type records interface {
	engine.Cluster
	Kind(ctx context.Context, gk schema.GroupKind) (cluster.Kind, error)
	List(ctx context.Context, kind schema.GroupKind, namespace string, labels map[string]string) ([]*unstructured.Unstructured, error)
}

// format is how one kind of object holds a record.
type format interface {
	kind() schema.GroupVersionKind
	// find gives the object of the inventory as it is in the cluster, or nil. One with another ID is an error.
	find(ctx context.Context, c records, inv *inventory) (*unstructured.Unstructured, error)
	decode(stored *unstructured.Unstructured) (*record.State, error)
	// setMembers and setStatuses write the state into the object and report whether that changed it. The latter is stored by
	// way of the subresource status; a format that holds all in one does it in setMembers.
	setMembers(obj *unstructured.Unstructured, state *record.State, statuses bool) (changed bool, err error)
	setStatuses(obj *unstructured.Unstructured, state *record.State) (changed bool)
}

// inventoryStore keeps a record in an object of the cluster. It is a record.Store.
type inventoryStore struct {
	cluster   records
	inventory *inventory
	format    format
	statuses  bool                       // the condition of members is stored as well
	stored    *unstructured.Unstructured // as the server gave it last; nil when there is none
	loaded    *object.Set                // the members that Load found
	added     *object.Set                // the members that Save added, and nobody else
	others    *object.Set                // the members that appeared since Load by somebody else's hand; perhaps by ours as well
}

// newStore gives the store of an inventory. The policy is a value of --status-policy.
func newStore(c records, inv *inventory, statusPolicy string) *inventoryStore {
	s := &inventoryStore{cluster: c, inventory: inv, format: groupFormat{}, statuses: statusPolicy != "none"}
	if inv.ref.GroupKind() == configMapKind.GroupKind() {
		s.format = mapFormat{}
	}
	return s
}

// saveAttempts is how often a record that somebody else changed meanwhile is merged anew.
const saveAttempts = 5

// Load gives the stored record, or an empty one. A record with another ID belongs to another package and is an error, and so
// is one that cannot be understood.
func (s *inventoryStore) Load(ctx context.Context) (*record.State, error) {
	state, err := s.read(ctx)
	if err == nil {
		err = checkMembers(ctx, s.cluster, s.inventory, state.Refs())
	}
	if err != nil {
		return nil, err
	}
	s.loaded, s.added, s.others = object.NewSet(state.Refs()...), object.NewSet(), object.NewSet()
	return state, nil
}

func (s *inventoryStore) read(ctx context.Context) (*record.State, error) {
	stored, err := s.format.find(ctx, s.cluster, s.inventory)
	if err != nil {
		return nil, err
	}
	s.stored = stored
	return s.decode()
}

func (s *inventoryStore) decode() (*record.State, error) {
	if s.stored == nil {
		return &record.State{}, nil
	}
	state, err := s.format.decode(s.stored)
	if err != nil {
		return nil, &unreadableError{ref: s.inventory.ref, cause: err}
	}
	return state, nil
}

// exists reports whether there is a record in the cluster, as of the last Load.
func (s *inventoryStore) exists() bool { return s.stored != nil }

// Save stores the members and their status, each only if it differs. Members that somebody else added since Load stay.
func (s *inventoryStore) Save(ctx context.Context, state *record.State) error {
	var err error
	for range saveAttempts {
		err = s.save(ctx, state)
		vanished := apierrors.IsNotFound(err) && s.stored != nil // somebody deleted it: it is made anew
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !vanished {
			break
		}
		if _, err := s.read(ctx); err != nil {
			return err
		}
	}
	home := s.inventory.ref.Namespace
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && apierrors.IsNotFound(err) && aboutNamespace(status) {
		return &record.HomelessError{Namespace: home, Cause: &noNamespaceError{home}}
	}
	if apierrors.HasStatusCause(err, namespaceTerminating) {
		return &record.HomelessError{Namespace: home, Cause: err}
	}
	return err
}

// namespaceTerminating is why nothing new can be stored in a namespace that is going.
const namespaceTerminating metav1.CauseType = "NamespaceTerminating"

func aboutNamespace(err apierrors.APIStatus) bool {
	return err.Status().Details != nil && err.Status().Details.Kind == "namespaces"
}

func (s *inventoryStore) save(ctx context.Context, state *record.State) error {
	merged, err := s.merge(state)
	if err == nil {
		err = s.write(ctx, merged)
	}
	if err != nil {
		return err
	}
	for _, ref := range state.Refs() {
		if !s.loaded.Has(ref) && !s.others.Has(ref) {
			s.added.Insert(ref)
		}
	}
	return nil
}

// merge adds the members that somebody else has put into the record since Load. They stay although the state does not have
// them, also if the same run had wanted them and gave them up: only the other one knows what became of them.
func (s *inventoryStore) merge(state *record.State) (*record.State, error) {
	stored, err := s.decode()
	if err != nil {
		return nil, err
	}
	ours := object.NewSet(state.Refs()...)
	merged := &record.State{Members: slices.Clone(state.Members)}
	for _, member := range stored.Members {
		if s.loaded.Has(member.Ref) || s.added.Has(member.Ref) {
			continue
		}
		s.others.Insert(member.Ref)
		if !ours.Has(member.Ref) {
			merged.Members = append(merged.Members, member)
		}
	}
	return merged, nil
}

// write sends what differs: the object with its members first, then their status.
func (s *inventoryStore) write(ctx context.Context, state *record.State) error {
	next := s.fresh()
	if s.stored != nil {
		next = s.stored.DeepCopy()
	}
	labelled := s.label(next)
	changed, err := s.format.setMembers(next, state, s.statuses)
	switch {
	case err != nil:
		return err
	case s.stored == nil:
		err = s.send(ctx, cluster.Write{Object: next, Method: cluster.Create})
	case changed || labelled:
		err = s.send(ctx, cluster.Write{Object: next, Method: cluster.Replace})
	}
	if err != nil || !s.statuses {
		return err
	}
	next = s.stored.DeepCopy()
	if !s.format.setStatuses(next, state) {
		return nil
	}
	err = s.send(ctx, cluster.Write{Object: next, Method: cluster.Replace, Subresource: "status"})
	if apierrors.IsForbidden(err) {
		err = fmt.Errorf("%w; --status-policy=none keeps a record without status, which needs no such right", err)
	}
	return err
}

func (s *inventoryStore) send(ctx context.Context, w cluster.Write) error {
	w.Manager = manager
	stored, err := s.cluster.Write(ctx, w)
	if err != nil {
		return err
	}
	s.stored = stored
	return nil
}

// fresh is the object of a record that does not exist yet.
func (s *inventoryStore) fresh() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetGroupVersionKind(s.format.kind())
	obj.SetNamespace(s.inventory.ref.Namespace)
	obj.SetName(s.inventory.ref.Name)
	return obj
}

// label gives the object the labels and annotations of the package, and reports whether it lacked any. Those that others
// added stay.
func (s *inventoryStore) label(obj *unstructured.Unstructured) bool {
	labels, annotations := united(obj.GetLabels(), s.inventory.labels), united(obj.GetAnnotations(), s.inventory.annotations)
	if maps.Equal(labels, obj.GetLabels()) && maps.Equal(annotations, obj.GetAnnotations()) {
		return false
	}
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	return true
}

// united is what is there with what is wanted; the latter counts where they differ.
func united(have, want map[string]string) map[string]string {
	all := maps.Clone(want)
	for key, value := range have {
		if _, ok := want[key]; !ok {
			if all == nil {
				all = map[string]string{}
			}
			all[key] = value
		}
	}
	return all
}

// Delete removes the record, unless it is another than the one that was loaded.
func (s *inventoryStore) Delete(ctx context.Context) error { return s.remove(ctx, false) }

// remove deletes the record; if it has to be as it was loaded, nobody may have written it since.
func (s *inventoryStore) remove(ctx context.Context, asLoaded bool) error {
	if s.stored == nil {
		return nil
	}
	d := cluster.Delete{Ref: object.RefOf(s.stored), UID: s.stored.GetUID()}
	if asLoaded {
		d.Version = s.stored.GetResourceVersion()
	}
	_, err := s.cluster.Delete(ctx, d)
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return nil
	}
	return err
}

// findByName gives the object that an inventory names, or nil. One with another ID is an error.
func findByName(ctx context.Context, c records, inv *inventory, version string) (*unstructured.Unstructured, error) {
	snapshot, err := c.Read(ctx, []cluster.Target{{Ref: inv.ref, Version: version}})
	if err == nil {
		err = snapshot.Broken
	}
	if err != nil {
		return nil, fmt.Errorf("read the inventory: %w", err)
	}
	stored := snapshot.Objects[inv.ref]
	if stored == nil {
		return nil, nil
	}
	if id := inventoryID(stored.GetLabels()); id != inv.id {
		return nil, &mismatchError{ref: inv.ref, stored: id, want: inv.id}
	}
	return stored, nil
}

// checkMembers refuses a record that was edited into naming objects that cannot be: of a kind that lives in namespaces but
// without one, or the other way round.
func checkMembers(ctx context.Context, c records, inv *inventory, members []object.Ref) error {
	var errs []error
	for _, ref := range members {
		kind, err := c.Kind(ctx, ref.GroupKind())
		unknown := (*cluster.UnknownKindError)(nil)
		switch {
		case errors.As(err, &unknown):
			continue
		case err != nil:
			return err
		case kind.Namespaced && ref.Namespace == "":
			errs = append(errs, fmt.Errorf("it lists %s without a namespace, which its kind has", ref))
		case !kind.Namespaced && ref.Namespace != "":
			errs = append(errs, fmt.Errorf("it lists %s with a namespace, which its kind does not have", ref))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &unreadableError{ref: inv.ref, cause: err}
	}
	return nil
}
