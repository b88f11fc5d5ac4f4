package history

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/muster-deploy/muster/internal/object"
)

// ForgetCompleted lets a revision no longer say that some Jobs have succeeded, which it does:
// somebody starts them again. It sends an update, after a list unless ListToWrite has sent one.
func (s *Store) ForgetCompleted(ctx context.Context, number int, jobs []object.Ref) error {
	return s.changeStarted(ctx, number, func(started []object.Ref) []object.Ref {
		return append(started, jobs...)
	})
}

// RememberCompleted takes ForgetCompleted back: nobody has started the Jobs.
func (s *Store) RememberCompleted(ctx context.Context, number int, jobs []object.Ref) error {
	return s.changeStarted(ctx, number, func(started []object.Ref) []object.Ref {
		return slices.DeleteFunc(started, func(ref object.Ref) bool {
			return slices.Contains(jobs, ref)
		})
	})
}

// changeStarted changes the Jobs of a revision that were started since.
func (s *Store) changeStarted(
	ctx context.Context, number int, change func([]object.Ref) []object.Ref,
) error {
	heads, err := s.ListToWrite(ctx)
	if err != nil {
		return err
	}
	s.listed = nil // it changes
	i := slices.IndexFunc(heads, func(h Head) bool { return h.Number == number })
	if i < 0 {
		return &NotFoundError{s.Set, number}
	}
	started := change(slices.Clone(heads[i].started))
	if len(started) == 0 {
		return s.annotate(ctx, heads[i], annotationStarted, nil)
	}
	slices.SortFunc(started, object.Compare)
	text, err := json.Marshal(slices.Compact(started))
	if err != nil {
		return fmt.Errorf("annotate revision %d of %q: %w", number, s.Set.Name, err)
	}
	return s.annotate(ctx, heads[i], annotationStarted, string(text))
}

// setStarted reads the Jobs that were started since from the annotation with them. If nobody can
// read that, none counts as completed.
func (h *Head) setStarted(text string) {
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), &h.started); err != nil {
		h.Completed, h.started = 0, nil
		return
	}
	h.Completed = max(0, h.Completed-len(h.started))
}

// forgetStarted removes from objects what the revision of a head says of the success of Jobs that
// were started since.
func (h *Head) forgetStarted(objects []Object) {
	for i := range objects {
		if h.Completed == 0 || slices.Contains(h.started, object.RefOf(objects[i].Unstructured)) {
			objects[i].Completed = time.Time{}
		}
	}
}
