package change

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/apps/textdiff"
)

// Recalculate gives the change that makes another live object what is described, by the same rules. It is an error for changes
// that describe nothing.
func (c *Change) Recalculate(live *unstructured.Unstructured) (*Change, error) {
	if c.New == nil {
		return nil, fmt.Errorf("calculate %s %s again: there is no description of it", c.Op.Word(), c.Description())
	}
	return c.set.compare(live, c.New)
}

// Rework gives the change to be applied instead of one that was refused: of a creation because the object is there by now,
// or of an update because the object has changed since it was read. The live object is the one that is there now. If there
// is no such change the error, which wraps the refusal where kapp names it, says why; m hides values in it. What is reworked is
// what was approved: the change of the beginning, not one that was reworked before.
func (c *Change) Rework(live *unstructured.Unstructured, refused error, m *Masker) (*Change, error) {
	strategy, err := c.Strategy()
	if err != nil {
		return nil, err
	}
	switch op := c.ApplyOp(); {
	case op == Add && (strategy == FallbackOnUpdate || strategy == FallbackOnUpdateOrNoop):
		return c.adopt(live, strategy == FallbackOnUpdateOrNoop)
	case op == Update:
		return c.retry(live, refused, m)
	}
	return nil, refused
}

// adopt turns a creation into an update.
func (c *Change) adopt(live *unstructured.Unstructured, noop bool) (*Change, error) {
	again, err := c.Recalculate(live)
	switch {
	case err != nil:
		return nil, err
	case again.Op == Update || again.Op == Noop && noop:
		return again, nil
	case again.Op == Noop:
		return nil, errors.New("Recalculated change was a noop but those are not allowed (try adding annotation kapp.k14s.io/create-strategy: fallback-on-update-or-noop)")
	}
	return nil, errors.New("Expected recalculated change to be an update or noop")
}

const conflict = "Failed to update due to resource conflict "

// retry gives an update of another live object, provided that it changes the same as the one that was approved, or that it can
// be carried over. Where somebody else has made the same change nothing is left to do.
func (c *Change) retry(live *unstructured.Unstructured, refused error, m *Masker) (*Change, error) {
	again, err := c.Recalculate(live)
	if err != nil {
		return nil, err
	}
	switch again.Op {
	case Update:
	case Keep:
		return again, nil
	default:
		return nil, errors.New("Expected recalculated change to be an update")
	}
	same, err := c.same(again)
	if err != nil || same {
		return again, err
	}
	if carried, ok, err := c.carry(live, again); err != nil || ok {
		return carried, err
	}
	before, after, err := again.Texts(m)
	if err != nil {
		return nil, fmt.Errorf(conflict+"(approved diff no longer matches): %w", refused)
	}
	return nil, fmt.Errorf(conflict+"(approved diff no longer matches): %w: Recalculated diff:\n%s", refused,
		textdiff.FormatChanges(textdiff.Compare(before, after, false)))
}

// ExhaustedError is the error of a change that was reworked time and again and always refused.
func (c *Change) ExhaustedError(refused error) error {
	if c.Op == Add {
		return fmt.Errorf("Failed to update (after trying to create) due to resource conflict (tried multiple times): %w", refused)
	}
	return fmt.Errorf(conflict+"(tried multiple times): %w", refused)
}

// same reports whether two changes change the same fields from the same values to the same values.
func (c *Change) same(other *Change) (bool, error) {
	before, after, err := c.BeforeAfter()
	if err != nil {
		return false, err
	}
	otherBefore, otherAfter, err := other.BeforeAfter()
	if err != nil {
		return false, err
	}
	return sameDifference(before.Object, after.Object, otherBefore.Object, otherAfter.Object), nil
}
