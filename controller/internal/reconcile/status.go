package reconcile

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/muster-deploy/muster"

	"github.com/muster-deploy/muster/controller/api/v1alpha1"
	"github.com/muster-deploy/muster/controller/internal/clusters"
	"github.com/muster-deploy/muster/controller/internal/run"
	"github.com/muster-deploy/muster/controller/internal/source"
	"github.com/muster-deploy/muster/internal/cluster"
)

// The limits of what a status says.
const (
	maxCauses  = 10
	maxDrifted = 20
	maxFields  = 10
	maxMessage = 1024 // bytes
)

// conditions are those of a Set in a status that is to be written.
type conditions struct {
	set    *v1alpha1.Set
	status *v1alpha1.SetStatus
}

// put sets a condition.
func (c conditions) put(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&c.status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: limited(message),
		ObservedGeneration: c.set.Generation,
	})
}

// is sets a condition to true or false.
func (c conditions) is(kind string, value bool, reason, message string) {
	status := metav1.ConditionFalse
	if value {
		status = metav1.ConditionTrue
	}
	c.put(kind, status, reason, message)
}

// unknown sets a condition to unknown.
func (c conditions) unknown(kind, reason, message string) {
	c.put(kind, metav1.ConditionUnknown, reason, message)
}

// remove removes a condition.
func (c conditions) remove(kind string) { meta.RemoveStatusCondition(&c.status.Conditions, kind) }

// limited returns a text in one line that a condition takes.
func limited(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage-4], "") + " ..."
	}
	return text
}

// writeStatus changes the status of a Set, and writes it if it is another one then. The error is a
// conflict if the Set was written since it was read.
func (r *Reconciler) writeStatus(
	ctx context.Context, set *v1alpha1.Set, change func(*v1alpha1.SetStatus),
) error {
	before := set.DeepCopy()
	set.Status.ObservedGeneration = set.Generation
	change(&set.Status)
	if equality.Semantic.DeepEqual(before.Status, set.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.Client.Status().Patch(ctx, set, patch))
}

// stall writes that nothing happens without a change.
func (r *Reconciler) stall(
	ctx context.Context, set *v1alpha1.Set, reason, message string,
) error {
	return r.writeStatus(ctx, set, func(status *v1alpha1.SetStatus) {
		c := conditions{set, status}
		c.is(v1alpha1.ConditionStalled, true, reason, message)
		c.is(v1alpha1.ConditionReady, false, reason, message)
		c.remove(v1alpha1.ConditionReconciling)
		status.LastHandledReconcileAt = set.Annotations[v1alpha1.AnnotationReconcile] // no run is to come
	})
}

// writeProgress writes how far the run of a Set is.
func (r *Reconciler) writeProgress(ctx context.Context, set *v1alpha1.Set, s *state) error {
	if s.run.Generation != set.Generation {
		return nil // what the run does says nothing about what the Set says now
	}
	progress := s.run.Progress()
	if len(progress.Causes) == 0 {
		if !s.silent || !progress.Changes {
			return nil
		}
		s.silent = false
		return r.writeStatus(ctx, set, func(status *v1alpha1.SetStatus) {
			c := conditions{set, status}
			c.is(v1alpha1.ConditionReconciling, true, "Running", "the objects are written")
			c.unknown(v1alpha1.ConditionReady, "Running", "a run is under way")
		})
	}
	s.silent = false
	return r.writeStatus(ctx, set, func(status *v1alpha1.SetStatus) {
		status.Causes = nil
		for _, cause := range progress.Causes[:min(maxCauses, len(progress.Causes))] {
			status.Causes = append(status.Causes, v1alpha1.Cause{
				Object: cause.Object.String(), Message: limited(cause.Message),
			})
		}
		c, first := conditions{set, status}, progress.Causes[0]
		text := first.Object.String() + ": " + first.Message
		c.is(v1alpha1.ConditionReconciling, true, "Waiting", text)
		// Why the last run failed is of more interest than that this one waits.
		if ready := readyOf(set); ready == nil || ready.Status != metav1.ConditionFalse {
			c.unknown(v1alpha1.ConditionReady, "Waiting", text)
		}
	})
}

