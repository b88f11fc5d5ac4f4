// Package muster deploys sets of Kubernetes objects as one unit: it applies them in the order of
// their dependencies, waits until they are ready, prunes what left the set, and records in the
// cluster what it deployed.
//
// Connect returns a Cluster, and Open reads a Set: a package, whose manifests are in a folder, or
// an app, a name for any manifests. A set is planned (Set.Plan), applied (Set.Apply), compared with
// the cluster (Set.Drift) and destroyed (Set.Destroy). Apply and Destroy run what the commands
// apply and destroy run, with the same records, locks and history, so that programs and people can
// work on the same sets.
//
//	c, err := muster.Connect(config, muster.ConnectOptions{UserAgent: "shop-operator"})
//	set, err := muster.Open(ctx, c, muster.Source{
//		Kind: muster.Package, Namespace: "shop", Name: "shop", Files: []string{"manifests"},
//	})
//	result, err := set.Apply(ctx, muster.ApplyOptions{}, func(e muster.Event) { fmt.Println(e) })
//
// Nothing is printed, and nothing is asked. The package is not stable before version 1.
package muster

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// Cluster is a connection to one API server as one user. It may be used by several goroutines at
// once, and keeps what it finds out about the kinds of the server: programs should keep it, too.
type Cluster struct{ client *cluster.Client }

// ConnectOptions say how a cluster is used.
type ConnectOptions struct {
	UserAgent string // empty means muster
	// Warn receives warnings of the server, from any goroutine; nil ignores them.
	Warn func(text string)
	// Request is called after every request, from any goroutine; it may be nil.
	Request func(method string, code int)
}

// Connect returns a cluster. It sends no request.
func Connect(config *rest.Config, o ConnectOptions) (*Cluster, error) {
	options := cluster.Options{UserAgent: cmp.Or(o.UserAgent, "muster")}
	if o.Warn != nil {
		options.Warn = func(_ object.Ref, text string) { o.Warn(text) }
	}
	if o.Request != nil {
		options.Trace = func(r cluster.Request) { o.Request(r.Method, r.Code) }
	}
	client, err := cluster.New(config, options)
	if err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return &Cluster{client: client}, nil
}

// Rediscover reads the kinds of the server again. A kind that a set brings along is known without.
func (c *Cluster) Rediscover(ctx context.Context) error { return c.client.Rediscover(ctx) }

// Object identifies an object of a cluster. Group and Namespace may be empty.
type Object struct{ Group, Kind, Namespace, Name string }

// String returns the object as messages name it: deployment.apps/web, with its namespace.
func (o Object) String() string { return o.ref().String() }

// ref returns the object for the packages of the program.
func (o Object) ref() object.Ref { return object.Ref(o) }

// objectsOf returns objects of the packages of the program.
func objectsOf(refs []object.Ref) []Object {
	objects := make([]Object, len(refs))
	for i, ref := range refs {
		objects[i] = Object(ref)
	}
	return objects
}
