// Package podlogs reads the logs of many pods at once: those that exist and, on request, those that
// come, through the restarts of their containers.
package podlogs

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/cluster"
	"github.com/muster-deploy/muster/internal/object"
)

// PodKind is the kind of pods.
var PodKind = schema.GroupKind{Kind: "Pod"}

// Container is a container of a pod.
type Container struct {
	Pod  object.Ref
	Name string
}

// Event is what happens with the log of a container besides its lines.
type Event string

// The events of a log.
const (
	Waiting Event = "waiting" // there is nothing to read yet
	Started Event = "started"
	Stopped Event = "stopped" // the container has, and may start again
	Ended   Event = "ended"   // all that was asked for was read
	Broken  Event = "broken"  // the log broke off
	Refused Event = "refused" // the log that was waited for must not be read
	Absent  Event = "absent"  // the container was not restarted, so that it has no previous log
)

// Printer prints the logs of containers. Its functions are called from several goroutines.
type Printer interface {
	// Event prints what happens with a log. Waiting, Refused and Broken may have an error.
	Event(c Container, e Event, err error)
	// Line prints a line of a log. Only the last one may lack its newline.
	Line(c Container, text string)
}

// Tail reads the logs of pods, each container in a goroutine of its own.
type Tail struct {
	Cluster cluster.Reader
	Printer Printer
	Now     func() time.Time
	// Choose returns which containers of a pod are read, and whether any are. Several goroutines call
	// it.
	Choose func(
		ctx context.Context, pod *unstructured.Unstructured,
	) (chosen func(container string) bool, ok bool)

	Log cluster.LogOptions // what is read of each log; with Follow, also of pods that come later
	// Complete reads the logs of containers that have ended too, and all that containers write that
	// start after Run has listed the pods. Else Log limits that as well.
	Complete bool

	Listed chan struct{} // Run closes it once it has listed the pods; may be nil
	Ending chan struct{} // the caller closes it when later lines do not matter; may be nil

	mu      sync.Mutex
	pods    map[object.Ref]*podState
	late    bool // the pods that were there are listed
	over    bool // new pods are ignored
	running sync.WaitGroup
}

// Selection is which pods are observed.
type Selection struct {
	Labels     string // a selector
	Everywhere bool   // in all namespaces, unless that is forbidden
	Namespaces []string
}

// ForbiddenError reports namespaces in which the user may not list pods.
type ForbiddenError struct{ Namespaces []string }

func (e *ForbiddenError) Error() string {
	quoted := make([]string, len(e.Namespaces))
	for i, namespace := range e.Namespaces {
		quoted[i] = fmt.Sprintf("%q", namespace)
	}
	return "pods is forbidden: User cannot list resource \"pods\" in API group \"\" in the " +
		"namespace(s) " + strings.Join(quoted, ", ")
}

// Run prints the logs of the selected pods. Without Follow it returns after the present lines, else
// when the context ends or the caller closes Ending. The errors are those of listing pods, as soon
// as they occur: failed receives them.
func (t *Tail) Run(ctx context.Context, s Selection, failed func(error)) {
	t.pods = map[object.Ref]*podState{}
	errs := []error(nil)
	if s.Everywhere {
		errs = []error{t.watchPods(ctx, s.Labels, "")}
	}
	if !s.Everywhere || apierrors.IsForbidden(errs[0]) {
		errs = t.watchNamespaces(ctx, s.Labels, s.Namespaces)
	}
	for _, err := range errs {
		if err != nil && ctx.Err() == nil {
			failed(err)
		}
	}
	t.mu.Lock()
	t.late = true
	t.mu.Unlock()
	if t.Listed != nil {
		close(t.Listed)
	}
	if t.Log.Follow {
		select {
		case <-ctx.Done():
		case <-t.Ending:
		}
	}
	t.mu.Lock()
	t.over = true
	t.mu.Unlock()
	t.running.Wait()
}

