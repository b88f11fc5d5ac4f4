package lock

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// Info describes a lock in the cluster.
type Info struct {
	Namespace string    `json:"namespace"`
	Lease     string    `json:"lease"` // its name
	Set       string    `json:"set"`   // the name of the set, as a label has it
	Holder    Holder    `json:"holder"`
	Renewed   time.Time `json:"renewed,omitzero"` // by the clock of the holder
}

// infoOf returns the description of a Lease.
func infoOf(lease *unstructured.Unstructured) Info {
	text, _, _ := unstructured.NestedString(lease.Object, "spec", "renewTime")
	renewed, _ := time.Parse(time.RFC3339Nano, text) // zero if others wrote another text
	return Info{
		Namespace: lease.GetNamespace(), Lease: lease.GetName(), Set: lease.GetLabels()[labelSet],
		Holder: holderOf(lease), Renewed: renewed,
	}
}

// Get returns the lock of a set, nil if it is not locked.
func Get(ctx context.Context, c cluster.Writer, set Set) (*Info, error) {
	lease, err := Read(ctx, c, set)
	if err != nil || lease == nil {
		return nil, err
	}
	info := infoOf(lease)
	return &info, nil
}

// Lister lists objects by their labels.
type Lister interface {
	Select(ctx context.Context, s cluster.Selection) ([]*unstructured.Unstructured, error)
}

// List returns the locks in a namespace, or in all if it is empty, sorted by namespace and name.
func List(ctx context.Context, c Lister, namespace string) ([]Info, error) {
	selection := cluster.Selection{Selector: labelSet, Kinds: []schema.GroupKind{Kind.GroupKind()}}
	if namespace != "" {
		selection.Fallback, selection.OnlyFallback = []string{namespace}, true
	}
	leases, err := c.Select(ctx, selection)
	if err != nil {
		return nil, fmt.Errorf("list locks: %w", err)
	}
	locks := make([]Info, len(leases))
	for i, lease := range leases {
		locks[i] = infoOf(lease)
	}
	return locks, nil
}

// AwaitFree returns as soon as no run holds the lock of one of some sets. A lock that is not
// renewed for Duration counts as that of a run that was killed.
func AwaitFree(ctx context.Context, c cluster.Writer, sets []Set) error {
	targets := make([]cluster.Target, len(sets))
	for i, set := range sets {
		targets[i] = cluster.Target{Ref: set.Ref(), Version: Kind.Version}
	}
	seen := map[object.Ref]observation{}
	for {
		leases, err := c.Read(ctx, targets)
		if err != nil {
			return fmt.Errorf("read locks: %w", err)
		}
		held := false
		for ref, lease := range leases.Objects {
			if version := lease.GetResourceVersion(); version != seen[ref].version {
				seen[ref] = observation{version: version, since: time.Now()}
			}
			held = held || time.Since(seen[ref].since) < Duration
		}
		if !held {
			return nil
		}
		select {
		case <-time.After(PollPeriod):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// RenewedError reports that a lock was not removed, because a run renews it.
type RenewedError struct{ Info Info }

func (e *RenewedError) Error() string {
	return fmt.Sprintf("%s holds the lock and renews it (hint: --force removes it all the same: that "+
		"run then begins no more writes)", e.Info.Holder.Describe(time.Now()))
}

// Remove removes the lock of a set and returns what it was; nil if there was none. Unless it is
// forced, it first watches for a little more than RenewPeriod, and the error is a *RenewedError if
// a run renews the lock.
func Remove(ctx context.Context, c cluster.Writer, set Set, force bool) (*Info, error) {
	lease, err := Read(ctx, c, set)
	if err != nil || lease == nil {
		return nil, err
	}
	info := infoOf(lease)
	for end := time.Now().Add(RenewPeriod + PollPeriod); !force && time.Now().Before(end); {
		select {
		case <-time.After(PollPeriod):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		now, err := Read(ctx, c, set)
		switch {
		case err != nil:
			return nil, err
		case now == nil:
			return &info, nil // its run has ended
		case now.GetResourceVersion() != lease.GetResourceVersion():
			return nil, &RenewedError{infoOf(now)}
		}
	}
	d := cluster.Delete{
		Ref: object.RefOf(lease), UID: lease.GetUID(), Version: lease.GetResourceVersion(),
		Propagation: metav1.DeletePropagationBackground,
	}
	if force {
		d.Version = ""
	}
	_, err = c.Delete(ctx, d)
	return &info, err
}
