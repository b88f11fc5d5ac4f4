package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/record"
)

// A record that is too large for one object is stored in several shards. The main one, which the
// inventory names, references the others by their number. Members of a shard count only once it is
// referenced. Every save that adds members to a shard writes the main object afterwards, so that
// one of two concurrent saves gets a conflict.

// shardWrites is how many shards are written or deleted at once.
const shardWrites = 4

// refOf returns the reference of the shard with a number.
func (s *Store) refOf(number int) object.Ref {
	ref := s.Inventory.Ref
	if number > 1 {
		ref.Name += "-" + strconv.Itoa(number)
	}
	return ref
}

// numberOf returns the number of a shard of this record other than the main one.
func (s *Store) numberOf(obj *unstructured.Unstructured) (number int, ok bool) {
	digits, ok := strings.CutPrefix(obj.GetName(), s.Inventory.Ref.Name+"-")
	if !ok || obj.GetNamespace() != s.Inventory.Ref.Namespace ||
		obj.GetLabels()[shardOfKey] != s.Inventory.ID {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil && number > 1 && object.RefOf(obj) == s.refOf(number)
}

// shardCount returns how many shards a main object references, including itself.
func shardCount(main *unstructured.Unstructured) (int, error) {
	if main == nil || main.GetAnnotations()[shardsKey] == "" {
		return 1, nil
	}
	text := main.GetAnnotations()[shardsKey]
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return 0, fmt.Errorf(
			"its annotation %s is %q and should be the number of objects that hold it", shardsKey,
			text,
		)
	}
	return number, nil
}

// setShards stores the objects that were read. It returns the number of a referenced shard that is
// missing, or 0. Shards that are not referenced may be unreadable.
func (s *Store) setShards(
	main *unstructured.Unstructured, found []*unstructured.Unstructured,
) (lost int, err error) {
	if s.referenced, err = shardCount(main); err != nil {
		return 0, &unreadableError{ref: s.Inventory.Ref, cause: err}
	}
	if s.main, err = s.newShard(1, main); err != nil {
		return 0, err
	}
	s.shards = map[int]*shard{}
	for _, obj := range found {
		number, ok := s.numberOf(obj)
		if !ok {
			continue
		}
		if s.shards[number], err = s.newShard(number, obj); err != nil && number <= s.referenced {
			return 0, err
		}
	}
	for number := 2; number <= s.referenced; number++ {
		if s.shards[number] == nil {
			return number, nil
		}
	}
	return 0, nil
}

// listShards returns the objects with the label of shards. Without permission to list, it reads the
// shards up to a number by name.
func (s *Store) listShards(ctx context.Context, last int) ([]*unstructured.Unstructured, error) {
	found, err := s.cluster.List(
		ctx, s.Inventory.Ref.GroupKind(), s.Inventory.Ref.Namespace,
		map[string]string{shardOfKey: s.Inventory.ID},
	)
	if apierrors.IsForbidden(err) {
		return s.readShards(ctx, 2, last)
	}
	if err != nil {
		return nil, fmt.Errorf("read the parts of the inventory: %w", err)
	}
	return found, nil
}

// readShards returns the objects that have the names of shards.
func (s *Store) readShards(
	ctx context.Context, first, last int,
) ([]*unstructured.Unstructured, error) {
	var targets []cluster.Target
	for number := first; number <= last; number++ {
		targets = append(targets, cluster.Target{
			Ref: s.refOf(number), Version: s.format.kind().Version, Record: true,
		})
	}
	if len(targets) == 0 {
		return nil, nil
	}
	snapshot, err := s.cluster.Read(ctx, targets)
	if err == nil {
		err = snapshot.Broken
	}
	if err != nil {
		return nil, fmt.Errorf("read the parts of the inventory: %w", err)
	}
	var found []*unstructured.Unstructured
	for _, obj := range snapshot.Objects {
		found = append(found, obj)
	}
	return found, nil
}

// missingShard returns the error about a missing shard.
func (s *Store) missingShard(number int, existing *unstructured.Unstructured) error {
	return &missingShardError{
		ref: s.Inventory.Ref, id: s.Inventory.ID, shard: s.refOf(number), number: number,
		of: s.referenced, existing: existing,
	}
}

// maybeReferenced reports whether a shard that is not referenced may become so at any moment: the
// main object has not changed since the shard was written, so its writer may still be about to
// update the main object.
func (s *Store) maybeReferenced(p *shard) bool {
	return p.number > s.referenced && p.stored.GetAnnotations()[basedOnKey] == s.main.version()
}

