package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
	"github.com/muster-deploy/muster/controller/internal/window"
)

// SpecDigest identifies the fields of the spec of a Set that shape what is applied. Those that say
// when that happens, and what happens otherwise, do not count.
func SpecDigest(set *v1alpha1.Set) string {
	spec := set.Spec.DeepCopy()
	spec.Mode, spec.Approve, spec.Drift, spec.Deletion = "", "", "", ""
	spec.Wait, spec.DependsOn, spec.Windows = v1alpha1.WaitSpec{}, nil, nil
	spec.Interval, spec.Retry, spec.Suspend = nil, v1alpha1.RetrySpec{}, false
	spec.History = v1alpha1.HistorySpec{}
	if spec.Pin > 0 {
		spec.Source = v1alpha1.Source{}
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return "" // as if nothing was applied yet; there is no such field
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:16])
}

// heldUntil returns when a revision of the source may be applied that may not be now: it is not the
// one that is applied, or the Set has changed since, and no window is open. What earlier runs have
// begun to write is not held.
func (j *job) heldUntil(revision string, now time.Time) (opens time.Time, held bool) {
	open, opens := window.Open(j.set.Spec.Windows, now)
	applied := j.set.Status.Revision
	same := applied.Applied == revision && applied.Attempted == revision &&
		applied.SpecDigest == SpecDigest(j.set)
	if open || same || j.run.waited > 0 {
		return time.Time{}, false
	}
	return opens, true
}

// hold finds out what would be applied in a window, and what others changed. In mode Plan the plan
// may be approved before the window opens.
func (j *job) hold(
	ctx context.Context, as *clusters.Identity, opened *muster.Set, out *Outcome,
) error {
	if err := j.look(ctx, as, opened, out); err != nil {
		return err
	}
	keep := j.set.Spec.History.Keep
	if j.set.Spec.Drift == v1alpha1.DriftIgnore || keep != nil && *keep == 0 {
		out.Drifted = nil // without a history it would be what is new
	}
	if out.Waiting = j.unapproved(out.Plan); !out.Waiting {
		return nil
	}
	return j.writePlan(ctx, as, out.Plan)
}

// unapproved reports whether a plan waits for an approval.
func (j *job) unapproved(p *muster.Plan) bool {
	return j.set.Spec.Mode == v1alpha1.ModePlan && p.Changes() && p.Digest != j.set.Spec.Approve
}
