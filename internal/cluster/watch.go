package cluster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/muster-deploy/muster/internal/base/crash"
	"github.com/muster-deploy/muster/internal/object"
)

// pollPeriod is how often objects are read where watches are forbidden. The server ends a watch
// after watchPeriod, and it is resumed. A watch from which nothing has come for silentPeriod is
// replaced by a new list. One that has lasted for longPeriod had no fault of its own.
const (
	pollPeriod   = 2 * time.Second
	watchPeriod  = 3 * time.Minute
	silentPeriod = watchPeriod + 30*time.Second
	longPeriod   = 10 * time.Second
)

// ObjectEvent is the state of one object, or a change of it.
type ObjectEvent struct {
	Ref     object.Ref
	Object  *unstructured.Unstructured // nil if it does not exist
	Version string                     // the resource version at which it was missing
	// why the objects of the watch cannot be read at present; the watch retries
	Err error
	// of no object: a query has reported all existing objects, or failed with Err
	Listed bool
	Over   bool // a query that failed does not try again
}

// Watch reports changes of the refs, which are all of one kind, until the context ends. It starts
// at the version at which Read listed them; refs that were not listed are listed first. It returns
// at once; handle is called by one goroutine at a time. Refs of several namespaces are watched in
// all namespaces at once, or in each if that is forbidden. A broken watch is resumed, and one that
// fell too far behind starts with a new list. If watches are forbidden, the objects are polled.
func (c *Client) Watch(ctx context.Context, refs []object.Ref, handle func(ObjectEvent)) {
	if len(refs) == 0 {
		return
	}
	w := &watcher{client: c, kind: refs[0].GroupKind(), refs: refs, handle: handle}
	w.batch = &batch{namespace: refs[0].Namespace, names: map[name]object.Ref{}}
	for _, ref := range refs {
		w.batch.names[nameOf(ref)] = ref
		if ref.Namespace != w.batch.namespace {
			w.batch.namespace = ""
		}
	}
	// Nobody waits for this goroutine: it ends with the context.
	go func() {
		defer crash.Catch(ctx)
		w.run(ctx)
	}()
}

// watcher is one watch of one kind, in a namespace or in all.
type watcher struct {
	client *Client
	kind   schema.GroupKind
	refs   []object.Ref
	batch  *batch
	query  *queryState // nil if the refs are watched
	handle func(ObjectEvent)
	stop   context.CancelCauseFunc // ends the stream with a cause
	opened chan struct{}           // receives a value when a stream was opened
	mu     sync.Mutex              // held during handle: streams are opened on another goroutine
}

// run watches from the version of the last list.
func (w *watcher) run(ctx context.Context) {
	kind, err := w.client.Kind(ctx, w.kind)
	if err != nil {
		w.fail(err)
		return
	}
	w.batch.resource = kind.Resource
	w.watchFrom(ctx, w.client.watchVersion(w.batch.resource.GroupResource(), w.refs))
}

// watchFrom watches from a version, or from a list if there is none, until the context ends.
func (w *watcher) watchFrom(ctx context.Context, version string) {
	var err error
	w.opened = make(chan struct{})
	delay, expired := newDelay(), false
	for ctx.Err() == nil {
		if version == "" {
			version, err = w.list(ctx)
		}
		if version != "" && w.query.ends() {
			return
		}
		if version != "" {
			began := time.Now()
			err = w.follow(ctx, version)
			version = ""
			if time.Since(began) > longPeriod {
				delay, expired = newDelay(), false
			}
		}
		refused := apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
		if err != nil {
			w.listed(w.client.explain(err), refused) // a query cannot see its objects
		}
		switch {
		case ctx.Err() != nil:
			return
		case w.query != nil && refused:
			return
		case w.batch.several() && refused:
			w.divide(ctx)
			return
		case refused:
			w.poll(ctx)
			return
		case !expired && isExpired(err):
			expired = true
			continue
		case isExpired(err): // the new version, too
		case err != nil && !isNotServed(err):
			w.fail(err)
		}
		pause(ctx, max(delay.Step(), min(askedDelay(err), maxDelay)))
	}
}

