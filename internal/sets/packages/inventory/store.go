package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// format is how one kind of object stores a record.
type format interface {
	kind() schema.GroupVersionKind
	// capacity returns how many bytes of members one object takes.
	capacity() int
	// find returns the object of the inventory, or nil. One with another ID is an error.
	find(ctx context.Context, c cluster.Writer, inv *Inventory) (*unstructured.Unstructured, error)
	decode(stored *unstructured.Unstructured) (*record.State, error)
	// unwritten reports whether no run has stored how the write of a member ended.
	unwritten(record.Member) bool
	// setMembers and setStatuses write the wanted state into an object and report whether that
	// changed it. Statuses are sent to the status subresource; a format without one writes them
	// in setMembers.
	setMembers(
		obj *unstructured.Unstructured, has, want *record.State, statuses bool, reserve int,
	) (changed bool, err error)
	setStatuses(obj *unstructured.Unstructured, has, want *record.State) (changed bool)
}

// unlimited is the capacity of a format that stores all members in one object.
const unlimited = math.MaxInt

// Store keeps a record in an object of the cluster, or in several shards if it is too large for
// one. It implements record.Store.
type Store struct {
	cluster    cluster.Writer
	Inventory  *Inventory
	format     format
	statuses   bool            // the conditions of members are stored too
	intent     bool            // the current save is the one before a run
	capacity   int             // of one object, in bytes
	main       *shard          // at the last read or write
	referenced int             // number of shards that the main object references, with itself
	shards     map[int]*shard  // the other shards, referenced or not
	searchUpTo int             // shards up to this number exist, though they may not be referenced
	loaded     *object.Set     // members at the last Load
	uid        types.UID       // of the main object that loaded and added are about
	contended  bool            // others wrote the record since Load
	dropped    []record.Member // gone ones that the last write of a divided record left out
	touch      bool            // the current save writes the main object in any case
	added      *object.Set     // members that only this Store added
	others     *object.Set     // members that others added since Load, perhaps this Store too
}

// NewStore returns the store of an inventory. Without statuses it stores only the list of members.
func NewStore(c cluster.Writer, inv *Inventory, statuses bool) *Store {
	s := &Store{cluster: c, Inventory: inv, format: resourceGroupFormat{}, statuses: statuses}
	if inv.Ref.GroupKind() == ConfigMapKind.GroupKind() {
		s.format = configMapFormat{}
	}
	s.capacity = s.format.capacity()
	s.main, s.referenced = &shard{number: 1, state: &record.State{}}, 1
	return s
}

// maxReads limits how often a record that others change at the same time is read again.
const maxReads = 5

// Load returns the stored record, or an empty one. It returns an error if the record belongs to
// another package, is incomplete or cannot be parsed.
func (s *Store) Load(ctx context.Context) (*record.State, error) {
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	state := s.mergedState()
	if err := checkMembers(ctx, s.cluster, s.Inventory, state.Refs()); err != nil {
		return nil, err
	}
	s.loaded, s.added, s.others = object.NewSet(state.Refs()...), object.NewSet(), object.NewSet()
	s.uid, s.contended, state.Holders = s.main.uid(), false, s.uids()
	for _, m := range state.Members {
		if s.format.unwritten(m) {
			state.Unwritten = append(state.Unwritten, m.Ref)
		}
	}
	return state, nil
}

// uids returns the UIDs of the objects that hold the record.
func (s *Store) uids() []types.UID {
	var uids []types.UID
	for _, p := range append(slices.Collect(maps.Values(s.shards)), s.main) {
		if uid := p.uid(); uid != "" {
			uids = append(uids, uid)
		}
	}
	slices.Sort(uids)
	return uids
}

// read reads all objects of the record. A shard that the main object references may be deleted
// between the two requests: it is missing only if the main object has not changed.
func (s *Store) read(ctx context.Context) error {
	seen := ""
	for range maxReads {
		main, err := s.format.find(ctx, s.cluster, s.Inventory)
		if err != nil {
			return err
		}
		var found []*unstructured.Unstructured
		named, _ := shardCount(main)
		if last := max(named, s.searchUpTo); last > 1 {
			if found, err = s.listShards(ctx, last); err != nil {
				return err
			}
		}
		lost, err := s.setShards(main, found)
		if err != nil || lost == 0 {
			return err
		}
		if s.main.version() == seen {
			return s.explainMissing(ctx, lost)
		}
		seen = s.main.version()
	}
	return fmt.Errorf("read the inventory %s: others keep changing it", s.Inventory.Ref)
}

func (s *Store) explainMissing(ctx context.Context, number int) error {
	found, err := s.readShards(ctx, number, number)
	if err != nil {
		return err
	}
	if len(found) > 0 {
		return s.missingShard(number, found[0])
	}
	return s.missingShard(number, nil)
}

