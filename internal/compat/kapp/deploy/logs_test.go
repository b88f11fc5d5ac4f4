package deploy

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/sets/app"
	"github.com/muster-deploy/muster/internal/sets/policy/resource"
	"github.com/muster-deploy/muster/internal/testing/enginetest"
)

// logLines keeps what a LogPrinter prints.
type logLines struct {
	mu    sync.Mutex
	lines []string
}

func (l *logLines) add(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, strings.TrimSuffix(text, "\n"))
}

func (l *logLines) Note(text string)      { l.add("# " + text) }
func (l *logLines) Line(tag, text string) { l.add(tag + " | " + text) }
func (l *logLines) Block(text string)     { l.add(text) }

// text returns the lines, sorted, since pods are read at once.
func (l *logLines) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(slices.Sorted(slices.Values(l.lines)), "\n")
}

// pod returns the manifest of a pod of the app "label:tier=web" with a container "main".
func pod(name, annotations, status string) string {
	return "{apiVersion: v1, kind: Pod, metadata: {name: " + name + ", labels: {tier: web}, " +
		"annotations: {" + annotations + "}}, " +
		"spec: {containers: [{name: main}, {name: side}]}, status: {containerStatuses: [" +
		status + "]}}"
}

const (
	running    = "{name: main, restartCount: 0, state: {running: {}}}"
	terminated = "{name: main, restartCount: 0, state: {terminated: {}}}"
)

// Without follow, Logs prints the present lines of the containers that run.
func TestLogs(t *testing.T) {
	for _, tc := range []struct {
		name       string
		edit       func(*LogsRequest)
		unlistable []string
		want       string
	}{
		{"all", nil, nil, "# ending tailing 'a > main' logs\n# starting tailing 'a > main' " +
			"logs\n# waiting for 'a > side' logs to become available...\n" +
			"# waiting for 'b > main' logs to become available...\n# waiting for 'b > side' logs " +
			"to become available...\n" +
			"a > main | one\na > main | two"},
		{"one pod", func(r *LogsRequest) { r.Pod = "b%" }, nil,
			"# waiting for 'b > main' logs to become available...\n# waiting for 'b > side' logs " +
				"to become available..."},
		{"one container and line", func(r *LogsRequest) {
			r.Containers, r.Lines,
				r.Pod = []string{"main"}, 1, "a"
		}, nil,
			"# ending tailing 'a > main' logs\n# starting tailing 'a > main' logs\na > main | two"},
		{"single namespaces", func(r *LogsRequest) { r.Containers, r.Pod = []string{"main"}, "b" },
			[]string{},
			"# waiting for 'b > main' logs to become available..."},
		{"forbidden", nil, []string{enginetest.Everywhere},
			`Pod watching error: pods is forbidden: User cannot list resource "pods" in API group "" in ` +
				`the namespace(s) "demo"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, lines := newWorld(t), &logLines{}
				if tc.unlistable != nil {
					w.cluster.Unlistable = map[schema.GroupKind][]string{app.PodKind: tc.unlistable}
				}
				w.cluster.Logs = map[object.Ref][]string{w.put(pod("a", "", running)): {"one",
					"two"}}
				w.put(pod("b", "", terminated))
				request := LogsRequest{App: app.Name{Name: "label:tier=web"}, Printer: lines, Lines: -1}
				if tc.edit != nil {
					tc.edit(&request)
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				checkError(t, request.Check(), "")
				checkError(t, w.Logs(ctx, request), "")
				check(t, "logs", lines.text(), tc.want)
			})
		})
	}
	checkError(t, LogsRequest{}.Check(), "Expected --lines to be greater than zero")
	w := newWorld(t)
	checkError(
		t,
		w.Logs(t.Context(), LogsRequest{App: app.Name{Name: "none", Namespace: "demo"}}),
		"does not exist",
	)
}

// With follow, Logs prints new pods as well, until the context ends.
func TestLogsFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, lines := newWorld(t), &logLines{}
		ref := object.Ref{Kind: "Pod", Namespace: "demo", Name: "a"}
		w.cluster.Logs = map[object.Ref][]string{ref: {"one"}}
		ctx, cancel := context.WithCancel(t.Context())
		request := LogsRequest{
			App:        app.Name{Name: "label:tier=web"},
			Printer:    lines,
			Follow:     true,
			Containers: []string{"main"},
		}
		ended := make(chan error)
		go func() { ended <- w.Logs(ctx, request) }() // the test receives its end
		synctest.Wait()
		w.put(pod("a", "", ""))
		time.Sleep(time.Second)
		stored := w.cluster.Object(ref)
		stored.Object["status"] = parse(t, pod("a", "", running)).Object["status"]
		w.cluster.Put(stored)
		time.Sleep(time.Second)
		w.cluster.Remove(ref)
		time.Sleep(time.Second)
		cancel()
		checkError(t, <-ended, "")
		if text := lines.text(); !strings.Contains(text, "a > main | one") ||
			!strings.Contains(text, "waiting for 'a > main' logs") {
			t.Errorf("logs %q", text)
		}
	})
}

// A deployment prints the logs of annotated pods, and ends soon after the run.
func TestDeployLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, lines := newWorld(t), &logLines{}
		request := w.request(configMap("a", "1"))
		request.App, request.Logs = app.Name{Name: "label:tier=web"}, lines
		old := w.put(pod("old", resource.AnnDeployLogs+": for-existing", running))
		fresh := object.Ref{Kind: "Pod", Namespace: "demo", Name: "new"}
		w.cluster.Logs = map[object.Ref][]string{old: {"old"}, fresh: {"new"}}
		w.execute = func() error {
			w.put(pod("new", resource.AnnDeployLogs+": ''", running))
			time.Sleep(time.Second)
			return nil
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		started := time.Now()
		_, err := w.Deploy(ctx, request)
		checkError(t, err, "")
		if text := lines.text(); !strings.Contains(text, "new > main | new") {
			t.Errorf("logs %q", text)
		}
		if took := time.Since(started); took > 5*time.Second {
			t.Errorf("the deployment took %s", took)
		}
	})
}

// Annotations choose the pods and containers whose logs a deployment prints.
func TestChooseContainers(t *testing.T) {
	const existing, fresh = types.UID("uid-old"), types.UID("uid-new")
	for _, tc := range []struct {
		annotations string
		all         bool
		uid         types.UID
		ok          bool
		patterns    string
	}{
		{"", false, fresh, false, ""},
		{"", true, existing, true, ""},
		{resource.AnnDeployLogs + ": ''", false, fresh, true, ""},
		{resource.AnnDeployLogs + ": ''", false, existing, false, ""},
		{resource.AnnDeployLogs + ": for-existing", false, existing, true, ""},
		{resource.AnnDeployLogs + ": for-existing", false, fresh, false, ""},
		{resource.AnnDeployLogs + ": for-new-or-existing", false, existing, true, ""},
		{resource.AnnDeployLogs + ": other", false, fresh, false, ""},
		{resource.AnnDeployLogs + ": '', " + resource.AnnDeployLogsContainers + ": 'a,b'", false,
			fresh, true, "a b"},
	} {
		d := &Deployment{req: DeployRequest{AllLogs: tc.all}}
		obj := parse(t, pod("p", tc.annotations, running))
		obj.SetUID(tc.uid)
		d.pods = map[types.UID]bool{existing: true}
		patterns, ok := d.chooseContainers(obj)
		if ok != tc.ok || strings.Join(patterns, " ") != tc.patterns {
			t.Errorf("%s, uid %s: %v, %t", tc.annotations, tc.uid, patterns, ok)
		}
	}
}