// watchPods starts to watch the pods of a namespace. It returns once it has listed them, with the
// error of the list.
func (t *Tail) watchPods(ctx context.Context, selector, namespace string) error {
	listed := make(chan error, 1)
	query := cluster.Query{Kind: PodKind, Namespace: namespace, Labels: selector, Once: !t.Log.Follow}
	t.Cluster.WatchQuery(ctx, query, func(e cluster.ObjectEvent) {
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

// watchNamespaces starts to watch the pods of several namespaces. One of the errors is a
// *ForbiddenError if the user may not list pods in some of them.
func (t *Tail) watchNamespaces(ctx context.Context, selector string, namespaces []string) []error {
	errs := make([]error, len(namespaces))
	var all sync.WaitGroup
	for i, namespace := range namespaces {
		// Wait below waits for it
		all.Go(func() {
			defer crash.Catch(ctx)
			errs[i] = t.watchPods(ctx, selector, namespace)
		})
	}
	all.Wait()
	forbidden := &ForbiddenError{}
	for i, err := range errs {
		if apierrors.IsForbidden(err) {
			forbidden.Namespaces = append(forbidden.Namespaces, namespaces[i])
			errs[i] = nil
		}
	}
	if len(forbidden.Namespaces) > 0 {
		errs = append(errs, forbidden)
	}
	return errs
}

// observe takes the state of a pod; nil if it is gone. It starts to read the logs of a new pod.
func (t *Tail) observe(ctx context.Context, ref object.Ref, pod *unstructured.Unstructured) {
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
	p := &podState{
		ref: ref, uid: pod.GetUID(), late: t.late, pod: pod, changed: make(chan struct{}),
	}
	t.pods[ref] = p
	t.running.Go(func() { // Run waits for it
		defer crash.Catch(ctx)
		chosen, ok := t.Choose(ctx, pod)
		if !ok {
			t.forget(p)
			return
		}
		for _, name := range containerNames(pod) {
			if chosen(name) {
				t.running.Go(func() { // Run waits for it
					defer crash.Catch(ctx)
					t.tail(ctx, p, Container{ref, name})
				})
			}
		}
	})
}

// forget lets the next state of a pod be looked at again.
func (t *Tail) forget(p *podState) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pods[p.ref] == p {
		delete(t.pods, p.ref)
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
func (t *Tail) tail(ctx context.Context, p *podState, c Container) {
	noted, refused, ended := false, false, false
	read := "" // the run of the container that was read last
	for since := t.Log.Since; ctx.Err() == nil; {
		pod, changed := p.state()
		if pod == nil {
			return
		}
		if t.Log.Previous && !wasRestarted(pod, c.Name) {
			t.Printer.Event(c, Absent, nil)
			return
		}
		run, running := containerRun(pod, c.Name, t.Complete)
		if run != read && read != "" {
			since = time.Time{}
		}
		readable := running || t.Log.Previous || (t.Log.Follow || t.Complete) && run != "" && run != read
		options := t.Log
		options.Follow, options.Since = t.Log.Follow && !t.isEnding(), since
		if t.Complete && (p.late || read != "") {
			options.Lines = nil
		}
		var err error
		if readable {
			err = t.read(ctx, c, options)
		}
		printed := readable && err == nil
		switch {
		case printed && !t.Log.Follow:
			t.Printer.Event(c, Ended, nil)
			return
		case printed && !t.isEnding():
			t.Printer.Event(c, Stopped, nil)
			read, since = run, t.Now()
			t.pause(ctx, logRestartDelay)
			continue
		case printed || ended:
			return
		case !noted:
			t.Printer.Event(c, Waiting, err)
			if noted, refused = true, err != nil; !t.Log.Follow {
				return
			}
		case apierrors.IsForbidden(err) && !refused:
			t.Printer.Event(c, Refused, err)
			refused = true
		}
		var retry <-chan time.Time
		if readable {
			retry = time.After(logRetryInterval)
		}
		select {
		case <-changed:
		case <-retry:
		case <-t.Ending:
			ended = true
			t.reread(ctx, p) // it may have started just now
		case <-ctx.Done():
		}
	}
}

// isEnding reports whether the caller has closed ending.
func (t *Tail) isEnding() bool {
	select {
	case <-t.Ending:
		return true
	default:
		return false
	}
}

// pause waits for a duration, or until the end.
func (t *Tail) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Ending:
	case <-ctx.Done():
	}
}

// read prints a log to its end. The error is that of opening it.
func (t *Tail) read(ctx context.Context, c Container, options cluster.LogOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := t.Cluster.StreamLog(ctx, c.Pod, c.Name, options)
	if err != nil {
		return err
	}
	defer stream.Close()
	t.Printer.Event(c, Started, nil)
	received := make(chan struct{}, 1)
	go t.stopWhenSilent(ctx, cancel, received) // it ends with the context
	for reader := bufio.NewReader(stream); ; {
		line, err := reader.ReadString('\n')
		if line != "" {
			t.Printer.Line(c, line)
			select {
			case received <- struct{}{}:
			default:
			}
		}
		if err != nil {
			if err != io.EOF && ctx.Err() == nil {
				t.Printer.Event(c, Broken, err)
			}
			return nil
		}
	}
}

// stopWhenSilent stops the reading of a log once the caller has closed ending and no further lines
// arrive.
func (t *Tail) stopWhenSilent(ctx context.Context, stop func(), received <-chan struct{}) {
	select {
	case <-t.Ending:
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