// StateOf returns the content of a record whose main object was listed already, together with all
// other objects of its kind.
func (s *Store) StateOf(
	ctx context.Context, main *unstructured.Unstructured, found []*unstructured.Unstructured,
) (*record.State, error) {
	lost, err := s.setShards(main, found)
	if lost > 0 {
		err = s.missingShard(lost, nil)
	}
	if err != nil {
		return nil, err
	}
	state := s.mergedState()
	return state, checkMembers(ctx, s.cluster, s.Inventory, state.Refs())
}

// Unfinished reports whether the record, as last read or written, says that the last run did not
// succeed: of a member it is not known, or known to have failed. A record without statuses says
// nothing.
func (s *Store) Unfinished() bool {
	return s.statuses && slices.ContainsFunc(s.mergedState().Members, func(m record.Member) bool {
		known := m.Actuation != "" || m.Reconcile != ""
		return !known || slices.ContainsFunc([]record.Progress{m.Actuation, m.Reconcile},
			func(p record.Progress) bool {
				return p == record.Pending || p == record.Failed || p == record.TimedOut
			})
	})
}

// Exists reports whether the cluster had a record at the last Load.
func (s *Store) Exists() bool { return s.main.stored != nil }

// Holds reports whether an object is a part of this record.
func (s *Store) Holds(obj *unstructured.Unstructured) bool {
	_, shard := s.numberOf(obj)
	return shard || object.RefOf(obj) == s.Inventory.Ref || s.Exists() && obj.GetUID() == s.main.uid()
}

// Save stores the members and their conditions if they differ. Before a run, when no member has a
// result, it stores conditions only if stored ones differ. Members that others added since Load
// stay.
func (s *Store) Save(ctx context.Context, state *record.State) error {
	s.intent = len(state.Members) > 0 && state.Result == "" &&
		!slices.ContainsFunc(state.Members, func(m record.Member) bool {
			return m.Actuation != "" && m.Actuation != record.Pending
		})
	s.touch = state.Touch
	err := s.checkStatusRight(ctx, state)
	if err == nil {
		err = s.retryOnConflict(ctx, func() error { return s.save(ctx, state) })
	}
	s.intent, s.touch = false, false
	home := s.Inventory.Ref.Namespace
	if status := apierrors.APIStatus(nil); errors.As(err, &status) && apierrors.IsNotFound(err) &&
		aboutNamespace(status) {
		return &record.NamespaceGoneError{Namespace: home, Cause: &NoNamespaceError{home}}
	}
	if apierrors.HasStatusCause(err, namespaceTerminating) {
		return &record.NamespaceGoneError{Namespace: home, Cause: err}
	}
	return err
}

// checkStatusRight returns an error before a run that adds members if the user may not write their
// statuses after it. It costs a request, so it trusts a record that has a status already.
func (s *Store) checkStatusRight(ctx context.Context, state *record.State) error {
	ref := s.Inventory.Ref
	isNew := func(m record.Member) bool { return !s.loaded.Has(m.Ref) }
	if !s.intent || !s.statuses || ref.GroupKind() != ResourceGroupKind.GroupKind() ||
		s.Exists() && s.main.stored.Object["status"] != nil ||
		!slices.ContainsFunc(state.Members, isNew) {
		return nil
	}
	allowed, err := s.cluster.Allowed(
		ctx, "update", ref.Group, "resourcegroups", "status", ref.Namespace, ref.Name,
	)
	if allowed || err != nil { // if the server cannot decide, the write after the run does
		return nil
	}
	const needs = "it needs the right to update resourcegroups/status in namespace %s"
	if verb, allowed := s.mayWrite(ctx); !allowed {
		return fmt.Errorf(needs+", and to %s resourcegroups", ref.Namespace, verb)
	}
	return fmt.Errorf(needs+"; %s", ref.Namespace, withoutStatusHint)
}

// mayWrite returns the verb with which the record is written, and reports whether the user may do
// that. If the server cannot decide, the user may.
func (s *Store) mayWrite(ctx context.Context) (verb string, allowed bool) {
	verb, ref := "create", s.Inventory.Ref
	if s.Exists() {
		verb = "update"
	}
	allowed, err := s.cluster.Allowed(
		ctx, verb, ref.Group, "resourcegroups", "", ref.Namespace, ref.Name,
	)
	return verb, allowed || err != nil
}

// withoutStatusHint says what to do without the right to write statuses.
const withoutStatusHint = "--status-policy=none keeps a record without status, which needs no " +
	"such right"

// retryOnConflict calls write, and reads the record and calls it again if others changed it. A
// record that was deleted is created again.
func (s *Store) retryOnConflict(ctx context.Context, write func() error) error {
	return cluster.RetryOnConflict(write, func(error) error { return s.readChanged(ctx) },
		func(err error) bool {
			return apierrors.IsAlreadyExists(err) ||
				apierrors.IsNotFound(err) && (s.Exists() || len(s.shards) > 0)
		})
}

