package apps

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

	"github.com/muster-deploy/muster/internal/apps/filter"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// logTail reads the logs of an app's pods, each container in a goroutine of its own.
type logTail struct {
	cluster Cluster
	printer LogPrinter
	now     func() time.Time
	follow  bool
	lines   int // of older lines; zero or less for all
	// choose returns patterns of container names, none for all; not ok for a pod that is ignored.
	choose func(pod liveObject) (patterns []string, ok bool)

	listed chan struct{} // run closes it once it has listed the pods; may be nil
	ending chan struct{} // the caller closes it when later lines do not matter; may be nil

	mu      sync.Mutex
	pods    map[object.Ref]*logPod
	over    bool // new pods are ignored
	running sync.WaitGroup
}

// run prints the logs of selected pods: in all namespaces or, where the user may not list these, in
// the given ones. Without follow it returns after the present lines, else when the context ends or
// the caller closes ending.
func (t *logTail) run(ctx context.Context, selector string, namespaces []string) {
	t.pods = map[object.Ref]*logPod{}
	err := t.watchPods(ctx, selector, "")
	var forbidden []string
	if apierrors.IsForbidden(err) {
		forbidden, err = t.watchNamespaces(ctx, selector, namespaces)
	}
	if err != nil && ctx.Err() == nil {
		t.printer.Block(fmt.Sprintf("Pod watching error: %v\n", err))
	}
	if len(forbidden) > 0 {
		t.printer.Block("Pod watching error: pods is forbidden: " +
			"User cannot list resource \"pods\" in API group \"\" in the namespace(s) " +
			strings.Join(forbidden, ", ") + "\n")
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

// watchPods starts to watch the pods of a namespace. It returns once it has listed them, with the
// error of the list.
func (t *logTail) watchPods(ctx context.Context, selector, namespace string) error {
	listed := make(chan error, 1)
	query := cluster.Query{Kind: podKind, Namespace: namespace, Labels: selector, Once: !t.follow}
	t.cluster.WatchQuery(ctx, query, func(e cluster.ObjectEvent) {
		if e.Listed {
			listed <- e.Err
			return
		}
		t.observe(ctx, e.Ref, e.Object)
	})
	select {
	case err := <-listed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// watchNamespaces starts to watch the pods of several namespaces. It returns the quoted names of
// those in which the user may not list pods.
func (t *logTail) watchNamespaces(
	ctx context.Context, selector string, namespaces []string,
) (forbidden []string, failed error) {
	errs := make([]error, len(namespaces))
	var all sync.WaitGroup
	for i, namespace := range namespaces {
		// Wait below waits for it
		all.Go(func() { errs[i] = t.watchPods(ctx, selector, namespace) })
	}
	all.Wait()
	for i, err := range errs {
		switch {
		case apierrors.IsForbidden(err):
			forbidden = append(forbidden, fmt.Sprintf("%q", namespaces[i]))
		case err != nil:
			failed = err
		}
	}
	return forbidden, failed
}

// observe takes the state of a pod; nil if it is gone. It starts to read the logs of a new pod.
func (t *logTail) observe(ctx context.Context, ref object.Ref, pod liveObject) {
	t.mu.Lock()
	defer t.mu.Unlock()
	known := t.pods[ref]
	if known != nil && (pod == nil || pod.GetUID() != known.uid) {
		known.update(nil)
		delete(t.pods, ref)
		known = nil
	}
	switch {
	case known != nil:
		known.update(pod)
		return
	case pod == nil || t.over:
		return
	}
	patterns, ok := t.choose(pod)
	if !ok {
		return
	}
	p := &logPod{ref: ref, uid: pod.GetUID(), pod: pod, changed: make(chan struct{})}
	t.pods[ref] = p
	for _, name := range containerNames(pod) {
		matches := func(pattern string) bool { return filter.MatchPattern(pattern, name) }
		if len(patterns) == 0 || slices.ContainsFunc(patterns, matches) {
			t.running.Go(func() { t.tail(ctx, p, name) }) // run waits for it
		}
	}
}

const (
	logRetryInterval = 500 * time.Millisecond // between attempts to open a log
	// between the end of a log and the search for the next
	logRestartDelay = time.Second
	logFirstLine    = time.Second            // to wait for the first line of a log at the end
	logSilence      = 100 * time.Millisecond // to wait for each further line at the end
)

// tail prints the log of a container once it runs, and the logs of its restarts.
func (t *logTail) tail(ctx context.Context, p *logPod, container string) {
	tag := p.ref.Name + " > " + container
	noted, ended := false, false
	read := "" // the run of the container that was read last
	for since := (time.Time{}); ctx.Err() == nil; {
		pod, changed := p.state()
		if pod == nil {
			return
		}
		run, running := containerRun(pod, container)
		if run != read {
			since = time.Time{}
		}
		readable := running || t.follow && run != "" && run != read
		printed := readable && t.read(ctx, p.ref, container, tag, since)
		switch {
		case printed && !t.follow:
			t.printer.Note(fmt.Sprintf("ending tailing '%s' logs", tag))
			return
		case printed && !t.isEnding():
			t.printer.Note(fmt.Sprintf("container stopped '%s' logs", tag))
			read, since = run, t.now()
			t.pause(ctx, logRestartDelay)
			continue
		case printed || ended:
			return
		case !noted:
			t.printer.Note(fmt.Sprintf("waiting for '%s' logs to become available...", tag))
			if noted = true; !t.follow {
				return
			}
		}
		var retry <-chan time.Time
		if readable {
			retry = time.After(logRetryInterval)
		}
		select {
		case <-changed:
		case <-retry:
		case <-t.ending:
			ended = true
			t.reread(ctx, p) // it may have started just now
		case <-ctx.Done():
		}
	}
}

// isEnding reports whether the caller has closed ending.
func (t *logTail) isEnding() bool {
	select {
	case <-t.ending:
		return true
	default:
		return false
	}
}

// pause waits for a duration, or until the end.
func (t *logTail) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.ending:
	case <-ctx.Done():
	}
}

// read prints a log to its end. It reports false if the log cannot be opened.
func (t *logTail) read(
	ctx context.Context, pod object.Ref, container, tag string, since time.Time,
) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := cluster.LogOptions{Follow: t.follow && !t.isEnding(), Lines: t.lines, Since: since}
	stream, err := t.cluster.StreamLog(ctx, pod, container, options)
	if err != nil {
		return false
	}
	defer stream.Close()
	t.printer.Note(fmt.Sprintf("starting tailing '%s' logs", tag))
	received := make(chan struct{}, 1)
	go t.stopWhenSilent(ctx, cancel, received) // it ends with the context
	for reader := bufio.NewReader(stream); ; {
		line, err := reader.ReadString('\n')
		if line != "" {
			t.printer.Line(tag, line)
			select {
			case received <- struct{}{}:
			default:
			}
		}
		if err != nil {
			if err != io.EOF && ctx.Err() == nil {
				t.printer.Note(fmt.Sprintf("reading '%s' logs: %v", tag, err))
			}
			return true
		}
	}
}

// stopWhenSilent stops the reading of a log once the caller has closed ending and no further lines
// arrive.
func (t *logTail) stopWhenSilent(ctx context.Context, stop func(), received <-chan struct{}) {
	select {
	case <-t.ending:
	case <-ctx.Done():
		return
	}
	defer stop()
	limit := time.NewTimer(logFirstLine)
	defer limit.Stop()
	silence := logSilence
	if len(received) == 0 {
		silence = logFirstLine
	}
	for {
		select {
		case <-received:
			silence = logSilence
		case <-time.After(silence):
			return
		case <-limit.C:
			return
		case <-ctx.Done():
			return
		}
	}
}
