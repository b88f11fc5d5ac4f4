// Package apps holds the use cases of apps: deploy, delete, inspect, list, follow logs, rename.
//
// An app is a name and the set of objects that carry its label. Each use case is a function of a
// cluster and a request. It has no flags, standard output, environment or clock of its own: its
// caller passes these and prints the result. Errors and lines use kapp's words, which scripts of
// its users read.
//
// Native commands plan an app as they plan a package, by plan.Build: Set and SetDeletion are the
// app as the format and the record of such a plan. Deploy and Delete work as kapp does: they make a
// plan of the changes that package change calculates. The engine runs both.
//
// The packages below hold the parts: the record of an app (app), its configuration (config), what
// kapp reads on its objects (lastapplied), the calculation of kapp's changes (change) and the order
// by change groups and rules (changegraph).
package apps

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/preflight"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
)

// Version is the version of kapp that the use cases are compatible with.
const Version = "0.60.0"

// ConfigVersion is the newest version of kapp that Config documents may require.
const ConfigVersion = "0.66.2"

// Manager is the field manager of all writes. It is kapp's, since both tools write the same fields.
const Manager = "kapp"

// Cluster is an API server. *cluster.Client implements it.
type Cluster interface {
	engine.Cluster
	app.Cluster
	preflight.AccessReviewer
	Kind(ctx context.Context, gk schema.GroupKind) (cluster.Kind, error)
	ListableKinds(
		ctx context.Context,
	) (found []cluster.ListableKind, broken map[schema.GroupVersion]error, err error)
	Rediscover(ctx context.Context) error
	LearnKind(ctx context.Context, crd *unstructured.Unstructured) error
	Select(ctx context.Context, s cluster.Selection) ([]*unstructured.Unstructured, error)
	StreamLog(
		ctx context.Context, pod object.Ref, container string, o cluster.LogOptions,
	) (io.ReadCloser, error)
}

// Printer prints the text of use cases.
type Printer interface {
	Line(text string)                   // progress and results
	Info(text string, where ...string)  // a note about something unexpected
	Debug(text string, where ...string) // printed with --debug alone
}

// Client runs use cases against one cluster. One goroutine may use it at a time.
type Client struct {
	Cluster   Cluster
	Records   *app.Store
	Namespace string // for resources that name none
	Printer   Printer
	Confirm   func(context.Context) error // asks the user before a change; nil asks nobody
	Now       func() time.Time
	Notice    func(text string) // receives a line for each object taken from another owner; may be nil

	// Lock locks an app for a command, and returns the context of the run; nil locks nothing.
	Lock func(
		ctx context.Context, set lock.Set, command string,
	) (*lock.Lock, context.Context, error)
	held *lock.Lock // of the present run; may be nil
}

// LockSet returns what is locked while an app is changed.
func LockSet(name Name) lock.Set {
	return lock.Set{Namespace: name.Namespace, ID: "app/" + name.Name, Name: name.Name}
}

// LockSets returns what is locked while apps are changed, in order. Apps without a name or without
// a record are not locked.
func LockSets(names ...Name) []lock.Set {
	var sets []lock.Set
	for _, name := range names {
		if name.Name != "" && !strings.HasPrefix(name.Name, "label:") {
			sets = append(sets, LockSet(name))
		}
	}
	return lock.InOrder(sets...)
}

// locked calls do with a client that holds the locks of apps, and the context of the run.
func (c *Client) locked(
	ctx context.Context, command string, names []Name, do func(context.Context, *Client) error,
) (err error) {
	holder, run := *c, ctx
	if c.Lock != nil {
		for _, set := range LockSets(names...) {
			held, locked, refused := c.Lock(run, set, command)
			if refused != nil {
				return refused
			}
			defer func() { err = release(ctx, held, err) }()
			run = locked
			if holder.held == nil || set == LockSet(names[0]) {
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

// liveObject is an object as it was read from the cluster.
type liveObject = *unstructured.Unstructured

// Name identifies an app.
type Name struct {
	Name      string // or "label:SELECTOR" for an app that has no record
	Namespace string // of the record
}

// Find returns an app, whether it exists or not.
func (c *Client) Find(ctx context.Context, name Name) (*app.App, error) {
	return c.Records.Find(ctx, name.Name, name.Namespace)
}

// Existing returns an app. An app that does not exist is an error.
func (c *Client) Existing(ctx context.Context, name Name) (*app.App, error) {
	found, err := c.Find(ctx, name)
	if err == nil && !found.Exists() {
		err = found.NotFoundError(ctx)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}
