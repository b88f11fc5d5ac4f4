package main

import (
	"encoding/pem"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Traffic is what went over the wire between a tool and the API server.
type Traffic struct {
	Verbs    map[string]int `json:"verbs"`    // requests; a GET that watches is a WATCH
	Watches  int            `json:"watches"`  // different things that were watched
	Sent     int64          `json:"sent"`     // bytes from the tool, with TLS and headers
	Received int64          `json:"received"` // bytes to the tool
}

// Requests returns the total number of requests.
func (t *Traffic) Requests() int {
	total := 0
	for _, n := range t.Verbs {
		total += n
	}
	return total
}

// counter stands between tools and an API server, speaks TLS and HTTP/2 to both, and counts. It
// lets everybody in as the administrator.
type counter struct {
	kubeconfig     string // that names it
	server         *httptest.Server
	sent, received atomic.Int64

	mu      sync.Mutex // guards what follows
	verbs   map[string]int
	watched map[string]bool // paths, without queries
}

// newCounter begins to listen on loopback, and writes the kubeconfig.
func newCounter(config *rest.Config, kubeconfig string) (*counter, error) {
	config = rest.CopyConfig(config)
	config.DisableCompression = true // the proxy adds no Accept-Encoding of its own
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	c := &counter{kubeconfig: kubeconfig, verbs: map[string]int{}, watched: map[string]bool{}}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization") // the transport has its own
		},
		Transport:     transport,
		FlushInterval: -1, // events of watches are passed on at once
		ErrorLog:      log.New(io.Discard, "", 0),
	}
	c.server = httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.count(r.Method, r.URL)
			proxy.ServeHTTP(w, r)
		}),
	)
	c.server.Listener = &countingListener{c.server.Listener, c}
	c.server.Config.ErrorLog = proxy.ErrorLog
	c.server.EnableHTTP2 = true
	c.server.StartTLS()
	return c, c.writeKubeconfig()
}

func (c *counter) writeKubeconfig() error {
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.server.Certificate().Raw})
	config := clientcmdapi.NewConfig()
	config.Clusters["counted"] = &clientcmdapi.Cluster{
		Server:                   c.server.URL,
		CertificateAuthorityData: authority,
	}
	config.AuthInfos["counted"] = &clientcmdapi.AuthInfo{Token: "not-needed"}
	config.Contexts["counted"] = &clientcmdapi.Context{Cluster: "counted", AuthInfo: "counted"}
	config.CurrentContext = "counted"
	return clientcmd.WriteToFile(*config, c.kubeconfig)
}

// close ends the connections, and with them what is under way.
func (c *counter) close() {
	c.server.CloseClientConnections()
	c.server.Close()
}

// count counts a request.
func (c *counter) count(verb string, target *url.URL) {
	watch := target.Query().Get("watch")
	c.mu.Lock()
	defer c.mu.Unlock()
	if verb == http.MethodGet && (watch == "1" || watch == "true") {
		verb = "WATCH"
		c.watched[target.Path] = true
	}
	c.verbs[verb]++
}

// take returns the traffic since its last call.
func (c *counter) take() *Traffic {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &Traffic{
		Verbs:    maps.Clone(c.verbs),
		Watches:  len(c.watched),
		Sent:     c.sent.Swap(0),
		Received: c.received.Swap(0),
	}
	clear(c.verbs)
	clear(c.watched)
	return t
}

// verbsInOrder lists the verbs of requests in order.
func (t *Traffic) verbsInOrder() []string { return slices.Sorted(maps.Keys(t.Verbs)) }

// countingListener counts the bytes of all connections.
type countingListener struct {
	net.Listener
	counter *counter
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &countingConn{conn, l.counter}, nil
}

type countingConn struct {
	net.Conn
	counter *counter
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.counter.sent.Add(int64(n))
	return n, err
}

func (c *countingConn) Write(p []byte) (int, error) {
	c.counter.received.Add(int64(len(p))) // before the client has it, and may be done
	return c.Conn.Write(p)
}
