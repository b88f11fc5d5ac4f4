package kapp

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/kapp/app"
	"github.com/muster-deploy/muster/internal/kapp/filter"
	"github.com/muster-deploy/muster/internal/kapp/resource"
	"github.com/muster-deploy/muster/internal/kapp/ui"
	"github.com/muster-deploy/muster/internal/object"
)

// logTail reads the logs of the pods of an app, each container by a goroutine of its own.
type logTail struct {
	client *cluster.Client
	logs   ui.Logs
	follow bool
	lines  int                                           // of what was logged before; below zero all
	picks  func(pod live) (containers []string, ok bool) // patterns of names, none for all; not ok for a pod that is not tailed

	mu      sync.Mutex
	tailed  map[types.UID]bool
	running sync.WaitGroup
}

// watch tails the pods of the app that there are in the namespaces, and those that come until the context ends. Without
// follow it returns when what there is was told.
func (t *logTail) watch(ctx context.Context, selector string, namespaces []string) {
	t.tailed = map[types.UID]bool{}
	var listed sync.WaitGroup
	for _, namespace := range namespaces {
		listed.Add(1)
		t.client.Survey(ctx, cluster.Survey{Kind: podKind, Namespace: namespace, Labels: selector, Once: !t.follow}, func(s cluster.Sighting) {
			switch {
			case s.Listed:
				listed.Done()
			case s.Object != nil:
				t.take(ctx, s.Object)
			}
		})
	}
	listed.Wait()
	if t.follow {
		<-ctx.Done()
	}
	t.running.Wait()
}

// take begins to tail a pod, once.
func (t *logTail) take(ctx context.Context, pod live) {
	t.mu.Lock()
	defer t.mu.Unlock()
	patterns, ok := t.picks(pod)
	if !ok || t.tailed[pod.GetUID()] {
		return
	}
	t.tailed[pod.GetUID()] = true
	for _, name := range containersOf(pod) {
		if len(patterns) == 0 || slices.ContainsFunc(patterns, func(p string) bool { return filter.Like(p, name) }) {
			t.running.Go(func() { t.tail(ctx, object.RefOf(pod), pod.GetUID(), name) }) // watch waits for it
		}
	}
}

