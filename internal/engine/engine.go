// Package engine reads the world, plans, runs a plan and records what came of it.
//
// It is handed a cluster, a record and policy, and emits events. It prints nothing, asks nothing, and knows neither the
// annotations nor the wording of any tool.
package engine

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
)

// Cluster is what the engine needs of an API server. Its methods may be called by several goroutines at once.
type Cluster interface {
	// Read gives the live objects among the targets. An object that is in neither part of the snapshot does not exist; one that
	// may not be read is an error.
	Read(ctx context.Context, targets []cluster.Target) (*cluster.Snapshot, error)
	// Write sends one object and gives it as the server stored it.
	Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error)
	// Delete asks for one deletion; gone means that there is nothing left to wait for.
	Delete(ctx context.Context, d cluster.Delete) (gone bool, err error)
	// Watch reports changes of the refs, all of one kind, until the context ends: everything since they
	// were read, or their present state first if they were not. It returns at once; see is called by one goroutine at a time.
	Watch(ctx context.Context, refs []object.Ref, see func(cluster.ObjectEvent))
	// WatchQuery reports objects that are not known by name, those that explain others: what there is, then Listed, then
	// changes until the context ends. It returns at once; see is called by one goroutine at a time.
	WatchQuery(ctx context.Context, s cluster.Query, see func(cluster.ObjectEvent))
	// Log gives the last lines of the log of a pod's container, in its present run or the one before; none if it cannot.
	Log(ctx context.Context, pod object.Ref, container string, previous bool, lines int) []string
	// Throttled is how often the server has said so far that it is asked too much.
	Throttled() int64
}

// Engine runs plans against one cluster and keeps one record. It may be used for one run at a time.
type Engine struct {
	Cluster Cluster
	Records record.Store   // nil if whoever has plans carried out keeps his own: Apply then saves nothing, and Plan must not be called
	Rules   *ready.RuleSet // asked before what package ready knows by itself; nil is none
}

// Request is what is wanted.
type Request struct {
	Desired []plan.Desired
	Policy  plan.Policy
}

// DryRun tells how much of a run is real.
type DryRun string

// The kinds of dry run. A server dry run sends every write to be validated and persisted nowhere.
const (
	DryRunNone   DryRun = ""
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

// DefaultConcurrency is how many writes are under way at once unless Options says otherwise, to begin with: a slow line has more,
// and a server that says that it is too much has fewer.
const DefaultConcurrency = 32

// Options are the circumstances of a run. The zero value is a real run that waits without limit.
type Options struct {
	DryRun        DryRun
	ApplyTimeout  time.Duration // how long an applied object may take to become ready, from its write; 0 is for ever
	DeleteTimeout time.Duration // how long a deleted object may take to be gone, from its deletion; 0 is for ever
	PerWave       bool          // every write begins the time of all that are waited for anew: one limit for each wave of a plan in waves
	Concurrency   int           // writes under way at once; 0 means DefaultConcurrency and what turns out to be right
	FailFast      bool          // end the run at the first step that ends badly, or that will hardly become ready
	LogLines      int           // how much is quoted of the log of a container that ended badly; 0 is nothing

	// Idle is how long steps are waited for while nothing else happens: every write that is over and every step that settles
	// begins the time anew. When it is up, all that are waited for time out and the run ends, as with EndOnWaitError. It holds
	// for steps with a limit of their own as well; 0 is for ever.
	Idle            time.Duration
	EndOnWriteError bool          // end the run at the first write that fails: nothing new is started or waited for
	EndOnWaitError  bool          // and at the first step that fails or times out while it is waited for
	RetryEvery      time.Duration // how soon a step is tried again that passes (Dialect.Again); 0 means DefaultRetryEvery
	RetryFor        time.Duration // how long it is tried again, and how long an object may take to Appear; 0 is for ever
	Patient         bool          // writes are patient, see cluster.Write
	Dialect         Dialect       // what the dialect decides during the run
}

// DefaultRetryEvery is how soon a step is tried again unless Options says otherwise.
const DefaultRetryEvery = time.Second

// Plan reads the record and the live objects and decides what to do. It changes nothing.
func (e *Engine) Plan(ctx context.Context, req Request) (*plan.Plan, error) {
	state, err := e.Records.Load(ctx)
	if err != nil {
		return nil, err
	}
	var targets []cluster.Target
	wanted := object.NewSet()
	for _, d := range req.Desired {
		ref := object.RefOf(d.Object)
		if wanted.Insert(ref) {
			targets = append(targets, cluster.Target{Ref: ref, Version: d.Object.GroupVersionKind().Version, ManagedFields: req.Policy.ServerSide})
		}
	}
	for _, ref := range state.Refs() {
		if !wanted.Has(ref) {
			targets = append(targets, cluster.Target{Ref: ref})
		}
	}
	live, err := e.Cluster.Read(ctx, targets)
	if err != nil {
		return nil, fmt.Errorf("read the cluster: %w", err)
	}
	return plan.Build(plan.Input{
		Desired:  req.Desired,
		Recorded: state.Refs(),
		Live:     live.Objects,
		Unserved: live.Unserved,
		Policy:   req.Policy,
	})
}
