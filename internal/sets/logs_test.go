package sets

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/feature/podlogs"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// logLines keeps the lines of logs.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) Event(c podlogs.Container, e podlogs.Event, _ error) {
	if e == podlogs.Absent {
		l.Line(c, "absent")
	}
}

func (l *logLines) Line(c podlogs.Container, text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, c.Pod.String()+" "+c.Name+" "+strings.TrimSpace(text))
}

// Logs prints the logs of the set's own pods and of those that controllers created for its objects,
// through other controllers and in other namespaces. It says whose pods it cannot find out.
func TestLogs(t *testing.T) {
	c := &enginetest.Cluster{Logs: map[object.Ref][]string{}}
	put := func(kind, namespace, name, owner string) {
		text := "{apiVersion: v1, kind: " + kind + ", metadata: {name: " + name
		if namespace != "" {
			text += ", namespace: " + namespace
		}
		if kind, name, ok := strings.Cut(owner, "/"); ok {
			text += ", ownerReferences: [{apiVersion: v1, kind: " + kind + ", name: " + name +
				", uid: x, controller: true}]"
		}
		text += "}, spec: {containers: [{name: main}, {name: side}]}, status: {containerStatuses: [" +
			"{name: main, restartCount: 0, state: {running: {}}}]}}"
		obj := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
			t.Fatal(err)
		}
		c.Put(obj)
		c.Logs[object.RefOf(obj)] = []string{"of " + name}
	}
	put("Pod", "demo", "own", "")
	put("Top", "demo", "top", "")
	put("Middle", "demo", "middle", "Top/top")
	put("Pod", "demo", "below", "Middle/middle")
	put("Pod", "other", "far", "Shared/shared")
	put("Pod", "demo", "foreign", "")
	put("Circle", "demo", "circle", "Circle/circle")
	put("Pod", "demo", "round", "Circle/circle")
	put("Pod", "demo", "hidden", "Secretive/secretive")
	put("Pod", "demo", "hidden-too", "Secretive/secretive")
	lines, failures := &logLines{}, []string{}
	secretive := object.Ref{Kind: "Secretive", Namespace: "demo", Name: "secretive"}
	c.Unreadable = map[object.Ref]error{secretive: errors.New("no right")}
	found := Logs(t.Context(), c, LogsRequest{
		Objects: []object.Ref{
			{Kind: "Pod", Namespace: "demo", Name: "own"}, {Kind: "Top", Namespace: "demo", Name: "top"},
			{Kind: "Shared", Name: "shared"},
		},
		Pod:       func(string) bool { return true },
		Container: func(name string) bool { return name == "main" },
		Printer:   lines, Now: time.Now,
		Failed: func(err error) { failures = append(failures, err.Error()) },
	})
	slices.Sort(lines.lines)
	const want = "demo/pod/below main of below\ndemo/pod/own main of own\nother/pod/far main of far"
	if got := strings.Join(lines.lines, "\n"); got != want || found != 3 {
		t.Errorf("%d containers, logs:\n%s\nwant:\n%s", found, got, want)
	}
	const failure = "find out whose the pods of demo/secretive/secretive are: "
	if len(failures) != 1 || !strings.HasPrefix(failures[0], failure) {
		t.Errorf("failures %q, want one: %q", failures, failure)
	}
}

// The previous log of a container that was not restarted is not asked for: it is no error.
func TestPreviousLogs(t *testing.T) {
	pod := &unstructured.Unstructured{}
	text := "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: demo}, spec: {containers: " +
		"[{name: bad}, {name: good}, {name: new}]}, status: {containerStatuses: [" +
		"{name: bad, restartCount: 1, state: {waiting: {}}, lastState: {terminated: {}}}, " +
		"{name: good, restartCount: 0, state: {running: {}}, lastState: {}}]}}"
	if err := yaml.Unmarshal([]byte(text), &pod.Object); err != nil {
		t.Fatal(err)
	}
	ref := object.RefOf(pod)
	c := &enginetest.Cluster{Logs: map[object.Ref][]string{ref: {"before"}}}
	c.Put(pod)
	lines := &logLines{}
	any := func(string) bool { return true }
	Logs(t.Context(), c, LogsRequest{
		Objects: []object.Ref{ref}, Pod: any, Container: any, Printer: lines, Now: time.Now,
		Log: cluster.LogOptions{Previous: true}, Failed: func(err error) { t.Error(err) },
	})
	slices.Sort(lines.lines)
	const want = "demo/pod/a bad before\ndemo/pod/a good absent\ndemo/pod/a new absent"
	if got := strings.Join(lines.lines, "\n"); got != want {
		t.Errorf("logs:\n%s\nwant:\n%s", got, want)
	}
}
