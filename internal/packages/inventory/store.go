package inventory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// Cluster is the part of a cluster that a store needs.
type Cluster interface {
	Read(ctx context.Context, targets []cluster.Target) (*cluster.Snapshot, error)
	Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, d cluster.Delete) (gone bool, err error)
	Kind(ctx context.Context, gk schema.GroupKind) (cluster.Kind, error)
	List(ctx context.Context, kind schema.GroupKind, namespace string, labels map[string]string) ([]*unstructured.Unstructured, error)
}

// format is how one kind of object holds a record.
type format interface {
	kind() schema.GroupVersionKind
	// room is how many bytes of members one object takes before the record is divided; undivided if it never is.
	room() int
	// find gives the object of the inventory as it is in the cluster, or nil. One with another ID is an error.
	find(ctx context.Context, c Cluster, inv *Inventory) (*unstructured.Unstructured, error)
	decode(stored *unstructured.Unstructured) (*record.State, error)
	// setMembers and setStatuses write what is wanted into an object that has something already, and report whether that
	// changed it. The latter is stored by way of the subresource status; a format that holds all in one does it in setMembers.
	setMembers(obj *unstructured.Unstructured, has, want *record.State, statuses bool) (changed bool, err error)
	setStatuses(obj *unstructured.Unstructured, has, want *record.State) (changed bool)
}

// undivided is the room of a format that keeps all in one object.
const undivided = math.MaxInt

// Store keeps a record in an object of the cluster, or in several if it is too large for one. It is a record.Store.
type Store struct {
	cluster   Cluster
	Inventory *Inventory
	format    format
	statuses  bool           // the condition of members is stored as well
	intent    bool           // the save under way says which members there are, and nothing of their condition
	room      int            // as the format says
	main      *piece         // as of the last reading or writing
	named     int            // how many objects the main one names, itself among them
	parts     map[int]*piece // those that were found, named or not
	searches  int            // parts are looked for up to this number, as if they were named: there are some
	loaded    *object.Set    // the members that Load found
	added     *object.Set    // the members that Save added, and nobody else
	others    *object.Set    // the members that appeared since Load by somebody else's hand; perhaps by ours as well
}

// NewStore returns the store of an inventory. Without statuses it stores only which members there are.
func NewStore(c Cluster, inv *Inventory, statuses bool) *Store {
	s := &Store{cluster: c, Inventory: inv, format: groupFormat{}, statuses: statuses}
	if inv.Ref.GroupKind() == ConfigMapKind.GroupKind() {
		s.format = mapFormat{}
	}
	s.room = s.format.room()
	s.main, s.named = &piece{number: 1, has: &record.State{}}, 1
	return s
}

// saveAttempts is how often a record that somebody else changed meanwhile is read and merged anew.
const saveAttempts = 5

// Load gives the stored record, or an empty one. A record with another ID belongs to another package and is an error, and so
// is one that cannot be understood, or that is not complete.
func (s *Store) Load(ctx context.Context) (*record.State, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	state := s.state()
	if err := checkMembers(ctx, s.cluster, s.Inventory, state.Refs()); err != nil {
		return nil, err
	}
	s.loaded, s.added, s.others = object.NewSet(state.Refs()...), object.NewSet(), object.NewSet()
	return state, nil
}

// read takes in all objects of the record. Parts are looked for when the main object names them. One that is not there may
// have been given up between the two requests: only if the main object is still the same it is lost.
func (s *Store) read(ctx context.Context) error {
	seen := ""
	for range saveAttempts {
		main, err := s.format.find(ctx, s.cluster, s.Inventory)
		if err != nil {
			return err
		}
		var found []*unstructured.Unstructured
		named, _ := objectsOf(main)
		if last := max(named, s.searches); last > 1 {
			if found, err = s.findParts(ctx, last); err != nil {
				return err
			}
		}
		lost, err := s.accept(main, found)
		if err != nil || lost == 0 {
			return err
		}
		if s.main.version() == seen {
			return s.explainLost(ctx, lost)
		}
		seen = s.main.version()
	}
	return fmt.Errorf("read the inventory %s: others keep changing it", s.Inventory.Ref)
}

