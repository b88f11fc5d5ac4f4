// Package lock keeps two runs from changing one set at the same time.
//
// The lock of a set is a Lease (coordination.k8s.io/v1) in the namespace of its record. A run
// creates it before it reads the record, renews it while it lasts, and deletes it at its end: two
// requests, and one for every RenewPeriod. Another run that finds it waits. A Lease that was not
// renewed for Duration is taken over. That is judged as leader election does it: by how long this
// process has seen the Lease unchanged, so that clocks are never compared.
//
// Within the context of a run, no write begins while the last renewal is older than loseAfter, by
// whichever clock: a process that was stopped renews its lock before it writes, and finds out then
// that another run has taken it over. A Lease does not fence all the same: a request that was sent
// before may arrive late. Records are saved by compare-and-swap, and writes name the version that
// they were decided on; see decision 20.
package lock

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// The times of a lock. A run that is killed holds up the next one for Duration and PollPeriod at
// most.
const (
	Duration    = 25 * time.Second // without a renewal, after which a lock is taken over
	RenewPeriod = 10 * time.Second
	PollPeriod  = 2 * time.Second  // between two looks at a lock of another run
	loseAfter   = 20 * time.Second // without a renewal, after which a holder begins no more writes
	requestTime = 8 * time.Second  // for one renewal or release
	lastTime    = 3 * time.Second  // for a renewal that comes later than loseAfter
)

// The metadata of a Lease.
const (
	labelSet         = "muster.dev/set"      // the name of the set, shortened to what a label takes
	annotationHolder = "muster.dev/lock"     // a Holder, as JSON
	annotationYield  = "muster.dev/yield-to" // the run that asks the holder to stop
)

// Kind is the kind of a lock.
var Kind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

// Set identifies what is locked.
type Set struct {
	Namespace string // of the record
	ID        string // unique in the namespace: the ID of an inventory, or "app/" and a name
	Name      string // what users call it
}

// Ref returns the reference of the Lease of a set.
func (s Set) Ref() object.Ref {
	sum := sha256.Sum256([]byte(s.ID))
	return object.Ref{
		Group: Kind.Group, Kind: Kind.Kind, Namespace: s.Namespace,
		Name: "muster-" + hex.EncodeToString(sum[:8]),
	}
}

// InOrder returns sets without duplicates, in the order in which every run locks them, so that no
// two runs wait for each other.
func InOrder(sets ...Set) []Set {
	slices.SortFunc(sets, func(a, b Set) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
	})
	return slices.CompactFunc(sets, func(a, b Set) bool { return a.Ref() == b.Ref() })
}

// Options say how a lock is acquired.
type Options struct {
	Holder    Holder
	Wait      time.Duration // how long to wait for another run; 0 is not at all
	Supersede bool          // ask the run that holds the lock to stop
	Waiting   func(Holder)  // receives the holder that is waited for, and again when it has changed
	Manager   string        // field manager
	// Forbidden receives why AcquireIfPossible returns no lock if the user may not use Leases; nil for
	// nobody.
	Forbidden func(*ForbiddenError)
}

// Lock is a lock that is held.
type Lock struct {
	cluster cluster.Writer
	set     Set
	options Options
	id      string // identity of this run
	uid     types.UID
	version string // of the Lease, as the last renewal left it

	progress progress
	renewal  renewal
	cancel   context.CancelCauseFunc // ends the run
	lost     context.Context         // ends as cancel is called, with its cause
	stop     context.CancelFunc      // ends the renewals
	done     chan struct{}           // closed when they have ended
}