// writeOutcome writes how a run ended.
func (r *Reconciler) writeOutcome(
	ctx context.Context, set *v1alpha1.Set, s *state, out *run.Outcome,
) error {
	return r.writeStatus(ctx, set, func(status *v1alpha1.SetStatus) {
		c := conditions{set, status}
		c.remove(v1alpha1.ConditionReconciling)
		c.remove(v1alpha1.ConditionStalled)
		status.LastHandledReconcileAt = s.run.Request
		c.source(out)
		c.attempted(out)
		c.plan(out)
		c.objects(out)
		c.drift(out)
		if out.Succeeded() {
			status.Failures = 0
			if out.Task == first(set) {
				status.Crashes = v1alpha1.CrashStatus{}
			}
			c.succeeded(out)
			return
		}
		status.Failures++
		c.failed(out)
	})
}

// source writes whether the manifests could be fetched.
func (c conditions) source(out *run.Outcome) {
	switch {
	case out.Task == run.Destroy:
	case c.set.Spec.Pin > 0:
		c.remove(v1alpha1.ConditionSourceReady)
	case out.Err != nil && out.Phase == run.Fetching:
		c.is(v1alpha1.ConditionSourceReady, false, "NotFetched", out.Err.Error())
	case out.Revision != "":
		c.is(v1alpha1.ConditionSourceReady, true, "Fetched", out.Revision)
	}
}

// attempted writes what was deployed, and where it is recorded.
func (c conditions) attempted(out *run.Outcome) {
	if out.Task != run.Deploy || out.Revision == "" || out.Held {
		return
	}
	c.status.Revision.Attempted = out.Revision
	if out.Record.Name == "" {
		return
	}
	version := "v1"
	if out.Record.Group != "" {
		version = out.Record.Group + "/v1alpha1"
	}
	c.status.Record = &v1alpha1.RecordReference{
		APIVersion: version, Kind: out.Record.Kind, Name: out.Record.Name,
	}
}

// plan writes the plan of the run.
func (c conditions) plan(out *run.Outcome) {
	if out.Plan == nil || out.Task == run.Destroy || out.Err != nil {
		return
	}
	p := &v1alpha1.PlanStatus{
		Digest: out.Plan.Digest, Summary: out.Plan.Summary(), State: v1alpha1.PlanApplied,
	}
	switch {
	case out.Waiting:
		p.State, p.Secret = v1alpha1.PlanWaiting, run.PlanSecret(c.set.Name)
	case out.Held:
		p.State = v1alpha1.PlanHeld
	case out.Task == run.Look:
		p.State = v1alpha1.PlanObserved
	case !out.Plan.Changes() && c.status.Plan != nil && c.status.Plan.State == v1alpha1.PlanApplied:
		return // what was applied last is of more interest than a comparison
	}
	c.status.Plan = p
	switch {
	case c.set.Spec.Mode != v1alpha1.ModePlan:
		c.remove(v1alpha1.ConditionApproved)
	case out.Waiting:
		c.is(v1alpha1.ConditionApproved, false, "WaitingForApproval",
			p.Summary+"; approve it by spec.approve: "+p.Digest)
	default:
		c.is(v1alpha1.ConditionApproved, true, "Approved", "nothing waits for an approval")
	}
}

// objects writes how many objects there are, and why some are not ready.
func (c conditions) objects(out *run.Outcome) {
	if out.Plan == nil {
		return
	}
	total := out.Plan.Count(muster.Create, muster.Update, muster.Unchanged)
	counts := v1alpha1.ObjectCounts{Total: int32(total), Drifted: int32(len(out.Drifted))}
	c.status.Causes = nil
	if out.Result != nil {
		for _, object := range out.Result.NotReady {
			if object.Outcome != muster.Interrupted {
				counts.Failed++
			}
			if len(c.status.Causes) < maxCauses {
				c.status.Causes = append(c.status.Causes, v1alpha1.Cause{
					Object: object.Object.String(), Source: object.Source, Message: limited(object.Reason()),
				})
			}
		}
		counts.Ready = max(0, counts.Total-int32(len(out.Result.NotReady)))
		if out.Result.Revision > 0 {
			c.status.Revision.Number = int32(out.Result.Revision)
		}
	} else {
		counts.Ready, counts.Failed = c.status.Objects.Ready, c.status.Objects.Failed
	}
	c.status.Objects = counts
}

