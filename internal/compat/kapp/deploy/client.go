// Package deploy deploys and deletes apps as kapp does. It decides about changes by package change,
// and makes a plan of these, which the engine runs.
//
// It has no flags, standard output, environment or clock of its own: its caller passes these and
// prints the result. Errors and lines use kapp's words, which scripts of its users read.
package deploy

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/sets/app"
)

// Version is the version of kapp that the use cases are compatible with.
const Version = "0.60.0"

// Client deploys, deletes and shows apps in one cluster. One goroutine may use it at a time.
type Client struct {
	app.Client
	Confirm func(context.Context) error // asks the user before a change; nil asks nobody
	Notice  func(text string)           // receives what is taken from another owner; may be nil

	// Lock locks an app for a command, and returns the context of the run; nil locks nothing.
	Lock func(
		ctx context.Context, set lock.Set, command string,
	) (*lock.Lock, context.Context, error)
	held *lock.Lock // of the present run; may be nil
}

// liveObject is an object as it was read from the cluster.
type liveObject = *unstructured.Unstructured

// locked calls do with a client that holds the locks of apps, and the context of the run.
func (c *Client) locked(
	ctx context.Context, command string, names []app.Name, do func(context.Context, *Client) error,
) (err error) {
	holder, run := *c, ctx
	if c.Lock != nil {
		for _, set := range app.LockSets(names...) {
			held, locked, refused := c.Lock(run, set, command)
			if refused != nil {
				return refused
			}
			defer func() { err = release(ctx, held, err) }()
			run = locked
			if holder.held == nil || set == app.LockSet(names[0]) {
				holder.held = held
			}
		}
	}
	return do(run, &holder)
}

// release releases a lock, which may be nil, and returns the error of a command that has ended with
// an error: that the lock was lost, if the command has ended because of that or had succeeded.
func release(ctx context.Context, held *lock.Lock, err error) error {
	lost := (*lock.LostError)(nil)
	if errors.As(held.Release(ctx), &lost) && (err == nil || !lost.Ended) {
		return lost
	}
	return err
}
