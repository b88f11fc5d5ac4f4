// Package cluster is the only package that talks to an API server: it reads, writes, deletes and watches objects, finds
// out which kinds there are, and retries what may be retried.
//
// It decides nothing about what should happen to an object.
package cluster

import (
	"fmt"
	"net/http"
	"sync"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// Client talks to one API server. It may be used by several goroutines at once.
type Client struct {
	dynamic   dynamic.Interface
	discovery discovery.DiscoveryInterface
	host      string

	mu       sync.Mutex
	kinds    *kinds           // nil until discovery was read
	asking   *asking          // nil unless it is being read
	versions map[scope]string // the resource version of the last list of a kind and namespace
}

// Options are the circumstances of a client. The zero value traces nothing.
type Options struct {
	Trace     func(Request) // called once for every request, from any goroutine
	Warn      func(string)  // called for every warning that the server sends along, from any goroutine
	UserAgent string
}

// New gives a client for the server of the configuration. It sends nothing. The client limits itself in no way: the server
// says when it is too much, and is then obeyed.
func New(config *rest.Config, o Options) (*Client, error) {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = -1, -1
	config.UserAgent = o.UserAgent
	config.WarningHandler = warner{o.Warn}
	if o.Trace != nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &tracer{next: next, tell: o.Trace} })
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up the connection: %w", err)
	}
	dynamicClient, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("set up the client: %w", err)
	}
	discoveryClient, err := discovery.NewDiscoveryClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("set up discovery: %w", err)
	}
	return &Client{
		dynamic:   dynamicClient,
		discovery: discoveryClient,
		host:      config.Host,
		versions:  map[scope]string{},
	}, nil
}

// Host is the address of the server, as the configuration has it.
func (c *Client) Host() string { return c.host }

// warner hands the server's warnings on.
type warner struct{ tell func(string) }

// HandleWarningHeader takes one warning; 299 is the only code that servers use.
func (w warner) HandleWarningHeader(code int, _ string, text string) {
	if w.tell != nil && code == 299 && text != "" {
		w.tell(text)
	}
}
