package sets

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/diff"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// The limits of what a revision keeps about failures. They bound it to about 100 KB.
const (
	maxEvidence       = 10 // objects
	maxEvidenceCauses = 3  // of an object
	maxEvidenceLog    = 20 // lines of a cause
)

// evidence collects what is seen of the objects of a run.
type evidence struct {
	steps  map[int]*history.Evidence
	failed map[int]bool
}

func newEvidence() evidence {
	return evidence{map[int]*history.Evidence{}, map[int]bool{}}
}

// add collects one event.
func (v evidence) add(e event.Event) {
	if e.Ref.Kind == "" {
		return
	}
	found := v.steps[e.Step]
	if found == nil {
		found = &history.Evidence{Object: e.Ref}
		v.steps[e.Step] = found
	}
	if e.Status.Message != "" {
		found.State = e.Status.Message
	}
	if e.Err != nil {
		found.Error = e.Err.Error()
	}
	if len(e.Causes) > 0 {
		found.Causes = causesOf(e.Causes)
	}
	v.failed[e.Step] = v.failed[e.Step] || e.Outcome.IsFailure()
}

// causesOf returns the first causes, with the last lines of their logs.
func causesOf(causes []ready.Cause) []history.Cause {
	var kept []history.Cause
	for _, c := range causes[:min(len(causes), maxEvidenceCauses)] {
		log := c.Log[max(0, len(c.Log)-maxEvidenceLog):]
		kept = append(kept, history.Cause{
			Object: c.Object, Count: c.Count, Message: c.Message, Container: c.Container,
			Log: slices.Clone(log),
		})
	}
	return kept
}

// of returns the evidence of the objects that failed, in the order of their steps. Values of the
// Secrets among the manifests are masked.
func (v evidence) of(manifests []plan.Desired) []history.Evidence {
	mask := maskerOf(manifests)
	var all []history.Evidence
	for _, step := range slices.Sorted(maps.Keys(v.steps)) {
		if !v.failed[step] || len(all) == maxEvidence {
			continue
		}
		found := *v.steps[step]
		found.State, found.Error = mask(found.State), mask(found.Error)
		found.Causes = slices.Clone(found.Causes)
		for i := range found.Causes {
			c := &found.Causes[i]
			c.Message, c.Log = mask(c.Message), slices.Clone(c.Log)
			for j := range c.Log {
				c.Log[j] = mask(c.Log[j])
			}
		}
		all = append(all, found)
	}
	return all
}

// maskerOf returns a function that makes one line of a text and masks the values of the Secrets
// among manifests.
func maskerOf(manifests []plan.Desired) func(string) string {
	var objects []*unstructured.Unstructured
	for _, d := range manifests {
		objects = append(objects, d.Object)
	}
	masked := diff.SecretTexts(objects...)
	return func(text string) string { return plaintext.Line(masked.Replace(text)) }
}
