package kapp

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/engine"
)

// refusal returns the error of a change that could not be applied. The last request was op.
func (f *applyFlags) refusal(c *change.Change, op change.Op, err error) error {
	if deleted := (*engine.NotRecreatedError)(nil); errors.As(err, &deleted) {
		return notRecreated(c, op, deleted)
	}
	text := err.Error()
	if late := (*engine.TimedOutError)(nil); errors.As(err, &late) {
		return fmt.Errorf("Timed out waiting after %s: Last error: %w", f.applyTimeout,
			f.refusal(c, op, late.Last))
	}
	hint := ""
	switch {
	case strings.Contains(text, "the server does not allow this method on the requested resource"):
		hint = " (hint: resource is possibly not namespaced but must be)"
	case strings.Contains(text, "the server could not find the requested resource"):
		hint = " (hint: resource is possibly namespaced but cannot be)"
	}
	return fmt.Errorf("%s %s: %s%s", c.ApplyOp().Word(), c.Description(),
		ui.Bullets(deploy.RequestError(c, op, err).Error()), hint)
}

// notRecreated returns the error of a change whose object was deleted to be recreated, and was not
// created again. The last request was op.
func notRecreated(c *change.Change, op change.Op, err *engine.NotRecreatedError) error {
	what, why := "Deleted, but not created again", err.Err
	switch {
	case err.Undeleted:
		what = "Perhaps deleted, but not created again"
	case err.Uncertain:
		what += ", as far as known"
	}
	if late := (*engine.TimedOutError)(nil); errors.As(why, &late) {
		what += fmt.Sprintf(": Timed out waiting after %s", late.After)
		why = late.Last
	}
	return fmt.Errorf("%s %s: %s: %s (hint: the next deployment creates it)", c.ApplyOp().Word(),
		c.Description(), what, ui.Bullets(deploy.RequestError(c, op, why).Error()))
}

// failed returns the error of a change that was applied and whose object failed.
func failed(verb, description, message string) error {
	return fmt.Errorf("waiting on %s %s: Finished unsuccessfully (%s)", verb, description, message)
}

// late returns the error of a change that took longer than one resource may.
func late(verb, description string, after time.Duration) error {
	return fmt.Errorf("waiting on %s %s: Errored: Resource timed out waiting after %s", verb,
		description, after)
}

// overdue returns the error of a run that timed out waiting.
func overdue(after time.Duration, descriptions []string) error {
	return errors.New(
		ui.Bullets(
			fmt.Sprintf("Timed out waiting after %s for resources: [%s]", after,
				strings.Join(descriptions, ", ")),
		),
	)
}

// errored returns the error of a change whose object could not be watched.
func errored(verb, description string, err error) error {
	return fmt.Errorf("waiting on %s %s: Errored: %w", verb, description, err)
}

// checkKept validates a flag that says how many change records stay.
func checkKept(flag string, count int) error {
	if count < 0 {
		return fmt.Errorf("Expected --%s to be at least 0, but was %d", flag, count)
	}
	return nil
}

// check validates the flags, and reads the files that they name.
func (f *applyFlags) check() error {
	switch {
	case f.applyAtOnce < 0:
		return fmt.Errorf("Expected --%sapply-concurrency to be at least 1, but was %d", f.prefix,
			f.applyAtOnce)
	case f.waitAtOnce < 1:
		return fmt.Errorf("Expected --%swait-concurrency to be at least 1, but was %d", f.prefix,
			f.waitAtOnce)
	case f.mode != "" && f.mode != modeUpdate && f.mode != modeServerSide:
		return fmt.Errorf("Expected --apply-mode to be %s or %s, but was '%s'", modeUpdate,
			modeServerSide, f.mode)
	}
	return nil
}