func (s *Store) explainLost(ctx context.Context, number int) error {
	found, err := s.readParts(ctx, number, number)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return s.lostPart(number, found[0])
	}
	return s.lostPart(number, nil)
}

// MembersOf returns the members of a record that was read already: its main object, and objects that have its parts among
// them.
func (s *Store) MembersOf(ctx context.Context, main *unstructured.Unstructured, found []*unstructured.Unstructured) ([]object.Ref, error) {
	lost, err := s.accept(main, found)
	if lost > 0 {
		err = s.lostPart(lost, nil)
	}
	if err != nil {
		return nil, err
	}
	refs := s.state().Refs()
	return refs, checkMembers(ctx, s.cluster, s.Inventory, refs)
}

// Exists reports whether there is a record in the cluster, as of the last Load.
func (s *Store) Exists() bool { return s.main.stored != nil }

// Save stores the members and their status, each only if it differs. Members that somebody else added since Load stay.
func (s *Store) Save(ctx context.Context, state *record.State) error {
	s.intent = len(state.Members) > 0 && !slices.ContainsFunc(state.Members, func(m record.Member) bool { return m != record.Member{Ref: m.Ref} })
	err := s.attempt(ctx, func() error { return s.save(ctx, state) })
	s.intent = false
	home := s.Inventory.Ref.Namespace
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && apierrors.IsNotFound(err) && aboutNamespace(status) {
		return &record.NamespaceGoneError{Namespace: home, Cause: &NoNamespaceError{home}}
	}
	if apierrors.HasStatusCause(err, namespaceTerminating) {
		return &record.NamespaceGoneError{Namespace: home, Cause: err}
	}
	return err
}

// attempt does something to the record, and again if somebody else changed it meanwhile. What was deleted is made anew.
func (s *Store) attempt(ctx context.Context, do func() error) error {
	var err error
	for range saveAttempts {
		err = do()
		vanished := apierrors.IsNotFound(err) && (s.Exists() || len(s.parts) > 0)
		if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !vanished {
			return err
		}
		if err := s.read(ctx); err != nil {
			return err
		}
	}
	return err
}

// namespaceTerminating is why nothing new can be stored in a namespace that is going.
const namespaceTerminating metav1.CauseType = "NamespaceTerminating"

func aboutNamespace(err apierrors.APIStatus) bool {
	return err.Status().Details != nil && err.Status().Details.Kind == "namespaces"
}

func (s *Store) save(ctx context.Context, state *record.State) error {
	shares := s.divide(state, s.says(false))
	if len(shares) > s.named {
		shares = s.divide(state, s.says(true)) // what others are about to add there is not written over
	}
	if err := s.write(ctx, shares); err != nil {
		return err
	}
	for _, ref := range state.Refs() {
		if !s.loaded.Has(ref) && !s.others.Has(ref) {
			s.added.Insert(ref)
		}
	}
	return nil
}

// write stores the shares in an order that leaves nothing out at any moment: parts that the main object names, or will name,
// are there before it, and parts that it names no more go after it.
func (s *Store) write(ctx context.Context, shares []share) error {
	grown, err := s.writeParts(ctx, shares)
	if err == nil {
		err = s.writeMain(ctx, shares, grown)
	}
	if err == nil {
		err = s.drop(ctx)
	}
	return err
}

// Delete removes the record, unless it is another than the one that was loaded.
func (s *Store) Delete(ctx context.Context) error { return s.Remove(ctx, false) }

// Remove deletes the record; if it has to be as it was loaded, nobody may have written it since. A divided one becomes an
// empty one first, which is complete without its parts.
func (s *Store) Remove(ctx context.Context, asLoaded bool) error {
	if !s.Exists() {
		return nil
	}
	if s.room != undivided {
		if err := s.removeParts(ctx, asLoaded); err != nil {
			return err
		}
	}
	if !s.Exists() {
		return nil
	}
	d := cluster.Delete{Ref: object.RefOf(s.main.stored), UID: s.main.stored.GetUID()}
	if asLoaded {
		d.Version = s.main.version()
	}
	_, err := s.cluster.Delete(ctx, d)
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return nil
	}
	return err
}
