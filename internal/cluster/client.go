// Package cluster is the only package that talks to an API server: it reads, writes, deletes and
// watches objects, finds out which kinds there are, and retries what may be retried.
//
// It decides nothing about what should happen to an object.
//
// Read finds objects by name with few lists: one for each kind and namespace, or for each kind in
// many namespaces. Where a list is forbidden, or has too many other objects, the missing objects
// are read one by one. The list of a single object selects its name, so that the answer has a
// resource version to watch from. Select finds objects by labels. Neither takes an object that may
// not be read for absent: Read returns an error and Select reports the kind to Unlisted. Read
// returns objects of kinds that are not served as Snapshot.Unserved, because they may exist.
//
// A watch starts at the earliest version at which its kind was listed, if lists have covered all
// its objects. So it misses no change and needs no list of its own.
//
// Requests are repeated after transient errors, for a limited time. The client has no rate limit:
// it waits when the server answers 429 with Retry-After, up to maxDelay. An answer that does not
// come, or stalls, is an error.
package cluster

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/object"
)

// Client talks to one API server. It may be used by several goroutines at once.
type Client struct {
	rest                 rest.Interface    // for requests that are not about objects
	withManagedFields    dynamic.Interface // reads objects with managed fields
	withoutManagedFields dynamic.Interface // reads objects without managed fields
	host                 string
	renews               bool // credentials are of a plugin, which renews them after a refusal

	cacheDir string // empty for none

	mu      sync.Mutex
	schemas map[schema.GroupVersion]knownSchema
	kinds   *kindTable     // nil until discovery
	asking  *discoveryCall // nil if no discovery is in progress
	memory  listVersions

	meter *meter
}

// Options configure a client. The zero value traces nothing.
type Options struct {
	Trace     func(Request) // called once for every request, from any goroutine
	Warn      Warn          // called for every warning of the server, from any goroutine
	UserAgent string
	// CacheDir is the folder in which the kinds of servers and their schemas are kept between runs;
	// empty for none.
	CacheDir string
	// AnswerTime is how long the server may take to begin its answer, and to continue it. If it is not
	// set, it is a little longer than the API server permits itself.
	AnswerTime limit.Time
}

// Warn receives a warning of the server, without values of Secrets, and the object whose write or
// deletion it is about; the zero Ref for a warning about a read.
type Warn func(about object.Ref, text string)

// New returns a client for the server of the configuration. It sends no request. The client has no
// rate limit of its own: it obeys the server's 429 responses.
func New(config *rest.Config, o Options) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	config.UserAgent = o.UserAgent
	config.WarningHandlerWithContext = warner{o.Warn}
	answer := o.AnswerTime.Or(limit.After(answerTimeout)).Duration()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return &answerLimit{
			next: next, after: answer, whole: wholeTimeout,
			most: mostAnswer, mostEvent: mostEvent, mostError: mostError,
		}
	})
	if o.Trace != nil {
		config.Wrap(
			func(next http.RoundTripper) http.RoundTripper {
				return &tracer{next: next, trace: o.Trace}
			},
		)
	}
	if o.CacheDir != "" {
		config.Wrap(
			func(next http.RoundTripper) http.RoundTripper {
				return &discoveryCache{next: next, dir: o.CacheDir}
			},
		)
	}
	measures := &meter{}
	config.Wrap(
		func(next http.RoundTripper) http.RoundTripper {
			measures.next = next
			return measures
		},
	)
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection: %w", err)
	}
	config.GroupVersion, config.APIPath = nil, ""
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	clientFor := func(c codecs) (*rest.RESTClient, error) {
		config.NegotiatedSerializer = c
		return rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	}
	complete, err := clientFor(codecs{})
	if err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	trimmed, err := clientFor(codecs{dropManagedFields: true})
	if err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	return &Client{
		rest:                 sentOnce{complete},
		withManagedFields:    dynamic.New(sentOnce{complete}),
		withoutManagedFields: dynamic.New(sentOnce{trimmed}),
		host:                 config.Host,
		renews:               config.ExecProvider != nil,
		cacheDir:             o.CacheDir,
		schemas:              map[schema.GroupVersion]knownSchema{},
		memory: listVersions{
			versions: map[schema.GroupResource]string{},
			listed:   map[object.Ref]struct{}{},
		},

		meter: measures,
	}, nil
}

// Host returns the address of the server from the configuration.
func (c *Client) Host() string { return c.host }

// aboutKey is the context key of the object that a request writes or deletes, privateKey that of
// whether the object holds values of a Secret.
type aboutKey struct{}
type privateKey struct{}

// Private returns a context for requests about an object that holds values of a Secret: warnings do
// not quote it. Secrets need none.
func Private(ctx context.Context) context.Context {
	return context.WithValue(ctx, privateKey{}, true)
}

// about returns a context for requests that write or delete an object.
func about(ctx context.Context, ref object.Ref) context.Context {
	return context.WithValue(ctx, aboutKey{}, ref)
}

// warner passes the server's warnings to a function.
type warner struct{ handle Warn }

// HandleWarningHeaderWithContext passes one warning; 299 is the only code that servers use.
func (w warner) HandleWarningHeaderWithContext(
	ctx context.Context, code int, _ string, text string,
) {
	if w.handle != nil && code == 299 && text != "" {
		ref, _ := ctx.Value(aboutKey{}).(object.Ref)
		private, _ := ctx.Value(privateKey{}).(bool)
		if private || ref.GroupKind() == (schema.GroupKind{Kind: "Secret"}) {
			text = redactedWarning(text)
		}
		w.handle(ref, text)
	}
}