// drift writes which objects others changed. A run that corrects leaves none.
func (c conditions) drift(out *run.Outcome) {
	if out.Plan == nil || out.Waiting || !out.Succeeded() {
		return
	}
	c.status.Drifted = nil
	for _, d := range out.Drifted[:min(maxDrifted, len(out.Drifted))] {
		object := v1alpha1.DriftedObject{
			Object: d.Object.String(), Kind: d.Kind, Managers: d.Managers(),
		}
		for _, field := range d.Fields[:min(maxFields, len(d.Fields))] {
			object.Fields = append(object.Fields, field.Path)
		}
		c.status.Drifted = append(c.status.Drifted, object)
	}
	switch {
	case len(out.Drifted) > 0:
		c.is(v1alpha1.ConditionDrifted, true, "Drifted", driftedText(out.Drifted))
	case c.set.Spec.Drift == v1alpha1.DriftIgnore:
		c.remove(v1alpha1.ConditionDrifted)
	default:
		c.is(v1alpha1.ConditionDrifted, false, "AsApplied", "the objects are as they were applied")
	}
}

// driftedText returns the first object that others changed, and who did it.
func driftedText(drifted []muster.Drifted) string {
	first := drifted[0]
	text := first.Object.String() + " was " + first.Kind
	if len(first.Fields) > 0 {
		text += ": " + first.Fields[0].Path
	}
	if managers := first.Managers(); len(managers) > 0 {
		text += " by " + strings.Join(managers, ", ")
	}
	return text
}

// succeeded writes that the run did what it was for.
func (c conditions) succeeded(out *run.Outcome) {
	switch {
	case out.Task == run.Look && c.set.Spec.Mode == v1alpha1.ModeObserve:
		c.is(v1alpha1.ConditionReady, !out.Plan.Changes(), "Observed", out.Plan.Summary())
	case out.Task == run.Look:
		c.looked(out)
	case out.Waiting:
		c.is(v1alpha1.ConditionReady, false, "WaitingForApproval", out.Plan.Summary())
	case out.Held:
		c.is(v1alpha1.ConditionReady, false, "WaitingForWindow", heldText(out))
		c.is(v1alpha1.ConditionReconciling, true, "WaitingForWindow", heldText(out))
	default:
		now := metav1.NewTime(out.Ended)
		r := &c.status.Revision
		if r.Applied != out.Revision || r.Generation != c.set.Generation || r.AppliedAt == nil {
			r.AppliedAt = &now
		}
		r.Applied, r.Generation = out.Revision, c.set.Generation
		r.SpecDigest = run.SpecDigest(c.set)
		message := out.Revision
		if c.set.Spec.Pin > 0 {
			message += " is pinned by spec.pin"
		}
		if left := len(out.Result.Left); left > 0 {
			message += "; left: " + out.Result.Left[0].String()
		}
		for _, u := range out.Result.Unstored[:min(len(out.Result.Unstored), maxUnstored)] {
			message += fmt.Sprintf("; the server does not store %s of %s", strings.Join(u.Fields, ", "),
				u.Object)
		}
		c.is(v1alpha1.ConditionReady, true, "Applied", message)
	}
}

// maxUnstored is the number of objects whose fields the server does not store that a message names.
const maxUnstored = 3

// heldText returns what waits for a window, and when that opens.
func heldText(out *run.Outcome) string {
	return fmt.Sprintf("%s: %s; the window opens at %s", out.Revision, out.Plan.Summary(),
		out.Opens.UTC().Format(time.RFC3339))
}

// looked writes that objects are gone, or exist again. Whether the others are ready has not
// changed.
func (c conditions) looked(out *run.Outcome) {
	for _, d := range out.Drifted {
		if d.Kind == "deleted" {
			c.is(v1alpha1.ConditionReady, false, "Drifted", d.Object.String()+" was deleted")
			return
		}
	}
	if ready := readyOf(c.set); ready != nil && slices.Contains(comparisonReasons, ready.Reason) &&
		out.Revision == c.status.Revision.Applied {
		c.is(v1alpha1.ConditionReady, true, "Applied", c.status.Revision.Applied)
	}
}

