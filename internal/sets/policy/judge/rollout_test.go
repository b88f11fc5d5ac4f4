package judge

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// phase is what a server has of an object and its child objects, one state after the other, from a
// change by a user on until nothing changes any more.
type phase struct {
	name       string
	unfinished bool // the object never gets to where it should be
	cut        bool // the next change came before the end
	states     []rolloutState
}

// rolloutState is an object with its child objects.
type rolloutState struct {
	object   *unstructured.Unstructured
	children []*unstructured.Unstructured
}

// judges are those who decide by the states of objects when a rollout is over.
var judges = []struct {
	name  string
	judge func(rolloutState) (verdict string, done bool)
}{
	{"kapp", func(s rolloutState) (string, bool) {
		j := Of(s.object, s.children)
		return strings.TrimSpace(j.StateName() + " " + j.Message), j.Done
	}},
	{"ready", func(s rolloutState) (string, bool) {
		status := ready.Of(s.object)
		done := status.State == ready.Current || status.State == ready.Failed
		return fmt.Sprintf("%s: %s", status.State, status.Message), done
	}},
}

// TestRollouts judges every state of the rollouts that were recorded on a real server. A rollout is
// over in the last state, and before that only if nothing changes any more that matters.
//
//	go test -C local ./e2e -run TestRecordRollouts -record-rollouts
//	go test ./internal/sets/policy/judge -update
func TestRollouts(t *testing.T) {
	golden.Run(t, "testdata/rollouts/*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			out := map[string]string{}
			phases := readRollout(t, files["events"])
			for _, j := range judges {
				var b strings.Builder
				for _, p := range phases {
					fmt.Fprintf(&b, "# %s\n", p.name)
					for k, s := range p.states {
						verdict, done := j.judge(s)
						fmt.Fprintln(&b, verdict)
						p.check(t, j.name, k, done)
					}
				}
				out[j.name] = b.String()
			}
			return out
		})
}

// check compares whether a judge says that a state is the last one with whether it is.
func (p *phase) check(t *testing.T, judge string, k int, done bool) {
	t.Helper()
	at := path.Base(t.Name()) + ": " + p.name
	if judge == "kapp" && kindOf(p.states[k].object).judge == nil {
		return // kapp waits for no object of the kind
	}
	if _, excused := otherwise[judge+": "+at]; excused {
		return
	}
	last := len(p.states) - 1
	switch {
	case done && !p.isOver(k):
		t.Errorf("%s: state %d of %d is over for %s, but status %v becomes %v", at, k+1, last+1, judge,
			p.states[k].object.Object["status"], p.states[last].object.Object["status"])
	case !done && k == last && !p.unfinished && !p.cut:
		t.Errorf("%s: the last of %d states is not over for %s: %v", at, last+1, judge,
			p.states[k].object.Object["status"])
	}
}

// otherwise are the phases in which a judge decides otherwise on purpose, and why.
var otherwise = map[string]string{
	"kapp: daemonset_on_delete: another image":      "it waits until users have deleted all pods",
	"kapp: daemonset_on_delete: a pod is deleted":   "as above",
	"kapp: statefulset_on_delete: another image":    "as above",
	"kapp: statefulset_on_delete: a pod is deleted": "as above",
	"kapp: job_suspended: created":                  "it waits for suspended Jobs",
	"kapp: job_suspended: suspended in the middle":  "as above",
	"kapp: deployment_minimum: created":             "an annotation asks for some pods only",
	"kapp: deployment_minimum: another image":       "as above",
	"kapp: deployment_minimum: scaled up":           "as above",
	"kapp: pod_ends: created":                       "a pod that is ready may end at any time",
	"ready: pod_ends: created":                      "as above",

	"ready: deployment_quota: scaled down to what is allowed": "all pods are there; the condition " +
		"that some could not be created is of before",
	"ready: deployment_paused_middle: paused in the middle": "new pods may be why it is paused",
	"ready: deployment_paused: paused in the middle":        "as above",

	"ready: statefulset_on_delete: a pod is deleted": "no generation counts deleted pods, so that " +
		"the status is of before for a moment",
	"ready: statefulset_on_delete: another pod is deleted": "as above",
	"ready: customresourcedefinition_conflict: another short name": "a condition that stays False " +
		"does not say for which name; the definition is served as before",
	"kapp: apiservice: the server's own again": "a condition that stays True does not say for which " +
		"service; the engine waits after such a write",
	"ready: apiservice: the server's own again": "as above",
}

