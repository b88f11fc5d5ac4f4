// Package lock keeps two runs from changing one set at the same time.
//
// The lock of a set is a Lease (coordination.k8s.io/v1) in the namespace of its record. A run
// creates it before it reads the record, renews it while it lasts, and deletes it at its end: two
// requests, and one for every RenewPeriod. Another run that finds it waits. A Lease that was not
// renewed for Duration is taken over. That is judged as leader election does it: by how long this
// process has seen the Lease unchanged, so that clocks are never compared.
//
// A Lease does not fence: a holder that was suspended may continue for a moment after its lock was
// taken over. Records are saved by compare-and-swap, and writes name the version that they were
// decided on; see decision 20.
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

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/crash"
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
)

// The metadata of a Lease.
const (
	labelSet         = "muster.dev/set"      // the name of the set, shortened to what a label takes
	annotationHolder = "muster.dev/lock"     // a Holder, as JSON
	annotationYield  = "muster.dev/yield-to" // the run that asks the holder to stop
)

// Kind is the kind of a lock.
var Kind = schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}

// Cluster is the part of a cluster that locks need.
type Cluster interface {
	Read(ctx context.Context, targets []cluster.Target) (*cluster.Snapshot, error)
	Write(ctx context.Context, w cluster.Write) (*unstructured.Unstructured, error)
	Delete(ctx context.Context, d cluster.Delete) (gone bool, err error)
}

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
	cluster Cluster
	set     Set
	options Options
	id      string // identity of this run
	uid     string // of the Lease
	version string

	progress progress
	cancel   context.CancelCauseFunc // ends the run
	lost     context.Context         // ends as cancel is called
	stop     context.CancelFunc      // ends the renewals
	done     chan struct{}           // closed when they have ended
}

// Acquire returns the lock of a set, and a context for the run, which ends with ctx, or with a
// *LostError or *SupersededError as its cause. It waits while another run holds the lock.
//
// The error is a *HeldError if that takes too long, a *ForbiddenError if the user may not use
// Leases, and a *NoNamespaceError if the namespace does not exist. In the last two cases a run can
// continue without a lock.
func Acquire(
	ctx context.Context, c Cluster, set Set, o Options,
) (*Lock, context.Context, error) {
	l := &Lock{cluster: c, set: set, options: o, id: o.Holder.identity()}
	begun := time.Now()
	var seen observation
	for {
		stored, err := l.take(ctx, &seen)
		if err != nil {
			return nil, nil, l.explain(err)
		}
		if stored != nil {
			return l.hold(ctx, stored)
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
	ctx context.Context, c Cluster, set Set, o Options,
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

// hold begins to renew a lock.
func (l *Lock) hold(
	ctx context.Context, stored *unstructured.Unstructured,
) (*Lock, context.Context, error) {
	l.uid, l.version = string(stored.GetUID()), stored.GetResourceVersion()
	run, cancel := context.WithCancelCause(ctx)
	renewing, stop := context.WithCancel(context.WithoutCancel(ctx))
	lost, lose := context.WithCancelCause(context.WithoutCancel(ctx))
	l.cancel = func(cause error) {
		cancel(cause)
		lose(cause)
	}
	l.lost, l.stop, l.done = lost, stop, make(chan struct{})
	// It ends with Release.
	go l.renewals(renewing)
	return l, run, nil
}

// During returns a context for another run under the lock, beside that of Acquire. It ends with
// ctx, and when the lock is lost. Without a lock it is ctx.
func (l *Lock) During(ctx context.Context) (context.Context, context.CancelFunc) {
	if l == nil {
		return context.WithCancel(ctx)
	}
	during, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(l.lost, func() { cancel(context.Cause(l.lost)) })
	return during, func() {
		stop()
		cancel(nil)
	}
}

// renewals renews the lock until Release.
func (l *Lock) renewals(ctx context.Context) {
	defer close(l.done)
	defer crash.Catch(ctx)
	ticker := time.NewTicker(RenewPeriod)
	defer ticker.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		lost, err := l.renew(ctx)
		went, known := false, true
		if lost && !errors.Is(err, errTaken) && ctx.Err() == nil {
			went, known = l.wentWithNamespace(ctx)
		}
		switch {
		case err == nil:
			last = time.Now()
		case ctx.Err() != nil, went:
			return
		case lost && known:
			l.cancel(&LostError{Set: l.set, Cause: err})
			return
		case time.Since(last) >= loseAfter:
			l.cancel(&LostError{Set: l.set, Cause: err})
		}
	}
}

// errTaken is the cause of a *LostError.
var errTaken = errors.New("another run took it over")

// renew renews the lock once. Lost reports that another run has it, or that it was deleted.
func (l *Lock) renew(ctx context.Context) (lost bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	for range 3 {
		lease := l.lease(nil)
		lease.SetResourceVersion(l.version)
		var stored *unstructured.Unstructured
		stored, err = l.write(ctx, lease, cluster.Replace)
		switch {
		case err == nil:
			l.version = stored.GetResourceVersion()
			return false, nil
		case apierrors.IsNotFound(err), apierrors.HasStatusCause(err, namespaceTerminating):
			// A Lease that is gone would be created by the update.
			return true, errors.New("it was deleted")
		case !apierrors.IsConflict(err):
			return false, err
		}
		live, readErr := l.read(ctx)
		switch {
		case readErr != nil:
			return false, readErr
		case live == nil:
			return true, errors.New("it was deleted")
		case identityOf(live) != l.id:
			return true, errTaken
		}
		l.version = live.GetResourceVersion()
		if by := live.GetAnnotations()[annotationYield]; by != "" && !l.options.Holder.NoYield {
			l.cancel(&SupersededError{By: by})
		}
	}
	return false, err
}

// wentWithNamespace reports whether the Lease is gone because its namespace is being deleted: the
// run may have done that itself. It is not known if the server does not answer.
func (l *Lock) wentWithNamespace(ctx context.Context) (went, known bool) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	_, err := l.cluster.Write(ctx, cluster.Write{
		Object: l.lease(nil), Method: cluster.Create, Manager: l.options.Manager, DryRun: true,
	})
	absent, answer := (*NoNamespaceError)(nil), apierrors.APIStatus(nil)
	return errors.As(l.explain(err), &absent), err == nil || errors.As(err, &answer)
}

// Release deletes the lock. If that fails, it is taken over when it has not been renewed for a
// while. It may be called for a nil lock.
func (l *Lock) Release(ctx context.Context) {
	if l == nil {
		return
	}
	l.stop()
	<-l.done
	l.cancel(nil)
	ctx, cancel := context.WithTimeout(cluster.Finish(ctx, 0), requestTime)
	defer cancel()
	// Nobody could do anything about an error but wait.
	for range 3 {
		_, err := l.cluster.Delete(ctx, cluster.Delete{
			Ref: l.set.Ref(), UID: uidOf(l.uid), Version: l.version,
			Propagation: metav1.DeletePropagationBackground,
		})
		if !apierrors.IsConflict(err) {
			return
		}
		live, err := l.read(ctx)
		if err != nil || live == nil || identityOf(live) != l.id {
			return // another run has taken it over
		}
		l.version = live.GetResourceVersion()
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
func Read(ctx context.Context, c Cluster, set Set) (*unstructured.Unstructured, error) {
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
