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

// A record that is too large for one object is divided: the main object, which the inventory names, says how many objects
// there are; the others are its parts. What they hold counts only once the main object names them. Every save that adds
// members to a part writes the main object afterwards, so that of two such saves at once one finds the main object changed.

// partWrites is how many parts are written, or deleted, at once.
const partWrites = 4

// refOf is where the object of a number is.
func (s *Store) refOf(number int) object.Ref {
	ref := s.Inventory.Ref
	if number > 1 {
		ref.Name += "-" + strconv.Itoa(number)
	}
	return ref
}

// numberOf is the number of a part of this record. Other objects have none.
func (s *Store) numberOf(obj *unstructured.Unstructured) (number int, ok bool) {
	digits, ok := strings.CutPrefix(obj.GetName(), s.Inventory.Ref.Name+"-")
	if !ok || obj.GetNamespace() != s.Inventory.Ref.Namespace || obj.GetLabels()[partOfKey] != s.Inventory.ID {
		return 0, false
	}
	number, err := strconv.Atoi(digits)
	return number, err == nil && number > 1 && object.RefOf(obj) == s.refOf(number)
}

// objectsOf is how many objects a main object names, itself among them.
func objectsOf(main *unstructured.Unstructured) (int, error) {
	if main == nil || main.GetAnnotations()[partsKey] == "" {
		return 1, nil
	}
	text := main.GetAnnotations()[partsKey]
	number, err := strconv.Atoi(text)
	if err != nil || number < 1 {
		return 0, fmt.Errorf("its annotation %s is %q and should be the number of objects that hold it", partsKey, text)
	}
	return number, nil
}

// accept takes in the objects that were read and gives the number of a part that the main object names and that is not among
// them, or 0. What parts hold that it does not name is of no importance.
func (s *Store) accept(main *unstructured.Unstructured, found []*unstructured.Unstructured) (lost int, err error) {
	if s.named, err = objectsOf(main); err != nil {
		return 0, &unreadableError{ref: s.Inventory.Ref, cause: err}
	}
	if s.main, err = s.pieceOf(1, main); err != nil {
		return 0, err
	}
	s.parts = map[int]*piece{}
	for _, obj := range found {
		number, ok := s.numberOf(obj)
		if !ok {
			continue
		}
		if s.parts[number], err = s.pieceOf(number, obj); err != nil && number <= s.named {
			return 0, err
		}
	}
	for number := 2; number <= s.named; number++ {
		if s.parts[number] == nil {
			return number, nil
		}
	}
	return 0, nil
}

// findParts gives the parts that there are, and perhaps objects that are none. Whoever may not list finds those up to a number.
func (s *Store) findParts(ctx context.Context, last int) ([]*unstructured.Unstructured, error) {
	found, err := s.cluster.List(ctx, s.Inventory.Ref.GroupKind(), s.Inventory.Ref.Namespace, map[string]string{partOfKey: s.Inventory.ID})
	if apierrors.IsForbidden(err) {
		return s.readParts(ctx, 2, last)
	}
	if err != nil {
		return nil, fmt.Errorf("read the parts of the inventory: %w", err)
	}
	return found, nil
}

