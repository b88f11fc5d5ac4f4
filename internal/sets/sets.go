// Package sets presents packages and apps to the native commands as one thing: a set of objects
// with a record in the cluster.
//
// A Set is opened from what the user names, without a cluster. An Operation is what a command does
// to a set: it makes a plan and runs it. Packages packages and apps hold the use cases behind both.
// This package has no flags and prints nothing.
package sets

import (
	"context"
	"io"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/packages"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/view"
)

// Cluster is what operations on sets need of a cluster.
type Cluster interface {
	packages.Cluster
}

// Request names a set.
type Request struct {
	Folder string    // of a package, or packages.Stdin
	Stream io.Reader // the standard input
	Rules  []string  // files with readiness rules
	Notice func(string)
}

// Set is a set of objects that has, or will have, one record.
type Set interface {
	// Title returns what messages call the set, as in: package "shop".
	Title() string
	// Record returns the object that holds the record.
	Record() object.Ref
	// Expected returns the cluster that the set belongs to, and where that is written. Both are empty
	// for any.
	Expected() (cluster, where string)
	// PrepareApply returns the operation that makes the cluster the same as the set.
	PrepareApply(context.Context, Cluster, packages.Scope, packages.ApplyOptions) (Operation, error)
	// PrepareDestroy returns the operation that deletes all objects of the set.
	PrepareDestroy(context.Context, Cluster, packages.DestroyOptions) (Operation, error)
	// Targets returns the objects of the set in the cluster.
	Targets(ctx context.Context, c Cluster, notice func(string)) (*packages.StatusTargets, error)
}

// Operation is what a command does to a set.
type Operation interface {
	// Lock returns what is locked during the operation. The lock is taken before MakePlan.
	Lock() lock.Set
	// MakePlan reads the record and the cluster, and makes the plan.
	MakePlan(context.Context) error
	// Plan returns the plan; nil before MakePlan.
	Plan() *plan.Plan
	// Run runs the plan and records the result.
	Run(context.Context, engine.Options, event.Sink) (event.Summary, error)
	// Sources returns the file and document that describes each object.
	Sources() map[object.Ref]string
	// Recorded reports whether there was a record when the plan was made.
	Recorded() bool
	// Forgotten returns a line for each object that leaves the record because its kind does not exist
	// any more.
	Forgotten() []string
	// AllowDelete makes the plan again, so that it deletes the objects that it held back.
	AllowDelete(context.Context) error
	// CheckEmpty returns an error if nothing is desired and the plan removes objects, unless the
	// options allow that.
	CheckEmpty() error
	// LeavesUnknown reports whether objects stay in the record because the cluster cannot describe
	// their kind now.
	LeavesUnknown() bool
	// Children returns what controllers created for objects of the set.
	Children(context.Context) view.ChildRows
	// Save returns the plan in the format of a file; version is that of the program.
	Save(ctx context.Context, version string) (*packages.SavedPlan, error)
	// Check returns an error unless the plan is the same as a saved one.
	Check(context.Context, *packages.SavedPlan) error
}

// Open reads the set of a request.
func Open(ctx context.Context, r Request) (Set, error) {
	p, err := packages.Open(ctx, r.input())
	if err != nil {
		return nil, err
	}
	if err := p.CheckAppAnnotations(); err != nil {
		return nil, err
	}
	rules, err := packages.ReadRules(ctx, r.Folder, r.Rules)
	if err != nil {
		return nil, err
	}
	return &packageSet{inventory: p.Inventory, pkg: p, rules: rules}, nil
}

// OpenRecord reads only what names the record of a set, so that broken manifests do not prevent its
// objects from being deleted.
func OpenRecord(ctx context.Context, r Request) (Set, error) {
	inv, err := packages.OpenInventory(ctx, r.input())
	if err != nil {
		return nil, err
	}
	return &packageSet{inventory: inv}, nil
}

// input returns the package that the request names.
func (r Request) input() packages.Input {
	return packages.Input{Folder: r.Folder, Stream: r.Stream, Notice: r.Notice}
}
