package engine

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/record"
)

// Rules judge live objects. A *ready.RuleSet judges an object alone; the rules of apps may see its
// child objects, too. Rules are called by several goroutines at once and must not change what they
// are given.
type Rules interface {
	// Judge returns the verdict on a live object. Children are the child objects that Children
	// asked for, once all of them are known; before that there are none.
	Judge(obj *unstructured.Unstructured, children []*unstructured.Unstructured) ready.Verdict
	// Leaving returns the status of an object that is waited for until it is gone.
	Leaving(obj *unstructured.Unstructured) ready.Status
	// Children returns the kinds and labels of the child objects that Judge wants to see of an
	// object that is not ready, all in the namespace of the object; no kinds if it needs none. All
	// child objects of the kinds carry the labels: causes are found on these alone.
	Children(obj *unstructured.Unstructured) (kinds []schema.GroupKind, labels map[string]string)
}

// DryRun says how much of a run is real.
type DryRun string

// The kinds of dry run; the zero value is none of them, and a run refuses it. A server dry run
// sends every write to be validated and persisted nowhere. A client dry run does so for client-side
// updates, to find out which of them change anything, and for as many creations as
// Options.TryCreations says.
const (
	DryRunNone   DryRun = "none" // the run is real
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

// DefaultConcurrency is the initial number of concurrent writes. It adapts to latency and to 429
// responses.
const DefaultConcurrency = 32

// Options say how a plan is run. With DryRun alone a run ends early only if it makes no progress
// for DefaultStall.
type Options struct {
	DryRun      DryRun // required
	Limits      Limits
	StopOn      StopOn
	Retry       Retry
	Concurrency int // concurrent writes; 0 means DefaultConcurrency, adapted during the run

	// TryCreations is the number of creations up to which a client dry run asks the server whether it
	// would refuse them as invalid. If the plan has more, it asks about none.
	TryCreations int

	// Successors means that an object of the same name that others create in place of one that is
	// waited for is waited for instead, if it appears soon after the deletion.
	Successors bool

	// FieldValidation is what the server does about unknown and repeated fields of desired objects:
	// see cluster.Write.
	FieldValidation string

	changed schemas   // of the definitions that the run changes; set by the run
	served  *sync.Map // objects whose changed schema was published before their next write
	deleted *deletedHolders

	// NoCauses saves the requests for why objects are not ready: nobody reads Explained events, and
	// StopOn.Stuck, which depends on causes, is not set. kapp and kpt live print no causes.
	NoCauses bool

	// Pods says how the pods of workloads decide whether these are ready.
	Pods PodPolicy

	// BeforeForget is called when the record of a destroyed set is about to be deleted, for what
	// nobody would find without the record. Its error keeps the record. It may be called again.
	BeforeForget record.Before

	LogLines int // lines quoted from the log of a container that failed; 0 quotes nothing

	// GiveUp counts an object with a cause that is certain not to pass as failed, as soon as nothing
	// else in the run may change that. See ready.Cause.Certain.
	GiveUp bool
}

// PodPolicy says how pods decide whether their workload is ready. The zero value judges the status
// of the workload alone, as kapp and kpt live do.
type PodPolicy struct {
	// Check lets no workload be ready while a pod of it is not, or has a container that was restarted
	// a moment ago. Pods that are not restarted are ready when they have ended.
	Check bool
	// MinReady is how long a workload with new pods has to stay ready if a container has no probe.
	// It needs Check.
	MinReady time.Duration
}

// DefaultMinReady is the usual PodPolicy.MinReady: most programs that crash at their start have
// done so by then.
const DefaultMinReady = 2500 * time.Millisecond

// CheckPods returns the usual policy.
func CheckPods() PodPolicy { return PodPolicy{Check: true, MinReady: DefaultMinReady} }

// Limits are how long a run waits. Those that are not set do not limit it, except Stall, which is
// DefaultStall then, unless others limit all waits: a run without any limit is one that a user has
// asked for.
type Limits struct {
	Apply  limit.Time // for an applied object to become ready, from its write
	Delete limit.Time // for a deleted object to be gone, from its deletion

	// PerWave starts the limits of all objects that are waited for again at every write: one limit
	// for each wave of a plan with waves, as --reconcile-timeout of kpt live means it.
	PerWave bool
	// Idle is for a run in which nothing happens: it stops during writes, and every finished write
	// and every settled step starts it again. Then all objects that are waited for time out and the
	// run ends, as --wait-timeout of kapp means it. Only apps set it: the flags of packages limit the
	// wait for each object, or for each wave.
	Idle limit.Time
	// Stall is for a run that waits without progress: it stops during writes, and every finished
	// write, every settled step, and every status and every cause that an object did not have before
	// in this run start it again. What changes between the same statuses and causes, as a crash loop
	// does, is no progress, nor are new times in statuses, new numbers and names of pods in causes,
	// and more than a few causes. Then all objects that are waited for time out and the run ends. It
	// does not apply while an object is waited for that has a limit of its own. An object to recreate
	// that is not gone by then fails, unless Delete or Idle limits that.
	Stall limit.Time
}

// StopOn says which failures end a run early: no further write is started, and nothing is waited
// for any more.
type StopOn struct {
	WriteError bool // a write failed
	WaitError  bool // an object failed or timed out while it was waited for
	Stuck      bool // an object cannot start without a change, such as of a bad image
}

// Retry says how writes are repeated that failed because a webhook could not be called: it may be a
// part of the set.
type Retry struct {
	Every time.Duration // 0 means DefaultRetryEvery
	// For also limits the wait for an object that others create. If it is not set, it is
	// WebhookTimeout or, in a dry run, TrialTimeout from the first write that failed in this way: what
	// the set would deploy cannot help, and the other writes have met the same webhook. While the run
	// waits for a workload of the set that serves the webhook, the time does not begin.
	For limit.Time
}

// end reports whether the limits beside Stall end all waits of a plan.
func (l Limits) end(p *plan.Plan) bool {
	endless := func(step plan.Step) bool {
		if step.Op.AwaitsDeletion() {
			return !l.Delete.Ends()
		}
		return !l.Apply.Ends()
	}
	return l.Idle.Ends() || !slices.ContainsFunc(p.Steps, endless)
}

// DefaultRetryEvery is the pause between two attempts unless Retry says otherwise.
const DefaultRetryEvery = time.Second

// The defaults of limits. WebhookTimeout and TrialTimeout are those of Retry.For, in runs and in
// dry runs. DefaultStall is that of Limits.Stall, and of kapp.
const (
	WebhookTimeout = 30 * time.Second
	TrialTimeout   = 10 * time.Second
	DefaultStall   = 15 * time.Minute
)

// withLimits returns the options with all limits set that have a default.
func (o Options) withLimits(p *plan.Plan) Options {
	if !o.Limits.Stall.IsSet() {
		o.Limits.Stall = limit.None()
		if !o.Limits.end(p) {
			o.Limits.Stall = limit.After(DefaultStall)
		}
	}
	patience := limit.After(WebhookTimeout)
	if o.DryRun != DryRunNone {
		patience = limit.After(TrialTimeout)
	}
	o.Retry.For = o.Retry.For.Or(patience)
	return o
}