// writeShards writes all shards but the main one, and reports whether a shard got members or is
// new.
func (s *Store) writeShards(ctx context.Context, contents []shardContent) (grown bool, err error) {
	var writes errgroup.Group
	writes.SetLimit(shardWrites)
	var fresh []*shard
	for i := 1; i < len(contents); i++ {
		number := i + 1
		p := s.shards[number]
		if p == nil {
			p = &shard{number: number, state: &record.State{}}
			fresh = append(fresh, p)
		}
		grown = grown || contents[i].grows || number > s.referenced
		writes.Go(
			func() error { return s.writeShard(ctx, p, &contents[i].state, s.shardMetadata(number)) },
		)
	}
	err = writes.Wait()
	for _, p := range fresh {
		if p.stored != nil {
			s.shards[p.number] = p
		}
	}
	if apierrors.IsAlreadyExists(err) {
		s.searchUpTo = len(contents)
		if taken := s.checkNameTaken(ctx, fresh); taken != nil {
			return grown, taken
		}
	}
	return grown, err
}

// shardMetadata returns a function that labels a shard and, if it is not referenced yet, records
// the version of the main object.
func (s *Store) shardMetadata(number int) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		labelled := addMetadata(obj, map[string]string{shardOfKey: s.Inventory.ID}, nil)
		return number > s.referenced && setAnnotation(obj, basedOnKey, s.main.version()) || labelled
	}
}

// checkNameTaken returns an error if another object has the name of a new shard.
func (s *Store) checkNameTaken(ctx context.Context, fresh []*shard) error {
	for _, p := range fresh {
		if p.stored != nil {
			continue
		}
		found, err := s.readShards(ctx, p.number, p.number)
		if err != nil {
			return err
		}
		for _, obj := range found {
			if _, ours := s.numberOf(obj); !ours {
				return &nameTakenError{ref: s.Inventory.Ref, shard: object.RefOf(obj)}
			}
		}
	}
	return nil
}

// writeMain writes the main object, with the number of shards.
func (s *Store) writeMain(ctx context.Context, contents []shardContent, grown bool) error {
	count, basedOn := "", ""
	if len(contents) > 1 {
		count = strconv.Itoa(len(contents))
	}
	if len(contents) > 1 || s.touch {
		basedOn = s.main.version()
	}
	err := s.writeShard(ctx, s.main, &contents[0].state, func(obj *unstructured.Unstructured) bool {
		changed := addMetadata(obj, s.Inventory.Labels, s.Inventory.Annotations)
		changed = s.Inventory.markParent(obj, contents) || changed
		changed = setAnnotation(obj, shardsKey, count) || changed
		return (grown || s.touch || basedOn == "") && setAnnotation(obj, basedOnKey, basedOn) || changed
	})
	if named, unknown := shardCount(s.main.stored); unknown == nil {
		s.referenced = named
	}
	return err
}

// deleteUnreferenced deletes the shards that the main object does not reference, unless another run
// may be about to reference them.
func (s *Store) deleteUnreferenced(ctx context.Context) error {
	var unwanted []*shard
	for _, p := range s.shards {
		if p.number > s.referenced && !s.maybeReferenced(p) {
			unwanted = append(unwanted, p)
		}
	}
	return s.deleteShards(ctx, unwanted)
}

// deleteShards deletes shards that nobody has written since they were read.
func (s *Store) deleteShards(ctx context.Context, unwanted []*shard) error {
	var deletions errgroup.Group
	deletions.SetLimit(shardWrites)
	for _, p := range unwanted {
		deletions.Go(func() error {
			_, err := s.cluster.Delete(ctx,
				cluster.Delete{Ref: s.refOf(p.number), UID: p.stored.GetUID(), Version: p.version()})
			if err != nil {
				return fmt.Errorf(
					"delete %s, a part of the inventory that is not needed any more: %w",
					s.refOf(p.number), err,
				)
			}
			return nil
		})
	}
	if err := deletions.Wait(); err != nil {
		return err
	}
	for _, p := range unwanted {
		delete(s.shards, p.number)
	}
	return nil
}

// removeShards leaves only a main object that references no other shard. With permission to list,
// it also deletes unreferenced shards. It first writes the main object: others may have written it
// meanwhile to reference some.
func (s *Store) removeShards(ctx context.Context) error {
	found, err := s.listShards(ctx, s.referenced)
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return nil
	}
	if err != nil || s.referenced == 1 && len(found) == 0 {
		return err
	}
	s.touch = true
	err = s.write(ctx, []shardContent{{}})
	s.touch = false
	if err != nil {
		return err
	}
	if found, err = s.listShards(ctx, 1); err != nil {
		return err
	}
	if _, err := s.setShards(s.main.stored, found); err != nil {
		return err
	}
	return s.deleteShards(ctx, slices.Collect(maps.Values(s.shards)))
}
