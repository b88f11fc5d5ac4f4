package ready

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestCausesOfSequences replays statuses and events of pods as a kubelet reported them. It prints
// the causes for the owner of the pods, after each line that changes them.
func TestCausesOfSequences(t *testing.T) {
	golden.Run(
		t,
		"testdata/sequences/*.txtar",
		func(t *testing.T, files map[string]string) map[string]string {
			s := &sequence{
				family: NewRelatedObjects(), pods: map[string]*recordedPod{},
				owner: documents(t, files["owner.yaml"])[0], messages: map[string]string{},
				containers: []any{},
			}
			for line := range strings.Lines(files["messages"]) {
				reason, message, _ := strings.Cut(strings.TrimSpace(line), ": ")
				s.messages[reason] = message
			}
			for _, container := range documents(t, files["containers.yaml"]) {
				s.containers = append(s.containers, container.Object)
			}
			var out strings.Builder
			last := ""
			for line := range strings.Lines(files["sequence"]) {
				at := s.play(strings.TrimSpace(line))
				if now := s.causes(); now != last {
					fmt.Fprintf(&out, "%s%s", at, now)
					last = now
				}
			}
			return map[string]string{"causes": out.String()}
		},
	)
}

// sequence is the state of a replay.
type sequence struct {
	owner    *unstructured.Unstructured
	family   *RelatedObjects
	pods     map[string]*recordedPod
	messages map[string]string // of containers, by reason
	events   int
	now      time.Time

	containers []any // of the specification of the pods
}

// recordedPod is a pod between two lines.
type recordedPod struct {
	created    string
	started    map[string]string // by container
	restarts   map[string]string
	finished   map[string]string // by container and restarts
	ready      string            // status of its condition Ready
	readySince string
}

func (s *sequence) causes() string {
	var out strings.Builder
	for _, c := range s.family.Causes(EvidenceOf(s.owner, Of(s.owner)), time.Time{}, s.now) {
		if c.Idle && c.Until.IsZero() {
			continue
		}
		fmt.Fprintf(&out, "\n  x%d %s", c.Count, c.Message)
		if c.Idle {
			fmt.Fprintf(&out, " (from %s)", c.Until.Format(time.TimeOnly))
		} else if c.Delay > 0 {
			fmt.Fprintf(&out, " (after %s)", c.Delay)
		}
		if c.Container != "" {
			fmt.Fprintf(&out, " (log of %s, previous %t)", c.Container, c.Previous)
		}
		if c.Gone {
			out.WriteString(" (gone)")
		}
	}
	return out.String() + "\n"
}

// play handles one line: the status of a pod, its end, an event, or that nothing has changed. It
// returns the time.
func (s *sequence) play(line string) string {
	fields := strings.Fields(line)
	at := fields[0]
	stamp := "2026-01-01T" + at + "Z"
	s.now, _ = time.Parse(time.RFC3339, stamp)
	switch fields[1] {
	case "unchanged":
	case "event": // TIME event POD CONTAINER REASON MESSAGE
		s.family.Add(EvidenceOf(s.event(stamp, fields[2:]), Status{}))
	case "gone":
		s.family.Delete(object.Ref{Kind: "Pod", Namespace: "shop", Name: fields[2]})
	default:
		pod := s.pod(stamp, fields[1], line[len(at)+1+len(fields[1]):])
		s.family.Add(EvidenceOf(pod, Of(pod)))
	}
	return at
}

func (s *sequence) event(stamp string, fields []string) *unstructured.Unstructured {
	s.events++
	kind := "Warning"
	if fields[2] == "Killing" {
		kind = "Normal"
	}
	involved := map[string]any{"uid": fields[0]}
	if fields[1] != "-" {
		involved["fieldPath"] = "spec.containers{" + fields[1] + "}"
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Event", "type": kind, "reason": fields[2],
		"metadata": map[string]any{"namespace": "shop", "name": strconv.Itoa(s.events)},
		"message":  strings.Join(fields[3:], " "), "lastTimestamp": stamp, "involvedObject": involved,
	}}
}

// recorded matches the status of a container: NAME:STATE/REASON(CODE) rRESTARTS± last=REASON(CODE).
// Instead of - it has ~ if its startup probe has succeeded.
var recorded = regexp.MustCompile(
	`(\w+):(\w+)/(\w*)(?:\((\d+)\))? r(\d+)([+~-])(?: last=(\w+)\((\d+)\))?`)

