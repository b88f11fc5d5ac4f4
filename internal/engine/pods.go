package engine

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/muster-deploy/muster/internal/ready"
)

// trial is what decides, with its pods, whether an object that is ready by the rules stays so.
type trial struct {
	workload *ready.Workload
	status   ready.Status    // by the rules
	evidence *ready.Evidence // for a diagnosis while containers fail
}

// checkPods judges a pod by its containers, and an object that is ready by its pods later. What a
// rule of a user says about an object stands.
func (s *observation) checkPods(obj *unstructured.Unstructured) {
	if s.verdict.Ruled {
		return
	}
	before := s.verdict.Status
	s.verdict.Status = ready.StrictPod(obj, before)
	switch w := ready.WorkloadOf(obj); {
	case s.verdict.State != ready.Current:
		if !s.verdict.Same(before) {
			s.evidence = ready.EvidenceOf(obj, s.verdict.Status)
		}
	case w != nil:
		failing := ready.Status{State: ready.InProgress}
		s.trial = &trial{w, s.verdict.Status, ready.EvidenceOf(obj, failing)}
	}
}

// judgePods makes an object that is ready by the rules wait while its pods say otherwise.
func (r *run) judgePods(ctx context.Context, i int) {
	t := &r.tracks[i]
	s := t.seen.trial
	t.onTrial, t.quiet = false, false
	if s == nil {
		t.ready = time.Time{}
		return
	}
	t.seen.verdict.Status, t.seen.evidence = s.status, nil
	if t.ready.IsZero() {
		t.ready = time.Now()
	}
	found := r.trialOf(ctx, i)
	if found == nil {
		return
	}
	t.seen.verdict.Status, t.onTrial, t.quiet = found.Status, true, !found.Failed
	if found.Failed {
		t.seen.evidence = s.evidence
	}
	if !found.Until.IsZero() && !found.Until.Equal(t.checkAt) {
		t.checkAt = found.Until
		heap.Push(&r.alarms, alarm{found.Until, i, rested})
	}
}

// podsUnknown is the message of an object that is ready by its status.
const podsUnknown = "Ready; its pods are being checked"

// trialOf returns why an object that is ready by the rules is not yet, by the clock of this
// machine; nil if it is. The pods of an object that the run did not change are looked at only if it
// was not ready at the end of the last run, or if they may not have been ready a moment ago, as far
// as its status and probes tell; those of an observed one if it does not say that they have been
// ready for a while. A run warns, once, that the user may not list them.
func (r *run) trialOf(ctx context.Context, i int) *ready.Trial {
	t, now, ahead := &r.tracks[i], time.Now(), r.engine.Cluster.ClockAhead()
	w := t.seen.trial.workload
	needed := w.NeedsPods
	if r.observing == nil {
		needed = w.MayBeDisturbed
	}
	changed := !t.written.IsZero() || t.relapsed || r.unproven.Has(r.plan.Steps[i].Ref)
	if !changed && !needed(now.Add(ahead)) {
		return nil
	}
	listed, err := r.podsListed(ctx, i)
	if !listed {
		status := ready.Status{State: ready.InProgress, Message: podsUnknown}
		if err != nil {
			status.Message = "Ready, but its pods cannot be listed: " + err.Error()
		}
		return &ready.Trial{Status: status, Failed: err != nil}
	}
	found := w.Trial(r.related.pods, now.Add(ahead))
	switch {
	case found != nil && !found.Until.IsZero():
		found.Until = found.Until.Add(-ahead)
	case found == nil && changed:
		found = r.firstTrialOf(ctx, i, now, ahead)
	}
	warns := r.observing == nil && w.MayHideCrashes()
	if found == nil && err != nil && warns && !r.related.warned {
		r.related.warned = true
		t.seen.verdict.Warns, t.seen.verdict.Message = true, fmt.Sprintf("%s; its pods cannot be "+
			"listed, so that crashes may go unnoticed: %v", t.seen.verdict.Message, err)
	}
	return found
}

// firstTrialOf returns why an object that the run, or one before it that failed, has changed, and
// whose pods are ready, is not ready yet; nil if it is. Meanwhile the failures of its liveness
// probes are looked for.
func (r *run) firstTrialOf(
	ctx context.Context, i int, now time.Time, ahead time.Duration,
) *ready.Trial {
	t := &r.tracks[i]
	w := t.seen.trial.workload
	found := w.FirstTrial(r.related.pods, t.written, t.ready, now, r.options.Pods.MinReady)
	if !w.NeedsEvents() || r.options.Pods.MinReady == 0 || r.options.NoCauses {
		return found
	}
	at := place{eventKind, r.plan.Steps[i].Ref.Namespace, "type=Warning"}
	watch := r.related.at(at).watchOf(nil, false)
	switch {
	case watch == nil:
		missing := r.related.missing()
		missing.need(at, nil)
		missing.start(ctx)
	case found == nil && watch.listed:
		found = w.ProbeTrial(r.related.pods, r.related.evidence, t.written, now.Add(ahead))
		if found != nil {
			found.Until = found.Until.Add(-ahead)
		}
	}
	return found
}

// podsListed reports whether the pods of an object are known, as far as the user may list them, and
// returns why they are not yet. If they are not watched, it starts a watch, for all objects with
// pods that are waited for in the namespace.
func (r *run) podsListed(ctx context.Context, i int) (bool, error) {
	pods := place{GroupKind: podKind, namespace: r.plan.Steps[i].Ref.Namespace}
	with, ok := podLabels(&r.tracks[i])
	if !ok {
		return true, nil
	}
	p := r.related.at(pods)
	if w := p.watchOf(with, false); w != nil {
		return w.listed && (w.failure == nil || w.over), w.failure
	}
	missing := r.related.missing()
	for j := range r.tracks {
		if t := &r.tracks[j]; j == i || t.waiting && r.plan.Steps[j].Ref.Namespace == pods.namespace {
			if with, ok := podLabels(t); ok {
				missing.need(pods, with)
			}
		}
	}
	missing.start(ctx)
	return false, nil
}

// podLabels returns the labels of the pods of an object; false if it has none.
func podLabels(t *track) (labels.Set, bool) {
	evidence := t.seen.evidence
	if t.seen.trial != nil {
		evidence = t.seen.trial.evidence
	}
	if evidence != nil {
		for _, kind := range evidence.RelatedKinds() {
			if kind.GroupKind == podKind {
				return kind.Labels, true
			}
		}
	}
	return nil, false
}

// stepsOnTrial returns the steps whose objects may be ready, or not any more, by an event of a pod.
func (r *run) stepsOnTrial(e relatedEvent) []int {
	if r.related.pods == nil || e.watch.place.GroupKind != podKind || !e.watch.listed {
		return nil
	}
	var steps []int
	for i := range r.tracks {
		if t := &r.tracks[i]; t.waiting && t.onTrial &&
			(e.runs == nil || t.seen.trial.workload.Owns(e.runs)) {
			steps = append(steps, i)
		}
	}
	return steps
}

// checkFirstPods judges all objects that are observed by their pods.
func (r *run) checkFirstPods(ctx, watching context.Context) {
	if r.related.pods == nil {
		return
	}
	looking, cancel := context.WithTimeout(ctx, explainTimeout)
	defer cancel()
	judge := func() {
		for i := range r.tracks {
			r.judgePods(watching, i)
			t := &r.tracks[i]
			t.shown = shown{t.seen.verdict.Status, t.seen.verdict.Children}
		}
	}
	judge()
	if r.related.listing > 0 {
		r.related.handleAll(looking, 0)
		judge()
	}
}