// Acquire returns the lock of a set, and a context for the run, which ends with ctx, or with a
// *LostError or *SupersededError as its cause. Within that context no write begins unless the lock
// is held: see cluster.Guard. Acquire waits while another run holds the lock.
//
// The error is a *HeldError if that takes too long, a *ForbiddenError if the user may not use
// Leases, and a *NoNamespaceError if the namespace does not exist. In the last two cases a run can
// continue without a lock.
func Acquire(
	ctx context.Context, c cluster.Writer, set Set, o Options,
) (*Lock, context.Context, error) {
	l := &Lock{cluster: c, set: set, options: o, id: o.Holder.identity()}
	begun := time.Now()
	var seen observation
	for {
		asked := time.Now()
		stored, err := l.take(ctx, &seen)
		if err != nil {
			return nil, nil, l.explain(err)
		}
		if stored != nil {
			return l.hold(ctx, stored, asked)
		}
		if left := o.Wait - time.Since(begun); left <= 0 {
			return nil, nil, &HeldError{Set: set, Holder: seen.holder, Waited: o.Wait}
		}
		select {
		case <-time.After(PollPeriod):
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
}

// AcquireIfPossible returns the lock of a set as Acquire does. The lock is nil, and the context is
// ctx, if the user may not use Leases or the namespace of the record does not exist yet.
func AcquireIfPossible(
	ctx context.Context, c cluster.Writer, set Set, o Options,
) (*Lock, context.Context, error) {
	l, run, err := Acquire(ctx, c, set, o)
	forbidden, absent := (*ForbiddenError)(nil), (*NoNamespaceError)(nil)
	switch {
	case errors.As(err, &absent):
		return nil, ctx, nil
	case errors.As(err, &forbidden):
		if o.Forbidden != nil {
			o.Forbidden(forbidden)
		}
		return nil, ctx, nil
	}
	return l, run, err
}

// observation is what a waiting run has seen of a lock.
type observation struct {
	version string // of the Lease
	since   time.Time
	holder  Holder
	asked   bool // to yield
}

// take creates the Lease, or takes over one that is not renewed any more. It returns nil if another
// run holds it.
func (l *Lock) take(ctx context.Context, seen *observation) (*unstructured.Unstructured, error) {
	if seen.version == "" {
		stored, err := l.write(ctx, l.lease(nil), cluster.Create)
		if !apierrors.IsAlreadyExists(err) {
			return stored, err
		}
	}
	live, err := l.read(ctx)
	if err != nil {
		return nil, err
	}
	if live == nil {
		*seen = observation{}
		return l.take(ctx, seen) // it was released
	}
	if identityOf(live) == l.id {
		return live, nil // the answer to an earlier attempt was lost
	}
	if version := live.GetResourceVersion(); version != seen.version {
		asked := seen.asked && seen.holder.identity() == holderOf(live).identity()
		*seen = observation{version, time.Now(), holderOf(live), asked}
		if l.options.Waiting != nil {
			l.options.Waiting(seen.holder)
		}
	}
	if time.Since(seen.since) >= Duration {
		stored, err := l.write(ctx, l.lease(live), cluster.Replace)
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return nil, nil
		}
		return stored, err
	}
	if l.options.Supersede && !seen.asked {
		return nil, l.askToYield(ctx, live, seen)
	}
	return nil, nil
}

// askToYield asks the run that holds the lock to stop.
func (l *Lock) askToYield(
	ctx context.Context, live *unstructured.Unstructured, seen *observation,
) error {
	if seen.holder.NoYield {
		return &HeldError{Set: l.set, Holder: seen.holder, Refused: true}
	}
	annotations := live.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[annotationYield] = l.options.Holder.String()
	live.SetAnnotations(annotations)
	stored, err := l.write(ctx, live, cluster.Replace)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // it was renewed or released: the next turn sees that
	}
	if err == nil {
		seen.asked, seen.version = true, stored.GetResourceVersion()
	}
	return err
}

// During returns a context for another run under the lock, beside that of Acquire. It ends with
// ctx, and when the lock is lost. Without a lock it is ctx.
func (l *Lock) During(ctx context.Context) (context.Context, context.CancelFunc) {
	if l == nil {
		return context.WithCancel(ctx)
	}
	during, cancel := context.WithCancelCause(cluster.Guard(ctx, l.await))
	stop := context.AfterFunc(l.lost, func() { cancel(context.Cause(l.lost)) })
	return during, func() {
		stop()
		cancel(nil)
	}
}

// lease returns the Lease for this run. It replaces the given one, which may be nil.
func (l *Lock) lease(before *unstructured.Unstructured) *unstructured.Unstructured {
	now := metav1.NewMicroTime(time.Now().UTC()).Format(metav1.RFC3339Micro)
	holder := l.options.Holder
	holder.Done, holder.Total = l.progress.get()
	info, err := json.Marshal(holder)
	if err != nil {
		panic(fmt.Sprintf("encode texts and numbers: %v", err)) // cannot happen
	}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"holderIdentity": l.id, "leaseDurationSeconds": int64(Duration / time.Second),
			"acquireTime": holder.Since.UTC().Format(metav1.RFC3339Micro), "renewTime": now,
		},
	}}
	ref := l.set.Ref()
	obj.SetGroupVersionKind(Kind)
	obj.SetNamespace(ref.Namespace)
	obj.SetName(ref.Name)
	obj.SetLabels(map[string]string{labelSet: labelValue(l.set.Name)})
	obj.SetAnnotations(map[string]string{annotationHolder: string(info)})
	if before != nil {
		// Without a UID the server would create the Lease if it is gone.
		obj.SetUID(before.GetUID())
		obj.SetResourceVersion(before.GetResourceVersion())
	}
	return obj
}

func (l *Lock) write(
	ctx context.Context, obj *unstructured.Unstructured, method cluster.Method,
) (*unstructured.Unstructured, error) {
	return l.cluster.Write(ctx,
		cluster.Write{Object: obj, Method: method, Manager: l.options.Manager})
}

func (l *Lock) read(ctx context.Context) (*unstructured.Unstructured, error) {
	return Read(ctx, l.cluster, l.set)
}

// Read returns the Lease of a set, nil if there is none.
func Read(ctx context.Context, c cluster.Writer, set Set) (*unstructured.Unstructured, error) {
	ref := set.Ref()
	snapshot, err := c.Read(ctx, []cluster.Target{{Ref: ref, Version: Kind.Version}})
	if err != nil {
		return nil, err
	}
	return snapshot.Objects[ref], nil
}

// explain returns the error of a lock for an error of the server.
func (l *Lock) explain(err error) error {
	var denied *cluster.DeniedError
	switch {
	case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, namespaceTerminating):
		return &NoNamespaceError{Namespace: l.set.Namespace}
	case apierrors.IsForbidden(err), errors.As(err, &denied):
		return &ForbiddenError{Set: l.set, Cause: err}
	default:
		return err
	}
}

// namespaceTerminating is the cause of a refusal to create an object in a namespace that is being
// deleted.
const namespaceTerminating metav1.CauseType = "NamespaceTerminating"

// identity returns a text that no two runs share.
func (h Holder) identity() string {
	return fmt.Sprintf("%s/%d-%s", h.String(), h.PID, h.Run)
}

// NewRun returns the random part of the identity of a run.
func NewRun() string {
	return rand.Text()[:8]
}
