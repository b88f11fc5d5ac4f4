package apps

import (
	"context"
	"errors"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/plan"
)

// errMismatch is the error of a run whose changes are others under the lock than those that the
// user has agreed to.
var errMismatch = errors.New("the app or the cluster has changed since the changes were shown " +
	"(approved diff no longer matches); nothing was changed (hint: run the command again)")

// asksFirst reports whether the user is asked before the lock is taken: nothing is changed
// meanwhile, and others may have to wait long for the answer.
func (c *Client) asksFirst() bool { return c.Lock != nil && c.Confirm != nil }

// confirm asks the user, if there is anybody to ask.
func (c *Client) confirm(ctx context.Context) error {
	if c.Confirm == nil {
		return nil
	}
	return c.Confirm(ctx)
}

// quiet returns a client that prints nothing and asks nobody, for what is done once more.
func (c *Client) quiet() *Client {
	silent := *c
	silent.Printer, silent.Notice, silent.Confirm = noPrinter{}, func(string) {}, nil
	return &silent
}

// noPrinter prints nothing.
type noPrinter struct{}

func (noPrinter) Line(string)             {}
func (noPrinter) Info(string, ...string)  {}
func (noPrinter) Debug(string, ...string) {}

// checkAgreed returns an error unless a run does what the user has agreed to. Random are texts that
// each of the two has others of.
func checkAgreed(agreed, now *Run, random ...string) error {
	want, err := agreed.digest(random)
	if err != nil {
		return err
	}
	have, err := now.digest(random)
	if err == nil && want != have {
		err = errMismatch
	}
	return err
}

// digest returns the digest of what the run changes, and of the differences that are shown.
func (r *Run) digest(random []string) (string, error) {
	planned, err := r.plan.Digest(random...)
	if err != nil {
		return "", err
	}
	shown := []any{planned}
	for _, c := range r.changes {
		if c.ApplyOp() != change.Update {
			continue
		}
		before, after, err := c.BeforeAfter()
		if err != nil {
			return "", err
		}
		shown = append(shown, before, after)
	}
	return plan.DigestOf(random, shown...)
}
