package change

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/compat/kapp/textdiff"
)

// Recalculate returns the change of another live object to what is described, by the same rules. It
// is an error for changes without a description.
func (c *Change) Recalculate(live *unstructured.Unstructured) (*Change, error) {
	if c.New == nil {
		return nil, fmt.Errorf("calculate %s %s again: there is no description of it", c.Op.Word(),
			c.Description())
	}
	return c.calc.compare(live, c.New)
}

// Rework returns the change that replaces one that the server refused: of a creation because the
// object exists, or of an update because the object has changed since it was read. Live is the
// present object. If there is no such change the error says why, and wraps the refusal where kapp
// names it; m hides values in it. c is always the approved change, not one that was reworked
// before.
func (c *Change) Rework(
	live *unstructured.Unstructured, refused error, m *Masker,
) (*Change, error) {
	strategy, err := c.Strategy()
	if err != nil {
		return nil, err
	}
	switch op := c.ApplyOp(); {
	case op == Add && (strategy == FallbackOnUpdate || strategy == FallbackOnUpdateOrNoop):
		return c.updateInstead(live, strategy == FallbackOnUpdateOrNoop)
	case op == Update:
		return c.retryUpdate(live, refused, m)
	case op == Delete:
		return c.calc.deletion(live), nil
	}
	return nil, refused
}

// updateInstead returns an update that replaces a creation. Its strategy is the default.
func (c *Change) updateInstead(live *unstructured.Unstructured, noop bool) (*Change, error) {
	again, err := c.Recalculate(live)
	switch {
	case err != nil:
		return nil, err
	case again.Op == Update || again.Op == Noop && noop:
		again.fallback = true
		return again, nil
	case again.Op == Noop:
		return nil, errors.New("Recalculated change was a noop but those are not allowed " +
			"(try adding annotation kapp.k14s.io/create-strategy: fallback-on-update-or-noop)")
	}
	return nil, errors.New("Expected recalculated change to be an update or noop")
}

const conflict = "Failed to update due to resource conflict "

// retryUpdate returns the update of another live object if it changes the same fields as the
// approved one, or can be rebased. If others have made the same change, nothing is left to do.
func (c *Change) retryUpdate(
	live *unstructured.Unstructured, refused error, m *Masker,
) (*Change, error) {
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
	if rebased, ok, err := c.rebaseOnto(live, again); err != nil || ok {
		return rebased, err
	}
	before, after, err := again.Texts(m)
	if err != nil {
		return nil, fmt.Errorf(conflict+"(approved diff no longer matches): %w", refused)
	}
	return nil, fmt.Errorf(conflict+"(approved diff no longer matches): %w: Recalculated diff:\n%s",
		refused, textdiff.FormatChanges(textdiff.Compare(before, after, false)))
}

// ExhaustedError returns the error of a change that was reworked and refused too often.
func (c *Change) ExhaustedError(refused error) error {
	if c.Op == Add {
		return fmt.Errorf(
			"Failed to update (after trying to create) due to resource conflict (tried multiple times): %w",
			refused,
		)
	}
	return fmt.Errorf(conflict+"(tried multiple times): %w", refused)
}

// same reports whether two changes change the same fields from the same to the same values.
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
