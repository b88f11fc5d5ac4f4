package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
)

// The limits of one call: transient errors are retried with backoff for about 6 seconds, unless the
// server has taken maxWaited to answer so, and answers with Retry-After as often as maxThrottled,
// each after the delay that the server asks for, up to maxDelay each time and maxDelays in all.
// It waits maxUncached in all while the server fails to list a kind for its own cache: that may
// never end, and all commands that look at every kind would wait for it.
// After an internal error a read or a deletion is retried only while there were fewer than
// maxInternal retries: some such errors never end, as those of a kind whose stored objects cannot
// be decoded.
const (
	maxAttempts  = 8
	maxWaited    = 90 * time.Second
	maxThrottled = 30
	maxDelay     = time.Minute
	maxDelays    = 3 * time.Minute
	maxUncached  = 10 * time.Second
	maxInternal  = 3
)

// DelayError reports that the server asks to wait longer before a request than this client waits.
type DelayError struct {
	Delay  time.Duration // that the server asks for
	Waited time.Duration // how long the request has waited before, at the server's wish
	Last   error         // the answer of the server
}

func (e *DelayError) Error() string {
	if e.Waited == 0 {
		return fmt.Sprintf("the server asks to wait %s, which is longer than this program waits: %v",
			e.Delay, e.Last)
	}
	return fmt.Sprintf("the server asks to wait %s, after %s of such waits: %v", e.Delay, e.Waited,
		e.Last)
}

// Unwrap returns the answer of the server.
func (e *DelayError) Unwrap() error { return e.Last }

// askedDelay returns how long the server asks to wait before the request is sent again; 0 if it
// does not ask for that.
func askedDelay(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(min(max(seconds, 0), maxSeconds)) * time.Second
}

// maxSeconds is the longest delay that is read: a few centuries do not fit into a time.Duration.
const maxSeconds = 1 << 31

// finishKey is the context key of the channel that is closed when no request is repeated any more.
type finishKey struct{}

// Finish returns a context for requests that the end of ctx does not break off. Once grace has
// passed after that end, no request is repeated: a request whose last attempt has failed returns an
// *InterruptedError instead of waiting for the next one.
func Finish(ctx context.Context, grace time.Duration) context.Context {
	over := ctx
	if grace > 0 {
		late, end := context.WithCancel(context.WithoutCancel(ctx))
		context.AfterFunc(ctx, func() { time.AfterFunc(grace, end) })
		over = late
	}
	return context.WithValue(context.WithoutCancel(ctx), finishKey{}, over.Done())
}

// InterruptedError is the error of a request that was not sent, or not sent again, because of an
// interrupt. It is a context.Canceled.
type InterruptedError struct {
	Last   error // of the last attempt, or of the guard
	Unsent bool  // the guard has not permitted an attempt
}

func (e *InterruptedError) Error() string {
	if e.Unsent {
		return "interrupted before the request was sent: " + e.Last.Error()
	}
	return "interrupted before the request was repeated: " + e.Last.Error()
}

// Unwrap returns the last error.
func (e *InterruptedError) Unwrap() error { return e.Last }

// Is reports true for context.Canceled.
func (e *InterruptedError) Is(target error) bool { return target == context.Canceled }

// retry repeats a request until its answer is final or a limit is reached, and returns the last
// error. Besides what is transient it retries more. No other code repeats the request: see
// sentOnce.
func (c *Client) retry(ctx context.Context, send func() error, more ...answer) error {
	backoff := wait.Backoff{
		Duration: 50 * time.Millisecond,
		Factor:   2,
		Jitter:   0.1,
		Steps:    maxAttempts,
	}
	return c.repeat(ctx, send, func(err error, waited time.Duration) (time.Duration, bool) {
		if backoff.Steps > 1 && waited < maxWaited &&
			(transient(err) || among(more, err) ||
				apierrors.IsInternalError(err) && backoff.Steps > maxAttempts-maxInternal) {
			return backoff.Step(), true
		}
		return 0, false
	})
}

// whenAsked sends a request, and repeats it only if the server asks for that.
func (c *Client) whenAsked(ctx context.Context, send func() error) error {
	return c.repeat(ctx, send, func(error, time.Duration) (time.Duration, bool) { return 0, false })
}

