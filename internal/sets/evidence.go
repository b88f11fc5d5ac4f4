package sets

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/history"
	"github.com/muster-deploy/muster/internal/plaintext"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// The limits of what a revision keeps about failures. They bound it to about 100 KB.
const (
	maxEvidence       = 10 // objects
	maxEvidenceCauses = 3  // of an object
	maxEvidenceLog    = 20 // lines of a cause
)

// minMasked is the length of the shortest values of Secrets that are masked in evidence. Shorter
// ones are parts of many words.
const minMasked = 4

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
	var values []string
	for _, d := range manifests {
		if d.Object.GetKind() == "Secret" && d.Object.GetAPIVersion() == "v1" {
			values = append(values, secretValues(d.Object)...)
		}
	}
	// A value may contain another one.
	slices.SortFunc(values, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b))
	})
	var pairs []string
	for _, value := range slices.Compact(values) {
		pairs = append(pairs, value, "***")
	}
	masked := strings.NewReplacer(pairs...)
	return func(text string) string { return plaintext.Line(masked.Replace(text)) }
}

// secretValues returns the values of a Secret and their lines, encoded and decoded.
func secretValues(secret *unstructured.Unstructured) []string {
	var values []string
	add := func(text string) {
		for _, line := range append(strings.Split(text, "\n"), text) {
			if line = strings.TrimSpace(line); len(line) >= minMasked {
				values = append(values, line)
			}
		}
	}
	for _, field := range []string{"data", "stringData"} {
		fields, _, _ := unstructured.NestedMap(secret.Object, field)
		for _, value := range fields {
			text, _ := value.(string)
			decoded, err := base64.StdEncoding.DecodeString(text)
			if add(text); err == nil && field == "data" {
				add(string(decoded))
			} else if field == "stringData" {
				add(base64.StdEncoding.EncodeToString([]byte(text)))
			}
		}
	}
	return values
}
