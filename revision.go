package muster

import (
	"context"
	"errors"
	"fmt"

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
// revision. The source names the set; it has no files. An Apply of the set restores the revision:
// the objects are written as the run of the revision wrote them (ServerSide, FieldManager,
// Conflicts), and all other options are the caller's. The error is a *RevisionError if that is not
// possible.
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
	restored.Revision.Adopted = nil // nobody is asked, so that nothing is taken from others
	return &Set{cluster: c, request: r, set: restored, revision: number}, nil
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
