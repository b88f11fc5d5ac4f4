package muster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/sets"
)

// RevisionError reports a revision of the history that does not exist, or cannot be restored as a
// whole.
type RevisionError struct {
	Number int
	err    error
}

func (e *RevisionError) Error() string { return e.err.Error() }

// Unwrap returns what is missing.
func (e *RevisionError) Unwrap() error { return e.err }

// OpenRevision opens a set as a revision of its history has it, with the readiness rules of that
// revision. The source names the set; it has no files. An Apply of the set restores the revision,
// with the options of the caller. The error is a *RevisionError if that is not possible.
func OpenRevision(ctx context.Context, c *Cluster, s Source, number int) (*Set, error) {
	s.Files = nil
	if err := s.check(); err != nil {
		return nil, err
	}
	r := s.request()
	base, store, err := sets.OpenRevisions(ctx, c.client, r)
	if absent := (*NoRecordError)(nil); errors.As(missing(err), &absent) {
		return nil, &RevisionError{number, err}
	}
	if err != nil {
		return nil, err
	}
	restored, err := sets.AtRevision(ctx, c.client, r, store, number)
	if err == nil {
		err = restored.Check()
	}
	if err != nil {
		return nil, revisionError(ctx, store, base.Title(), number, err)
	}
	return &Set{cluster: c, request: r, set: restored, revision: number}, nil
}

// ForgetHistory deletes the history that a destroyed set has left, as Destroy does unless its
// result has a warning. The source names the set, without files, and the mark is what its objects
// carried. It does nothing if there is a record, or if the set has got another name.
func ForgetHistory(ctx context.Context, c *Cluster, s Source, m Mark) error {
	s.Files = nil
	set, err := Open(ctx, c, s)
	if err == nil {
		_, err = set.Mark(ctx)
	}
	absent, renamed := (*NoRecordError)(nil), (*sets.RenamedError)(nil)
	if !errors.As(err, &absent) {
		return err
	}
	_, store, err := sets.OpenRevisions(ctx, c.client, s.request())
	if err = missing(err); errors.As(err, &absent) || errors.As(err, &renamed) {
		return nil // this set has no history
	}
	if err != nil {
		return err
	}
	_, store.Set.ID, _ = strings.Cut(m.Text, "=")
	// A history is shown even if records cannot be listed, and deleted only if none is its own.
	if exists, err := store.Exists(ctx, store.Set.ID); err != nil || exists {
		return err
	}
	return store.DeleteAll(ctx)
}

// revisionError returns the error of a revision that was to be opened.
func revisionError(
	ctx context.Context, s *history.Store, title string, number int, err error,
) error {
	none, part := (*history.NotFoundError)(nil), (*history.PartError)(nil)
	other, loss := (*sets.OtherSetError)(nil), (*sets.LossError)(nil)
	switch {
	case errors.As(err, &none):
		kept := "the history is empty"
		if heads, failed := s.List(ctx); failed == nil && len(heads) > 0 {
			kept = fmt.Sprintf("the history has %d, from %d to %d", len(heads),
				heads[len(heads)-1].Number, heads[0].Number)
		}
		return &RevisionError{number, fmt.Errorf("there is no revision %d of %s in namespace %s: %s",
			number, title, s.Set.Namespace, kept)}
	case errors.As(err, &part), errors.As(err, &other), errors.As(err, &loss):
		return &RevisionError{number, err}
	}
	return err
}