// newDelay returns the pauses between the attempts to watch.
func newDelay() wait.Backoff {
	return wait.Backoff{
		Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 6, Cap: pollPeriod,
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// fail reports, for all objects by the first of them, that they cannot be seen at present. A query
// does not report that.
func (w *watcher) fail(err error) {
	if w.query == nil {
		w.emit(ObjectEvent{Ref: w.refs[0], Err: w.client.explain(err)})
	}
}

// list reports the present state of all refs and returns the version from which to watch.
func (w *watcher) list(ctx context.Context) (version string, err error) {
	found := map[object.Ref]bool{}
	options, page := w.selected(metav1.ListOptions{}), int64(pageSize)
	if w.query != nil {
		page = queryPage
	}
	err = eachPage(page, func(token string, size int64) (next string, err error) {
		options.Continue, options.Limit = token, size
		var list *unstructured.UnstructuredList
		err = w.client.whenAsked(ctx, func() (err error) {
			list, err = w.client.of(w.batch.resource, w.batch.namespace, false).List(ctx, options)
			return err
		})
		if err != nil {
			return "", err
		}
		if token == "" {
			clear(found)
		}
		for i := range list.Items {
			if ref, ok := w.refOf(&list.Items[i]); ok {
				found[ref] = true
				w.emit(ObjectEvent{Ref: ref, Object: &list.Items[i]})
			}
		}
		version = list.GetResourceVersion()
		return list.GetContinue(), nil
	})
	if err != nil {
		return "", err
	}
	for _, ref := range w.expected() {
		if !found[ref] {
			w.emit(ObjectEvent{Ref: ref, Version: version})
		}
	}
	w.listed(nil, false)
	return version, nil
}

// follow reports changes from a version on. It returns the reason why the watch cannot be resumed,
// or nil if there was none or the watch was silent for too long.
func (w *watcher) follow(ctx context.Context, version string) error {
	ctx, w.stop = context.WithCancelCause(ctx)
	defer w.stop(nil)
	silence := time.NewTimer(silentPeriod)
	defer silence.Stop()
	stream, err := watchtools.NewRetryWatcherWithContext(ctx, version, w)
	if err != nil {
		return err
	}
	defer stream.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-silence.C:
			return nil
		case <-w.opened:
			silence.Reset(silentPeriod)
		case change, ok := <-stream.ResultChan():
			if !ok {
				return context.Cause(ctx)
			}
			if change.Type == watch.Error {
				return apierrors.FromObject(change.Object)
			}
			w.report(change)
			silence.Reset(silentPeriod)
		}
	}
}

func (w *watcher) report(change watch.Event) {
	obj, ok := change.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	ref, ok := w.refOf(obj)
	if !ok {
		return
	}
	if change.Type == watch.Deleted {
		w.emit(ObjectEvent{Ref: ref, Version: obj.GetResourceVersion()})
		return
	}
	w.emit(ObjectEvent{Ref: ref, Object: obj})
}

// WatchWithContext opens one stream for the library, which resumes broken streams. The library
// retries every error silently: this method reports an unreachable server and ends the watch where
// a retry is useless.
func (w *watcher) WatchWithContext(
	ctx context.Context, options metav1.ListOptions,
) (watch.Interface, error) {
	options.TimeoutSeconds = new(int64(watchPeriod / time.Second))
	var stream watch.Interface
	err := w.client.whenAsked(ctx, func() (err error) {
		stream, err = w.client.of(w.batch.resource, w.batch.namespace, false).Watch(ctx,
			w.selected(options))
		return err
	})
	delayed := (*DelayError)(nil)
	switch explained := w.client.explain(err); {
	case ctx.Err() != nil:
	case err == nil:
		select {
		case w.opened <- struct{}{}:
		case <-ctx.Done():
		}
	case explained != err:
		w.fail(explained)
	case errors.As(err, &delayed), // else the library asks again at once
		apierrors.IsMethodNotSupported(err),
		isExpired(err),
		isNotServed(err):
		w.stop(err)
	}
	return stream, err
}

// selected adds the selectors of the query, or the name of a single object, to list options.
func (w *watcher) selected(options metav1.ListOptions) metav1.ListOptions {
	if w.query != nil {
		options.LabelSelector, options.FieldSelector = w.query.Labels, w.query.Fields
		return options
	}
	if len(w.refs) == 1 {
		options.FieldSelector = fields.OneTermEqualSelector(
			"metadata.name", w.refs[0].Name,
		).String()
	}
	return options
}

// divide watches each namespace of the refs by itself.
func (w *watcher) divide(ctx context.Context) {
	for _, part := range w.batch.divided(w.batch.names) {
		w.client.Watch(ctx, slices.Collect(maps.Values(part.names)), w.emit)
	}
}

// poll reads the objects every pollPeriod.
func (w *watcher) poll(ctx context.Context) {
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		for _, ref := range w.refs {
			var obj *unstructured.Unstructured
			err := w.client.whenAsked(ctx, func() (err error) {
				obj, err = w.client.of(w.batch.resource, w.batch.namespace, false).
					Get(ctx, ref.Name, metav1.GetOptions{})
				return err
			})
			switch {
			case ctx.Err() != nil:
				return
			case apierrors.IsNotFound(err):
				w.emit(ObjectEvent{Ref: ref})
			case err != nil:
				w.emit(ObjectEvent{Ref: ref, Err: w.client.explain(err)})
			default:
				w.emit(ObjectEvent{Ref: ref, Object: obj})
			}
		}
	}, pollPeriod)
}