// reasonNotCompared is that of a Set that could not be compared with the cluster.
const reasonNotCompared = "NotCompared"

// comparisonReasons are the reasons why a Set is not ready although all that it says was applied,
// and was ready then.
var comparisonReasons = []string{"Drifted", reasonNotCompared}

// readyOf returns the condition Ready of a Set; nil if it has none.
func readyOf(set *v1alpha1.Set) *metav1.Condition {
	return meta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionReady)
}

// failed writes why a run failed, and whether it is repeated.
func (c conditions) failed(out *run.Outcome) {
	reason, message := failureReason(out), ""
	if out.Err != nil {
		message = out.Err.Error()
	} else {
		message = firstFailure(out)
	}
	if out.Task == run.Look && (IsReady(c.set) || left(c.set)) {
		c.is(v1alpha1.ConditionReady, false, reasonNotCompared, message)
	} else {
		c.is(v1alpha1.ConditionReady, false, reason, message)
	}
	if Permanent(out) {
		c.is(v1alpha1.ConditionStalled, true, reason, message)
		return
	}
	c.is(v1alpha1.ConditionReconciling, true, "Retrying", "the run is repeated: "+message)
}

// firstFailure returns the first object that is not ready, and why.
func firstFailure(out *run.Outcome) string {
	if out.Result == nil || len(out.Result.NotReady) == 0 {
		return "objects were left alone that belong to others"
	}
	first := out.Result.NotReady[0]
	return first.Object.String() + ": " + first.Reason()
}

// failureReason returns the reason of a run that failed, for conditions and events.
func failureReason(out *run.Outcome) string {
	limit, locked, invalid := (*muster.PruneLimitError)(nil), (*muster.LockedError)(nil),
		(*source.InvalidError)(nil)
	revision, kubeconfig := (*muster.RevisionError)(nil), (*clusters.KubeconfigError)(nil)
	abandoned := (*run.AbandonedError)(nil)
	switch {
	case errors.As(out.Err, &abandoned):
		return "RunAbandoned"
	case errors.Is(out.Err, run.ErrTooLong):
		return "RunTooLong"
	case errors.As(out.Err, &kubeconfig):
		return "KubeconfigInvalid"
	case errors.As(out.Err, &revision):
		return "PinInvalid"
	case errors.As(out.Err, &limit):
		return "PruneHeld"
	case errors.As(out.Err, &locked):
		return "Locked"
	case errors.As(out.Err, &invalid):
		return "SourceInvalid"
	case apierrors.IsForbidden(out.Err) && !cluster.RefusalOf(out.Err).ByAdmission():
		return "Forbidden"
	case out.Err != nil && out.Phase == run.Fetching:
		return "SourceNotReady"
	case out.Err != nil && (out.Phase == run.Connecting ||
		out.Phase == run.Opening && unanswered(out.Err)):
		return "ClusterNotReady"
	case out.Err != nil && out.Phase == run.Opening:
		return "ManifestsInvalid"
	case out.Err != nil && out.Phase == run.Planning:
		return "PlanFailed"
	case out.Result != nil && out.Result.Outcome == muster.Interrupted:
		return "Interrupted"
	default:
		return "NotReady"
	}
}

// unanswered reports whether an error is that a server did not answer a request, or does not know
// the user.
func unanswered(err error) bool {
	request := (*url.Error)(nil)
	return errors.As(err, &request) || apierrors.IsUnauthorized(err) ||
		apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}

// Permanent reports whether a run fails again unless the source, the Set or the cluster is changed.
// It is repeated all the same, more and more seldom: the kind of an object may be defined later.
func Permanent(out *run.Outcome) bool {
	return slices.Contains([]string{
		"PruneHeld", "SourceInvalid", "ManifestsInvalid", "PinInvalid", "KubeconfigInvalid",
	}, failureReason(out))
}