// readParts gives the objects that have the names of parts.
func (s *Store) readParts(ctx context.Context, first, last int) ([]*unstructured.Unstructured, error) {
	var targets []cluster.Target
	for number := first; number <= last; number++ {
		targets = append(targets, cluster.Target{Ref: s.refOf(number), Version: s.format.kind().Version})
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

// lostPart is the error about a part that is not there.
func (s *Store) lostPart(number int, existing *unstructured.Unstructured) error {
	return &lostPartError{
		ref: s.Inventory.Ref, id: s.Inventory.ID, part: s.refOf(number), number: number, of: s.named, existing: existing,
	}
}

// contended reports whether a part that is not named may be so at any moment: the main object is as it was when the part was
// written, so that whoever wrote it may be about to go on.
func (s *Store) contended(p *piece) bool {
	return p.number > s.named && p.stored.GetAnnotations()[basedOnKey] == s.main.version()
}

// writeParts writes all shares but the first, and reports whether a part has more members now, or is new.
func (s *Store) writeParts(ctx context.Context, shares []share) (grown bool, err error) {
	var writes errgroup.Group
	writes.SetLimit(partWrites)
	var fresh []*piece
	for i := 1; i < len(shares); i++ {
		number := i + 1
		p := s.parts[number]
		if p == nil {
			p = &piece{number: number, has: &record.State{}}
			fresh = append(fresh, p)
		}
		grown = grown || shares[i].gains || number > s.named
		writes.Go(func() error { return s.writePiece(ctx, p, &shares[i].state, s.markPart(number)) })
	}
	err = writes.Wait()
	for _, p := range fresh {
		if p.stored != nil {
			s.parts[p.number] = p
		}
	}
	if apierrors.IsAlreadyExists(err) {
		s.searches = len(shares)
		if taken := s.checkTaken(ctx, fresh); taken != nil {
			return grown, taken
		}
	}
	return grown, err
}

// markPart labels a part, and one that is not named yet with the main object that it belongs to.
func (s *Store) markPart(number int) func(*unstructured.Unstructured) bool {
	return func(obj *unstructured.Unstructured) bool {
		labelled := label(obj, map[string]string{partOfKey: s.Inventory.ID}, nil)
		return number > s.named && annotate(obj, basedOnKey, s.main.version()) || labelled
	}
}

// checkTaken refuses names of parts that other objects have.
func (s *Store) checkTaken(ctx context.Context, fresh []*piece) error {
	for _, p := range fresh {
		if p.stored != nil {
			continue
		}
		found, err := s.readParts(ctx, p.number, p.number)
		if err != nil {
			return err
		}
		for _, obj := range found {
			if _, ours := s.numberOf(obj); !ours {
				return &takenError{ref: s.Inventory.Ref, part: object.RefOf(obj)}
			}
		}
	}
	return nil
}

// writeMain writes the first share, and how many there are.
func (s *Store) writeMain(ctx context.Context, shares []share, grown bool) error {
	parts, basedOn := "", ""
	if len(shares) > 1 {
		parts, basedOn = strconv.Itoa(len(shares)), s.main.version()
	}
	err := s.writePiece(ctx, s.main, &shares[0].state, func(obj *unstructured.Unstructured) bool {
		changed := label(obj, s.Inventory.Labels, s.Inventory.Annotations)
		changed = annotate(obj, partsKey, parts) || changed
		return (grown || basedOn == "") && annotate(obj, basedOnKey, basedOn) || changed
	})
	if named, unknown := objectsOf(s.main.stored); unknown == nil {
		s.named = named
	}
	return err
}

// drop deletes the parts that the main object does not name, unless somebody may be about to have it name them.
func (s *Store) drop(ctx context.Context) error {
	var unwanted []*piece
	for _, p := range s.parts {
		if p.number > s.named && !s.contended(p) {
			unwanted = append(unwanted, p)
		}
	}
	return s.deleteParts(ctx, unwanted)
}

// deleteParts deletes parts that nobody has written since they were read.
func (s *Store) deleteParts(ctx context.Context, unwanted []*piece) error {
	var deletions errgroup.Group
	deletions.SetLimit(partWrites)
	for _, p := range unwanted {
		deletions.Go(func() error {
			_, err := s.cluster.Delete(ctx, cluster.Delete{Ref: s.refOf(p.number), UID: p.stored.GetUID(), Version: p.version()})
			if err != nil {
				return fmt.Errorf("delete %s, a part of the inventory that is not needed any more: %w", s.refOf(p.number), err)
			}
			return nil
		})
	}
	if err := deletions.Wait(); err != nil {
		return err
	}
	for _, p := range unwanted {
		delete(s.parts, p.number)
	}
	return nil
}

// removeParts leaves nothing but a main object that names no parts. Parts that nobody names are looked for as well, except by
// those who may not list.
func (s *Store) removeParts(ctx context.Context, asLoaded bool) error {
	empty := func() error {
		if s.named == 1 {
			return nil
		}
		return s.write(ctx, []share{{}})
	}
	if asLoaded {
		if err := empty(); err != nil {
			return err
		}
	} else if err := s.attempt(ctx, empty); err != nil {
		return err
	}
	found, err := s.findParts(ctx, 1)
	if unknown := (*cluster.UnknownKindError)(nil); errors.As(err, &unknown) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := s.accept(s.main.stored, found); err != nil {
		return err
	}
	return s.deleteParts(ctx, slices.Collect(maps.Values(s.parts)))
}
