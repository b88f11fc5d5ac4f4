// Package faults is a proxy between a client and an API server that breaks requests on purpose.
//
// Client and proxy speak HTTP/2 over TLS, as with a real API server, so that a fault may reset one
// stream or close the connection with all its streams.
package faults

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Kind is a kind of fault.
type Kind string

// The kinds of faults. Those with After let the server act first. Those with Watch are for watches,
// all others for other requests; one of the wrong kind is none.
const (
	None             Kind = ""
	Delay            Kind = "delay"             // the answer is late
	Reset            Kind = "reset"             // the stream is reset
	ResetAfter       Kind = "reset-after"       //
	Close            Kind = "close"             // the connection is closed
	CloseAfter       Kind = "close-after"       //
	Truncate         Kind = "truncate"          // half of the answer comes, then the stream is reset
	TooMany          Kind = "429"               // with Retry-After
	Internal         Kind = "500"               //
	InternalAfter    Kind = "500-after"         //
	Unavailable      Kind = "503"               //
	Timeout          Kind = "504"               //
	TimeoutAfter     Kind = "504-after"         //
	Conflict         Kind = "409"               //
	Unauthorized     Kind = "401"               //
	WatchEnds        Kind = "watch-ends"        // after some time
	WatchSilent      Kind = "watch-silent"      // no event comes, until the watch ends
	WatchLate        Kind = "watch-late"        // every event is late
	WatchReordered   Kind = "watch-reordered"   // events of different objects change places
	WatchGone        Kind = "watch-gone"        // 410: the version is too old
	WatchUnavailable Kind = "watch-unavailable" // 503
	Hold             Kind = "hold"              // no answer comes, for ever; in no list
	HoldAfter        Kind = "hold-after"        //
)

// OfWatches reports whether it is a fault of watches.
func (k Kind) OfWatches() bool { return strings.HasPrefix(string(k), "watch-") }

// Transient are the kinds of faults of which one at any request must not fail a run.
var Transient = []Kind{
	Delay, Reset, ResetAfter, Close, CloseAfter, Truncate, TooMany, Internal, InternalAfter,
	Unavailable, Timeout, TimeoutAfter,
	WatchEnds, WatchSilent, WatchLate, WatchReordered, WatchGone, WatchUnavailable,
}

// All are all kinds of faults.
var All = append([]Kind{Conflict, Unauthorized}, Transient...)

// The times of faults.
const (
	late     = 300 * time.Millisecond
	openTime = 200 * time.Millisecond // of a watch that ends
	silence  = 3 * time.Second
)

// Proxy is a running proxy. It has the credentials for the server; its clients need none.
type Proxy struct {
	URL string
	CA  []byte // PEM

	choose func(n int, r *http.Request) Kind
	proxy  *httputil.ReverseProxy

	seen, seenWatches atomic.Int64 // watches are counted apart

	// Held is closed when a request is held, of which there may be one.
	Held chan struct{}

	mu     sync.Mutex
	broken []string
}

// Start starts a proxy in front of the server of a configuration. It ends with the context. Choose
// returns the fault of the n-th watch or the n-th other request, counted from 0, which it must not
// change; several goroutines call it.
func Start(
	ctx context.Context, config *rest.Config, choose func(n int, r *http.Request) Kind,
) (*Proxy, error) {
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	p := &Proxy{choose: choose, Held: make(chan struct{}), proxy: &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1,                         // watches send at once
		ErrorLog:      log.New(io.Discard, "", 0), // requests that are broken on purpose
	}}
	server := httptest.NewUnstartedServer(p)
	server.EnableHTTP2 = true
	server.Config.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx, connection{}, c)
	}
	server.StartTLS()
	context.AfterFunc(ctx, func() {
		server.CloseClientConnections()
		server.Close()
	})
	p.URL = server.URL
	p.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return p, nil
}

// Broken returns the broken requests: "reset-after POST /api/v1/namespaces/n/configmaps".
func (p *Proxy) Broken() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.broken)
}

// connection is the key of the connection in the context of a request.
type connection struct{}

// ServeHTTP passes a request to the server, or breaks it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	watches := r.URL.Query().Has("watch")
	seen := &p.seen
	if watches {
		seen = &p.seenWatches
	}
	kind := p.choose(int(seen.Add(1))-1, r)
	if kind == None || watches != kind.OfWatches() {
		p.proxy.ServeHTTP(w, r)
		return
	}
	p.mu.Lock()
	p.broken = append(p.broken, fmt.Sprintf("%s %s %s", kind, r.Method, r.URL.Path))
	p.mu.Unlock()
	if watches {
		p.breakWatch(w, r, kind)
		return
	}
	if kind == Truncate || strings.HasSuffix(string(kind), "-after") {
		answer := httptest.NewRecorder()
		p.proxy.ServeHTTP(answer, r)
		if kind == Truncate {
			truncate(w, answer)
		}
	}
	p.breakAnswer(w, r, kind)
}

// breakAnswer answers a request other than a watch.
func (p *Proxy) breakAnswer(w http.ResponseWriter, r *http.Request, kind Kind) {
	resource := schema.GroupResource{Resource: "things"}
	switch kind {
	case Delay:
		pause(r.Context(), late)
		p.proxy.ServeHTTP(w, r)
	case Close, CloseAfter:
		r.Context().Value(connection{}).(net.Conn).Close()
		panic(http.ErrAbortHandler)
	case TooMany:
		w.Header().Set("Retry-After", "1")
		refuse(w, apierrors.NewTooManyRequests("too many requests", 1))
	case Internal, InternalAfter:
		refuse(w, apierrors.NewInternalError(errors.New("etcdserver: request timed out")))
	case Unavailable:
		refuse(w, apierrors.NewServiceUnavailable("not now"))
	case Timeout, TimeoutAfter:
		refuse(w, apierrors.NewTimeoutError("the server was unable to answer in time", 0))
	case Conflict:
		refuse(w, apierrors.NewConflict(resource, "thing", errors.New("it has changed")))
	case Unauthorized:
		refuse(w, apierrors.NewUnauthorized("Unauthorized"))
	case Hold, HoldAfter:
		close(p.Held)
		<-r.Context().Done()
	default: // resets
		panic(http.ErrAbortHandler)
	}
}

// refuse answers as an API server does that refuses a request.
func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status) // a client that is gone is no concern
}

// truncate writes half of an answer.
func truncate(w http.ResponseWriter, answer *httptest.ResponseRecorder) {
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	body := answer.Body.Bytes()
	_, _ = w.Write(body[:len(body)/2])
	_ = http.NewResponseController(w).Flush()
}

// pause returns after some time, or when the context ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