// containersOf are the names of a pod's containers, those that run first first.
func containersOf(pod live) []string {
	var names []string
	for _, field := range []string{"initContainers", "containers"} {
		list, _, _ := unstructured.NestedFieldNoCopy(pod.Object, "spec", field)
		items, _ := list.([]any)
		for _, item := range items {
			fields, _ := item.(map[string]any)
			if name, ok := fields["name"].(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// How often it is looked whether a container runs, and how long after the end of a log it is read anew.
const (
	startsEvery  = 500 * time.Millisecond
	resumesAfter = time.Second
)

// tail tells the log of a container, from the moment at which it runs.
func (t *logTail) tail(ctx context.Context, pod object.Ref, uid types.UID, container string) {
	tag := pod.Name + " > " + container
	noted := false
	for since := (time.Time{}); ctx.Err() == nil; {
		running, gone := t.runs(ctx, pod, uid, container)
		switch {
		case gone:
			return
		case !running && !noted:
			noted = true
			t.logs.Note(fmt.Sprintf("waiting for '%s' logs to become available...", tag))
		}
		if !running && !t.follow {
			return
		}
		if !running {
			pause(ctx, startsEvery)
			continue
		}
		t.logs.Note(fmt.Sprintf("starting tailing '%s' logs", tag))
		t.read(ctx, pod, container, tag, since)
		if !t.follow {
			t.logs.Note(fmt.Sprintf("ending tailing '%s' logs", tag))
			return
		}
		if ctx.Err() == nil {
			t.logs.Note(fmt.Sprintf("container stopped '%s' logs", tag))
		}
		since = time.Now()
		pause(ctx, resumesAfter)
	}
}

// read tells what is logged, until the log ends.
func (t *logTail) read(ctx context.Context, pod object.Ref, container, tag string, since time.Time) {
	stream, err := t.client.Follow(ctx, pod, container, cluster.FollowOptions{On: t.follow, Lines: t.lines, Since: since})
	if err != nil {
		return
	}
	defer stream.Close()
	for reader := bufio.NewReader(stream); ; {
		line, err := reader.ReadString('\n')
		if line != "" {
			t.logs.Line(tag, line)
		}
		if err != nil {
			if err != io.EOF && ctx.Err() == nil {
				t.logs.Note(fmt.Sprintf("reading '%s' logs: %v", tag, err))
			}
			return
		}
	}
}

// runs reports whether a container of a pod runs, and whether the pod is gone.
func (t *logTail) runs(ctx context.Context, ref object.Ref, uid types.UID, container string) (running, gone bool) {
	found, err := t.client.Read(ctx, []cluster.Target{{Ref: ref, Version: "v1"}})
	if err != nil {
		return false, false
	}
	pod := found.Objects[ref]
	if pod == nil || pod.GetUID() != uid {
		return false, true
	}
	for _, field := range []string{"initContainerStatuses", "containerStatuses"} {
		list, _, _ := unstructured.NestedFieldNoCopy(pod.Object, "status", field)
		items, _ := list.([]any)
		for _, item := range items {
			status, _ := item.(map[string]any)
			if status["name"] == container {
				_, running, _ = unstructured.NestedMap(status, "state", "running")
				return running, false
			}
		}
	}
	return false, false
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// follow tells, during a deployment, the logs of the pods that ask for it. The function ends it.
func (d *deployment) follow(ctx context.Context, existing []live) (stop func()) {
	if !d.deploy.logs {
		return func() {}
	}
	old := map[types.UID]bool{}
	for _, obj := range existing {
		old[obj.GetUID()] = true
	}
	tail := &logTail{client: d.client, logs: ui.Logs{UI: d.ui, Prefix: "logs", Tagged: true}, follow: true, lines: 0}
	tail.picks = func(pod live) ([]string, bool) {
		var names []string
		if text := pod.GetAnnotations()[resource.AnnDeployLogsContainers]; text != "" {
			names = strings.Split(text, ",")
		}
		if d.deploy.logsAll {
			return names, true
		}
		value, asked := pod.GetAnnotations()[resource.AnnDeployLogs]
		switch value {
		case "", "for-new":
			return names, asked && !old[pod.GetUID()]
		case "for-existing":
			return names, old[pod.GetUID()]
		default:
			return names, value == "for-new-or-existing"
		}
	}
	tailing, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	// The caller waits for it by the function that is returned.
	go func() {
		defer close(ended)
		tail.watch(tailing, d.target.Selector(), d.logPlaces())
	}()
	return func() {
		cancel()
		<-ended
	}
}

// logPlaces are the namespaces in which pods of the app may come to be.
func (d *deployment) logPlaces() []string {
	return slices.DeleteFunc(slices.Clone(d.places), func(place string) bool { return place == clusterPlace })
}

// logReading is a run of logs.
type logReading struct {
	app        appFlags
	follow     bool
	lines      int
	tagged     bool
	pod        string
	containers []string
}

func (p *program) newLogs() *cobra.Command {
	l := &logReading{}
	cmd := &cobra.Command{
		Use: "logs", Aliases: []string{"l"}, Short: "Print app's Pod logs",
		Long: `Print app's Pod logs: those of all pods that carry its label.`,
	}
	l.app.add(cmd)
	cmd.Flags().BoolVarP(&l.follow, "follow", "f", false, "As new Pods are added, new Pod logs will be printed")
	cmd.Flags().IntVar(&l.lines, "lines", 10, "Limit to number of lines (use -1 to remove limit)")
	cmd.Flags().BoolVar(&l.tagged, "container-tag", true, "Include container tag")
	cmd.Flags().StringVarP(&l.pod, "pod-name", "m", "", "Set Pod name to filter logs (can use % or * as wildcard)")
	cmd.Flags().StringSliceVarP(&l.containers, "container-name", "c", nil, "Set container name to filter logs (can be specified multiple times) (can use % or * as wildcard)")
	return p.speaks(cmd, false, l.run)
}

func (l *logReading) run(ctx context.Context, s *session) error {
	if !l.follow && l.lines <= 0 && l.lines != -1 {
		return fmt.Errorf("Expected --lines to be greater than zero since --follow is not specified")
	}
	target, err := s.existing(ctx, l.app)
	if err != nil {
		return err
	}
	tail := &logTail{client: s.client, logs: ui.Logs{UI: s.ui, Tagged: l.tagged}, follow: l.follow, lines: l.lines}
	tail.picks = func(pod live) ([]string, bool) {
		return l.containers, l.pod == "" || filter.Like(l.pod, pod.GetName())
	}
	tail.watch(ctx, target.Selector(), s.podPlaces(target))
	return nil
}

// podPlaces are the namespaces of an app's pods: those of its last change or, where it has none, all.
func (s *session) podPlaces(target *app.App) []string {
	var places []string
	for _, place := range target.Meta.LastChange.Namespaces {
		if place != clusterPlace {
			places = append(places, place)
		}
	}
	if len(places) == 0 {
		places = []string{""}
	}
	return places
}