// repeat repeats a request after the delay that the server asks for, within limits, and after the
// pause for other errors, if they are to be retried. Waited is how long the server took to answer
// in all. A request whose credentials are refused is sent once more, if a plugin renews them: the
// library calls it after the refusal, and uses its credentials for the next request.
func (c *Client) repeat(
	ctx context.Context, send func() error,
	pauseAfter func(err error, waited time.Duration) (pause time.Duration, retried bool),
) error {
	var waited, delayed time.Duration
	renewed := !c.renews
	for throttled := 0; ; {
		began := time.Now()
		err := send()
		if err == nil {
			return nil
		}
		waited += time.Since(began)
		delay := askedDelay(err)
		switch {
		case delay > maxDelay || delayed+delay > maxDelays,
			delay > 0 && delayed+delay > maxUncached && among(uncached, err):
			return &DelayError{Delay: delay, Waited: delayed, Last: err}
		case delay > 0 && throttled == maxThrottled:
			return err
		case delay > 0:
			throttled++
			delayed += delay
		case !renewed && apierrors.IsUnauthorized(err):
			renewed = true
		default:
			var retried bool
			if delay, retried = pauseAfter(err, waited); !retried {
				return err
			}
		}
		if end, ok := ctx.Deadline(); ok && time.Until(end) < delay {
			return err
		}
		if err := pauseBefore(ctx, delay, err); err != nil {
			return err
		}
	}
}

// pauseBefore waits before a request is repeated. It returns the last error of the request if that
// must not be: because the context has ended, or that of Finish.
func pauseBefore(ctx context.Context, d time.Duration, last error) error {
	over, _ := ctx.Value(finishKey{}).(<-chan struct{})
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	case <-over:
	}
	select {
	case <-over:
		return &InterruptedError{Last: last}
	case <-ctx.Done():
		return last
	default:
		return nil
	}
}

// sentOnce is a REST client whose requests the library does not repeat, so that the limits of retry
// hold.
type sentOnce struct{ rest.Interface }

// Get returns a GET request.
func (s sentOnce) Get() *rest.Request { return s.Interface.Get().MaxRetries(0) }

// Post returns a POST request.
func (s sentOnce) Post() *rest.Request { return s.Interface.Post().MaxRetries(0) }

// Put returns a PUT request.
func (s sentOnce) Put() *rest.Request { return s.Interface.Put().MaxRetries(0) }

// Delete returns a DELETE request.
func (s sentOnce) Delete() *rest.Request { return s.Interface.Delete().MaxRetries(0) }

// Patch returns a PATCH request.
func (s sentOnce) Patch(pt types.PatchType) *rest.Request {
	return s.Interface.Patch(pt).MaxRetries(0)
}

// getWithRetry repeats a read while its error is transient. Here a path that is not served is a
// final answer.
func getWithRetry[T any](
	ctx context.Context, c *Client, ask func() (T, error),
) (answer T, err error) {
	var none error
	err = c.retry(ctx, func() (err error) {
		if answer, err = ask(); isNotServed(err) {
			none, err = err, nil
		}
		return err
	})
	if none != nil {
		err = none
	}
	return answer, err
}

// transient reports whether the same request may succeed a moment later.
func transient(err error) bool {
	switch {
	case err == nil:
		return false
	case utilnet.IsConnectionRefused(err),
		isClosed(err),
		utilnet.IsConnectionReset(err),
		utilnet.IsProbableEOF(err),
		errors.Is(err, io.ErrUnexpectedEOF), // in the body of the answer
		utilnet.IsHTTP2ConnectionLost(err),
		BrokenStream(err):
		return true
	case isNotServed(err):
		return true
	default:
		return apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err) ||
			apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err) ||
			among(storageErrors, err)
	}
}

// answer describes a refusal by its reason and by texts that its message must contain. Empty fields
// match any.
type answer struct {
	reason metav1.StatusReason
	texts  []string
}

// admissionErrors match an admission webhook that could not be called, which is before the server
// stores an object. Only the text identifies them.
var admissionErrors = []answer{
	{texts: []string{"Internal error occurred: failed calling admission webhook"}},
	{texts: []string{"Internal error occurred: failed calling webhook"}},
}

// webhookErrors match a webhook that could not be called. A conversion may follow the storage.
var webhookErrors = append([]answer{
	{texts: []string{"conversion webhook for ", " failed:"}},
}, admissionErrors...)

// WebhookUnavailable reports whether a request failed because the server could not call a webhook,
// and may be repeated. The webhook may become available when more objects are deployed.
func WebhookUnavailable(err error) bool {
	ambiguous := (*ambiguousError)(nil)
	return among(webhookErrors, err) && !(errors.As(err, &ambiguous) && ambiguous.lookup != "")
}

// webhookService matches the address of a Service in the error of a webhook that could not be
// called.
var webhookService = regexp.MustCompile(`"https://([a-z0-9.-]+)\.([a-z0-9-]+)\.svc[:/]`)

// UnavailableService returns the Service of the webhook that the server could not call, if an error
// says that.
func UnavailableService(err error) (namespace, name string, ok bool) {
	if !WebhookUnavailable(err) {
		return "", "", false
	}
	found := webhookService.FindStringSubmatch(err.Error())
	if found == nil {
		return "", "", false
	}
	return found[2], found[1], true
}

// storageErrors match errors of etcd that end when it has a leader. What was sent may be stored.
var storageErrors = []answer{
	{texts: []string{"etcdserver:", "leader changed"}},
	{texts: []string{"etcdserver:", "timed out"}},
}