// pod returns the pod of a line: PHASE REASON CONTAINERS, and DELETING if it is being deleted.
func (s *sequence) pod(stamp, name, line string) *unstructured.Unstructured {
	p := s.pods[name]
	if p == nil {
		p = &recordedPod{
			created: stamp, started: map[string]string{}, restarts: map[string]string{},
			finished: map[string]string{},
		}
		s.pods[name] = p
	}
	phase, rest, _ := strings.Cut(strings.TrimPrefix(line, " "), " ")
	status := map[string]any{"phase": phase}
	if reason, _, _ := strings.Cut(rest, " "); reason != "" {
		status["reason"], status["message"] = reason, s.messages[reason]
	}
	var containers []any
	ready := "True"
	for _, m := range recorded.FindAllStringSubmatch(line, -1) {
		container, isReady := s.container(p, stamp, m)
		containers = append(containers, container)
		if !isReady {
			ready = "False"
		}
	}
	if len(containers) == 0 {
		ready = "False"
	}
	if ready != p.ready {
		p.ready, p.readySince = ready, stamp
	}
	status["containerStatuses"] = containers
	status["conditions"] = []any{map[string]any{
		"type": "Ready", "status": ready, "lastTransitionTime": p.readySince,
	}}
	meta := map[string]any{
		"namespace": "shop", "name": name, "uid": name, "creationTimestamp": p.created,
		"ownerReferences": []any{map[string]any{
			"controller": true, "uid": string(s.owner.GetUID()), "apiVersion": s.owner.GetAPIVersion(),
			"kind": s.owner.GetKind(),
		}},
	}
	if strings.HasSuffix(line, "DELETING") {
		meta["deletionTimestamp"] = stamp
		meta["finalizers"] = []any{"batch.kubernetes.io/job-tracking"}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": meta, "status": status,
		"spec": map[string]any{
			"restartPolicy": s.restartPolicy(), "nodeName": "n", "containers": s.containers,
		},
	}}
}

func (s *sequence) restartPolicy() string {
	if policy := text(s.owner, "spec", "template", "spec", "restartPolicy"); policy != "" {
		return policy
	}
	return "Always"
}

// container returns the status of a container, and whether it is ready.
func (s *sequence) container(
	p *recordedPod, stamp string, m []string,
) (status map[string]any, ready bool) {
	name, state, reason, code, restarts := m[1], m[2], m[3], m[4], m[5]
	began := p.started[name]
	if restarts != p.restarts[name] || began == "" {
		p.restarts[name], p.started[name] = restarts, stamp
	}
	detail := map[string]any{}
	if reason != "" {
		detail["reason"], detail["message"] = reason, s.messages[reason]
	}
	switch state {
	case "running":
		detail["startedAt"] = p.started[name]
	case "terminated":
		detail["exitCode"], _ = strconv.ParseInt(code, 10, 64)
		if p.finished[name+restarts] == "" {
			p.finished[name+restarts] = stamp
		}
		detail["startedAt"], detail["finishedAt"] = p.started[name], p.finished[name+restarts]
	}
	image := cmp.Or(s.messages["image"], "example/web:1")
	status = map[string]any{"name": name, "image": image, "ready": m[6] == "+",
		"state": map[string]any{state: detail}, "started": m[6] != "-"}
	status["restartCount"], _ = strconv.ParseInt(restarts, 10, 64)
	if m[7] != "" {
		exit, _ := strconv.ParseInt(m[8], 10, 64)
		status["lastState"] = map[string]any{"terminated": map[string]any{
			"reason": m[7], "exitCode": exit, "message": s.messages[m[7]],
			"startedAt": began, "finishedAt": stamp,
		}}
	}
	return status, m[6] == "+"
}

// A container that cannot be started has no time of a start: the kubelet reports the first second
// of 1970, and the crash loop is one nevertheless.
func TestCrashLoopWithoutStart(t *testing.T) {
	end := map[string]any{
		"exitCode": int64(128), "reason": "StartError",
		"startedAt": "1970-01-01T00:00:00Z", "finishedAt": "2026-01-02T03:04:05Z",
	}
	status := map[string]any{
		"name": "web", "restartCount": int64(1), "state": map[string]any{"terminated": end},
	}
	pod := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"restartPolicy": "Always"},
	}}
	if !isCrashLoop(pod, status) {
		t.Error("it is none")
	}
}

// A pod that is ready again, and is watched for a while because of that, has a cause.
func TestCausesOfRestartedPod(t *testing.T) {
	now := time.Now().UTC()
	pod := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "web", "uid": "p"},
		"spec": map[string]any{"restartPolicy": "OnFailure", "nodeName": "n"},
		"status": map[string]any{"phase": "Running", "containerStatuses": []any{map[string]any{
			"name": "web", "ready": true, "restartCount": int64(1),
			"state": map[string]any{"running": map[string]any{
				"startedAt": now.Format(time.RFC3339),
			}},
			"lastState": map[string]any{"terminated": map[string]any{"exitCode": int64(1)}},
		}}},
	}}
	causes := NewRelatedObjects().Causes(EvidenceOf(pod, Status{State: InProgress}), time.Time{}, now)
	want := "container web crashes: it ended with exit code 1"
	if len(causes) != 1 || causes[0].Message != want {
		t.Errorf("causes %v, want %s", causes, want)
	}
}