// readChanged reads the record after a conflict, which usually means that others have written it: a
// server under load may refuse a write although nobody has. If they have replaced it, all its
// members are theirs.
func (s *Store) readChanged(ctx context.Context) error {
	before := s.versions()
	if err := s.read(ctx); err != nil {
		s.contended = true
		return err
	}
	s.contended = s.contended || !maps.Equal(before, s.versions())
	if s.main.uid() != s.uid {
		s.loaded, s.added, s.uid = object.NewSet(), object.NewSet(), s.main.uid()
	}
	return nil
}

// versions returns the resource versions of the objects of the record by number, as far as it was
// read.
func (s *Store) versions() map[int]string {
	versions := map[int]string{s.main.number: s.main.version()}
	for number, p := range s.shards {
		versions[number] = p.version()
	}
	return versions
}

// namespaceTerminating is the cause of a status error for creating an object in a namespace that is
// being deleted.
const namespaceTerminating metav1.CauseType = "NamespaceTerminating"

func aboutNamespace(err apierrors.APIStatus) bool {
	return err.Status().Details != nil && err.Status().Details.Kind == "namespaces"
}

func (s *Store) save(ctx context.Context, state *record.State) error {
	if s.contended && state.Result == record.RunInterrupted && s.referenced <= 1 {
		state, s.intent = s.overtaken(state), true
	}
	contents := s.assignShards(state, s.shardStates(false))
	if len(contents) > s.referenced {
		contents = s.assignShards(
			state, s.shardStates(true),
		) // what others are about to add there is not written over
	}
	if err := s.write(ctx, contents); err != nil {
		return err
	}
	s.uid = s.main.uid()
	for _, ref := range state.Refs() {
		if !s.loaded.Has(ref) && !s.others.Has(ref) {
			s.added.Insert(ref)
		}
	}
	return nil
}

// write stores the shards in an order that keeps every member referenced: first the shards that the
// main object will reference, then the main object, then the deletion of unreferenced ones.
func (s *Store) write(ctx context.Context, contents []shardContent) error {
	grown, err := s.writeShards(ctx, contents)
	if err == nil {
		err = s.writeMain(ctx, contents, grown)
	}
	if err == nil {
		err = s.deleteUnreferenced(ctx)
	}
	return err
}

// Delete deletes the record unless it has members of others, or gone ones after others have written
// it. It then returns a *record.ChangedError. It calls before when nothing keeps the record.
func (s *Store) Delete(
	ctx context.Context, gone []object.Ref, before record.Before,
) error {
	return cluster.RetryOnConflict(func() error {
		changed := &record.ChangedError{}
		for _, member := range s.merge(&record.State{Gone: gone}, s.shardStates(false)) {
			if s.others.Has(member.Ref) {
				changed.Added = append(changed.Added, member.Ref)
			} else {
				changed.Gone = append(changed.Gone, member.Ref)
			}
		}
		if len(changed.Added)+len(changed.Gone) > 0 {
			return changed
		}
		if before != nil {
			if err := before(ctx, s.tryRemove); err != nil {
				return err
			}
		}
		s.dropped = nil // it writes the main object first
		return s.Remove(ctx)
	}, func(error) error { return s.readChanged(ctx) }, nil)
}

// tryRemove returns the error that the deletion of the main object would have.
func (s *Store) tryRemove(ctx context.Context) error {
	if !s.Exists() {
		return nil
	}
	_, err := s.cluster.Delete(ctx, cluster.Delete{
		Ref: object.RefOf(s.main.stored), UID: s.main.uid(), Version: s.main.version(), DryRun: true,
	})
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return nil
	}
	return err
}

// CheckOwned returns an *object.OwnedError if a member would be deleted with the record that was
// loaded, since it has an owner reference to it.
func (s *Store) CheckOwned(ctx context.Context, state *record.State) error {
	if len(state.Holders) == 0 {
		return nil
	}
	targets := make([]cluster.Target, len(state.Members))
	for i, m := range state.Members {
		targets[i] = cluster.Target{Ref: m.Ref}
	}
	live, err := s.cluster.Read(ctx, targets)
	if err != nil {
		return fmt.Errorf("read the objects that the record lists: %w", err)
	}
	for _, m := range state.Members {
		err := object.CheckOwned(s.Inventory.Ref, state.Holders, live.Objects[m.Ref])
		if err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes the record if nobody has written it since it was last read or written. A record of
// several shards first becomes an empty one, which is complete without them.
func (s *Store) Remove(ctx context.Context) error {
	if !s.Exists() {
		return nil
	}
	if s.capacity != unlimited {
		if err := s.removeShards(ctx); err != nil {
			return err
		}
	}
	_, err := s.cluster.Delete(ctx, cluster.Delete{
		Ref: object.RefOf(s.main.stored), UID: s.main.uid(), Version: s.main.version(),
	})
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return nil
	}
	return err
}