// uncached matches the answer about a kind that the server cannot list itself, such as one whose
// conversion webhook is away. It names the cause.
var uncached = []answer{
	{metav1.StatusReasonTooManyRequests, []string{"(re)initializing", "failed to list"}},
}

// transientErrors are further errors that a write retries. They come from the components behind the
// server while these move or start.
var transientErrors = append([]answer{
	{reason: metav1.StatusReasonInternalError}, quotaConflict,
}, webhookErrors...)

// quotaConflict is the answer to a write that another one overtook in the sum of a quota.
var quotaConflict = answer{
	reason: metav1.StatusReasonConflict,
	texts:  []string{"Operation cannot be fulfilled on resourcequota"},
}

// among reports whether an error matches one of the answers.
func among(answers []answer, err error) bool {
	return err != nil && slices.ContainsFunc(answers, func(a answer) bool {
		missing := func(text string) bool { return !strings.Contains(err.Error(), text) }
		return (a.reason == "" || apierrors.ReasonForError(err) == a.reason) &&
			!slices.ContainsFunc(a.texts, missing)
	})
}

// isClosed reports whether the connection was closed before the answer: by the server or, after a
// write to it failed, by the library under the other requests. The library has no types for that.
func isClosed(err error) bool {
	return errors.Is(err, syscall.EPIPE) || err != nil &&
		(strings.Contains(err.Error(), "http2: server sent GOAWAY") ||
			strings.Contains(err.Error(), "http2: client connection force closed"))
}

// maybeStored reports whether a write that failed may have stored the object: its request may have
// been sent, and the answer is not one that comes before the storage.
func maybeStored(err error) bool {
	status, network := apierrors.APIStatus(nil), (*net.OpError)(nil)
	switch {
	case err == nil, errors.As(err, &network) && network.Op == "dial":
		return false
	case errors.As(err, &status):
		code := status.Status().Code
		return (code < 400 || code >= 500 || code == http.StatusRequestTimeout) &&
			!among(admissionErrors, err)
	default:
		return true
	}
}

// ambiguousError is the error of a write that this or an earlier attempt may have carried out.
type ambiguousError struct {
	cause  error
	lookup string // of a write that must not be repeated: the command that finds its object
}

func (e *ambiguousError) Error() string {
	if e.lookup == "" {
		return e.cause.Error()
	}
	return e.cause.Error() + " (the object may have been created: look with '" + e.lookup + "')"
}

func (e *ambiguousError) Unwrap() error { return e.cause }

// isNotServed reports whether the server has no such path: it does not serve the kind, yet or any
// more. A missing object is another error.
func isNotServed(err error) bool {
	return apierrors.IsNotFound(err) &&
		apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// BrokenStream reports whether the server broke off an HTTP/2 response.
func BrokenStream(err error) bool {
	var broken http2.StreamError
	return errors.As(err, &broken)
}

func asUnknown(err error, target **UnknownKindError) bool { return errors.As(err, target) }

// Refused reports whether an error of Write is the server's final word that it did not store the
// object. Any other error leaves open whether the object exists, or says that it does. A conflict
// over fields of other managers is final, too: the object exists, and was not changed.
func Refused(err error) bool {
	if unknown := (*UnknownKindError)(nil); asUnknown(err, &unknown) {
		return true
	}
	status, ambiguous := apierrors.APIStatus(nil), (*ambiguousError)(nil)
	if !errors.As(err, &status) || errors.As(err, &ambiguous) {
		return false
	}
	code := status.Status().Code
	switch code {
	case http.StatusConflict:
		return apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// Unanswered reports whether an error of Write leaves open what the server thinks of the object: it
// could not be reached, could not call a webhook, or had no time.
func Unanswered(err error) bool {
	status, unknown := apierrors.APIStatus(nil), (*UnknownKindError)(nil)
	switch {
	case err == nil, asUnknown(err, &unknown):
		return false
	case errors.As(err, &status):
		code := status.Status().Code
		return code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout
	default:
		return true
	}
}

// UnreachableError reports that no server answered.
type UnreachableError struct {
	Host  string
	Cause error
}

func (e *UnreachableError) Error() string {
	return "cannot reach the cluster at " + e.Host + ": " + e.Cause.Error()
}

func (e *UnreachableError) Unwrap() error { return e.Cause }

// explain turns a failure to reach the server into an *UnreachableError and returns other errors
// unchanged.
func (c *Client) explain(err error) error {
	if silent := (*AnswerError)(nil); errors.As(err, &silent) {
		return &UnreachableError{Host: c.host, Cause: silent}
	}
	var failed *url.Error
	if !errors.As(err, &failed) || errors.Is(err, context.Canceled) {
		return err
	}
	return &UnreachableError{Host: c.host, Cause: failed.Err}
}
