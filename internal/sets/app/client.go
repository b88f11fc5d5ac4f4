package app

import (
	"context"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/lock"
)

// ConfigVersion is the newest version of kapp that Config documents may require.
const ConfigVersion = "0.66.2"

// Manager is the field manager of all writes. It is kapp's, since both tools write the same fields.
const Manager = "kapp"

// Printer prints the text of use cases.
type Printer interface {
	Line(text string)                   // progress and results
	Info(text string, where ...string)  // a note about something unexpected
	Debug(text string, where ...string) // printed with --debug alone
}

// Client finds apps and their objects in one cluster. One goroutine may use it at a time.
type Client struct {
	Cluster   cluster.Writer
	Records   *Store
	Namespace string // for resources that name none
	Printer   Printer
	Now       func() time.Time
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

// liveObject is an object as it was read from the cluster.
type liveObject = *unstructured.Unstructured

// Name identifies an app.
type Name struct {
	Name      string // or "label:SELECTOR" for an app that has no record
	Namespace string // of the record
}

// Find returns an app, whether it exists or not.
func (c *Client) Find(ctx context.Context, name Name) (*App, error) {
	return c.Records.Find(ctx, name.Name, name.Namespace)
}

// Existing returns an app. An app that does not exist is an error.
func (c *Client) Existing(ctx context.Context, name Name) (*App, error) {
	found, err := c.Find(ctx, name)
	if err == nil && !found.Exists() {
		err = found.NotFoundError(ctx)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// closingTime limits the last writes of a run that was interrupted.
const closingTime = 30 * time.Second

// Closing returns a context for the last writes of a run to its record, also of one that was
// interrupted or has lost its lock.
func Closing(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(cluster.Unguarded(cluster.Finish(ctx, 0)), closingTime)
}
