package deploy

import (
	"context"
	"errors"

	"github.com/muster-deploy/muster/internal/sets/app"
)

// errMismatch is the error of a run whose app is another one under the lock than the one that the
// user was asked about.
var errMismatch = errors.New("the app has changed since the changes were shown (approved diff no " +
	"longer matches); nothing was changed (hint: run the command again)")

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

func (noPrinter) Line(string) {}

func (noPrinter) Info(string, ...string) {}

func (noPrinter) Debug(string, ...string) {}

// checkAgreed reads the record of an app again, under its lock, and returns an error if it is the
// record of another app now. What others have changed of the objects is found when they are
// written: as in kapp, each change is calculated again then, and refused if it is not what was
// shown.
func (c *Client) checkAgreed(ctx context.Context, agreed *app.App) error {
	if agreed.IsLabelled() || !agreed.Exists() {
		return nil
	}
	now, err := c.Records.Find(ctx, agreed.Name, agreed.Namespace)
	if err == nil && now.Exists() && now.Meta.LabelValue != agreed.Meta.LabelValue {
		err = errMismatch
	}
	return err
}