// afterwards are fields of statuses that may change after the end of a rollout, by kind, and why.
var afterwards = map[string]map[string]string{
	"Deployment": {
		"terminatingReplicas": "old pods may take their time to end, and serve nobody meanwhile",
	},
	"ReplicaSet": {"terminatingReplicas": "as above"},
	"Job":        {"terminating": "as above"},
	"DaemonSet": {
		"numberMisscheduled": "a pod may stay for ever on a node that no new one would get to",
	},
}

// isOver reports whether nothing that matters changes from a state on.
func (p *phase) isOver(k int) bool {
	if p.cut {
		return false
	}
	matters := func(s rolloutState) map[string]any {
		status, _ := s.object.DeepCopy().Object["status"].(map[string]any)
		for field := range afterwards[s.object.GetKind()] {
			delete(status, field)
		}
		return status
	}
	last := matters(p.states[len(p.states)-1])
	return !slices.ContainsFunc(p.states[k:], func(s rolloutState) bool {
		return !reflect.DeepEqual(matters(s), last)
	})
}

// readRollout returns the phases of a recording. Its lines are "# STEP" and, for each state of an
// object, "APIVERSION KIND NAME" with what differs from its state before, or "gone". The first
// object is the one that is judged, the others are its child objects. A step that is early comes
// before the end of the phase before; one that is unfinished does not succeed.
func readRollout(t *testing.T, events string) []*phase {
	t.Helper()
	var phases []*phase
	var names []string
	objects := map[string]map[string]any{}
	for line := range strings.Lines(events) {
		line = strings.TrimSpace(line)
		if step, ok := strings.CutPrefix(line, "# "); ok {
			name, unfinished := strings.CutSuffix(step, " (unfinished)")
			name, early := strings.CutSuffix(name, " (early)")
			if early {
				phases[len(phases)-1].cut = true
			}
			phases = append(phases, &phase{name: name, unfinished: unfinished})
			continue
		}
		words := strings.SplitN(line, " ", 4)
		name := strings.Join(words[:3], " ")
		if words[3] == "gone" {
			delete(objects, name)
		} else {
			if objects[name] == nil {
				objects[name] = newRolloutObject(words)
				names = append(names, name)
			}
			addParts(t, objects[name], words[3])
		}
		p := phases[len(phases)-1]
		p.states = append(p.states, stateOf(t, names, objects))
	}
	return phases
}

func newRolloutObject(words []string) map[string]any {
	return map[string]any{
		"apiVersion": words[0], "kind": words[1],
		"metadata": map[string]any{"name": words[2], "namespace": "demo"},
	}
}

// addParts changes the parts of an object that a line has.
func addParts(t *testing.T, object map[string]any, line string) {
	t.Helper()
	var parts map[string]any
	if err := json.Unmarshal([]byte(line), &parts); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	for key, value := range parts {
		if key == "spec" || key == "status" {
			merge(object, key, value)
		} else {
			merge(object["metadata"].(map[string]any), key, value)
		}
	}
}

// merge sets a field to a value, of maps only the fields that the value has. Null removes a field.
func merge(into map[string]any, key string, value any) {
	fields, isMap := value.(map[string]any)
	switch {
	case value == nil:
		delete(into, key)
	case isMap:
		old, _ := into[key].(map[string]any)
		if old == nil {
			old = map[string]any{}
		}
		into[key] = old
		for name, field := range fields {
			merge(old, name, field)
		}
	default:
		into[key] = value
	}
}

// stateOf returns the objects that there are, in the order in which they were created.
func stateOf(t *testing.T, names []string, objects map[string]map[string]any) rolloutState {
	t.Helper()
	s := rolloutState{object: decoded(t, objects[names[0]])}
	for _, name := range names[1:] {
		if objects[name] != nil {
			s.children = append(s.children, decoded(t, objects[name]))
		}
	}
	return s
}
