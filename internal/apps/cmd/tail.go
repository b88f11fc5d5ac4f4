package cmd

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/apps/ui"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// logTail reads the logs of the pods of an app, each container by a goroutine of its own.
type logTail struct {
	client apps.Cluster
	logs   ui.Logs
	follow bool
	lines  int                                           // of what was logged before; zero or below for all
	picks  func(pod live) (containers []string, ok bool) // patterns of names, none for all; not ok for a pod that is not tailed

	listed chan struct{} // closed by watch when the pods that there are at first have been seen; may be nil
	ending chan struct{} // closed by the user when what was logged so far is all that is wanted; may be nil

	mu      sync.Mutex
	pods    map[object.Ref]*tailedPod
	over    bool // no pod is begun with any more
	running sync.WaitGroup
}

// watch tails the pods that a selector selects: in all namespaces or, where that is not allowed, in these. Without follow it
// returns when what there is was told, else when the context ends, or at the end and what was logged so far is told.
func (t *logTail) watch(ctx context.Context, selector string, namespaces []string) {
	t.pods = map[object.Ref]*tailedPod{}
	err := t.survey(ctx, selector, "")
	var refused []string
	if apierrors.IsForbidden(err) {
		refused, err = t.surveyEach(ctx, selector, namespaces)
	}
	if err != nil && ctx.Err() == nil {
		t.logs.UI.Block(fmt.Sprintf("Pod watching error: %v\n", err))
	}
	if len(refused) > 0 {
		t.logs.UI.Block("Pod watching error: pods is forbidden: User cannot list resource \"pods\" in API group \"\" in the namespace(s) " +
			strings.Join(refused, ", ") + "\n")
	}
	if t.listed != nil {
		close(t.listed)
	}
	if t.follow {
		select {
		case <-ctx.Done():
		case <-t.ending:
		}
	}
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.running.Wait()
}

// survey begins to see the pods of a namespace, and gives the reason for which they cannot be seen.
func (t *logTail) survey(ctx context.Context, selector, namespace string) error {
	listed := make(chan error, 1)
	t.client.WatchQuery(ctx, cluster.Query{Kind: podKind, Namespace: namespace, Labels: selector, Once: !t.follow}, func(s cluster.ObjectEvent) {
		if s.Listed {
			listed <- s.Err
			return
		}
		t.see(ctx, s.Ref, s.Object)
	})
	select {
	case err := <-listed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// surveyEach does that in several namespaces. Those where it is not allowed are given in quotes.
func (t *logTail) surveyEach(ctx context.Context, selector string, namespaces []string) (refused []string, failed error) {
	errs := make([]error, len(namespaces))
	var all sync.WaitGroup
	for i, namespace := range namespaces {
		all.Go(func() { errs[i] = t.survey(ctx, selector, namespace) }) // they are waited for below
	}
	all.Wait()
	for i, err := range errs {
		switch {
		case apierrors.IsForbidden(err):
			refused = append(refused, fmt.Sprintf("%q", namespaces[i]))
		case err != nil:
			failed = err
		}
	}
	return refused, failed
}

// see takes in how a pod is now; nil if it is gone. One that is new is tailed.
func (t *logTail) see(ctx context.Context, ref object.Ref, pod live) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.pods[ref]
	if known != nil && (pod == nil || pod.GetUID() != known.uid) {
		known.see(nil)
		delete(t.pods, ref)
		known = nil
	}
	switch {
	case known != nil:
		known.see(pod)
		return
	case pod == nil || t.over:
		return
	}
	patterns, ok := t.picks(pod)
	if !ok {
		return
	}
	p := &tailedPod{ref: ref, uid: pod.GetUID(), pod: pod, news: make(chan struct{})}
	t.pods[ref] = p
	for _, name := range containersOf(pod) {
		if len(patterns) == 0 || slices.ContainsFunc(patterns, func(pattern string) bool { return filter.MatchPattern(pattern, name) }) {
			t.running.Go(func() { t.tail(ctx, p, name) }) // watch waits for it
		}
	}
}

const (
	triesEvery   = 500 * time.Millisecond // how often it is tried to read a log that should be there
	resumesAfter = time.Second            // how long after the end of a log it is looked whether there is another
	lastWords    = time.Second            // how long a log that was just begun is read at the end
	silence      = 100 * time.Millisecond
)

// tail tells the log of a container, from the moment at which it runs, and of its further runs.
func (t *logTail) tail(ctx context.Context, p *tailedPod, container string) {
	tag := p.ref.Name + " > " + container
	noted, ended := false, false
	read := "" // the run of the container that was read last
	for since := (time.Time{}); ctx.Err() == nil; {
		pod, news := p.look()
		if pod == nil {
			return
		}
		run, runs := runOf(pod, container)
		if run != read {
			since = time.Time{}
		}
		readable := runs || t.follow && run != "" && run != read
		told := readable && t.read(ctx, p.ref, container, tag, since)
		switch {
		case told && !t.follow:
			t.logs.Note(fmt.Sprintf("ending tailing '%s' logs", tag))
			return
		case told && !t.isEnding():
			t.logs.Note(fmt.Sprintf("container stopped '%s' logs", tag))
			read, since = run, time.Now()
			t.pause(ctx, resumesAfter)
			continue
		case told || ended:
			return
		case !noted:
			t.logs.Note(fmt.Sprintf("waiting for '%s' logs to become available...", tag))
			if noted = true; !t.follow {
				return
			}
		}
		var again <-chan time.Time
		if readable {
			again = time.After(triesEvery)
		}
		select {
		case <-news:
		case <-again:
		case <-t.ending:
			ended = true
			t.lookAnew(ctx, p) // it may have begun to run just now
		case <-ctx.Done():
		}
	}
}

func (t *logTail) isEnding() bool {
	select {
	case <-t.ending:
		return true
	default:
		return false
	}
}

// pause waits, or until the end.
func (t *logTail) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ending:
	case <-ctx.Done():
	}
}

// read tells what is logged until the log ends. It reports false if there is no log to be read.
func (t *logTail) read(ctx context.Context, pod object.Ref, container, tag string, since time.Time) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := t.client.StreamLog(ctx, pod, container, cluster.LogOptions{Follow: t.follow && !t.isEnding(), Lines: t.lines, Since: since})
	if err != nil {
		return false
	}
	defer stream.Close()
	t.logs.Note(fmt.Sprintf("starting tailing '%s' logs", tag))
	heard := make(chan struct{}, 1)
	go t.hush(ctx, cancel, heard) // it ends with the context
	for reader := bufio.NewReader(stream); ; {
		line, err := reader.ReadString('\n')
		if line != "" {
			t.logs.Line(tag, line)
			select {
			case heard <- struct{}{}:
			default:
			}
		}
		if err != nil {
			if err != io.EOF && ctx.Err() == nil {
				t.logs.Note(fmt.Sprintf("reading '%s' logs: %v", tag, err))
			}
			return true
		}
	}
}

// hush ends the reading of a log at the end, when nothing more comes of what was logged before.
func (t *logTail) hush(ctx context.Context, stop func(), heard <-chan struct{}) {
	select {
	case <-t.ending:
	case <-ctx.Done():
		return
	}
	defer stop()
	limit := time.NewTimer(lastWords)
	defer limit.Stop()
	quiet := silence
	if len(heard) == 0 {
		quiet = lastWords
	}
	for {
		select {
		case <-heard:
			quiet = silence
		case <-time.After(quiet):
			return
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
