package e2e

import (
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// gate is a proxy in front of the API server. It passes a number of requests that match a pattern
// and holds the later ones, so that a command can be stopped after exactly that many writes. Or it
// refuses them all for the moment.
type gate struct {
	refuses atomic.Bool    // answer 429 with a long Retry-After
	pattern *regexp.Regexp // of METHOD PATH
	proxy   *httputil.ReverseProxy
	open    chan struct{} // closed when the held requests may pass
	passed  chan struct{} // closed when all requests that pass were answered
	locked  atomic.Bool   // whether a Lease was read that exists
	kills   atomic.Bool   // hold all other writes, too, as soon as those that pass have arrived

	mu               sync.Mutex
	left, unanswered int
}

// startGate starts a gate and writes a kubeconfig that leads through it to a path. The gate passes
// the first count requests whose "METHOD PATH" matches the pattern, and all watches and requests
// that do not match. It ends with the context.
func startGate(
	ctx context.Context, path, namespace string, count int, pattern string,
) (*gate, error) {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.Kubeconfig())
	if err != nil {
		return nil, err
	}
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	g := &gate{
		pattern: regexp.MustCompile(pattern),
		proxy: &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport:     transport,
			FlushInterval: -1,                         // watches send at once
			ErrorLog:      log.New(io.Discard, "", 0), // commands that are killed on purpose
		},
		open: make(chan struct{}), passed: make(chan struct{}), left: count, unanswered: count,
	}
	g.proxy.ModifyResponse = g.findLock
	server := &http.Server{Handler: g, BaseContext: func(net.Listener) context.Context { return ctx }}
	context.AfterFunc(ctx, func() { server.Close() })
	go server.Serve(listener) // ends with the context
	return g, writeGateConfig(path, namespace, "http://"+listener.Addr().String())
}

// gated starts a gate for a script and returns the path of the kubeconfig.
func gated(
	ctx context.Context, ts *testscript.TestScript, count int, pattern string,
) (*gate, string) {
	path := filepath.Join(ts.MkAbs("."), ".gate")
	g, err := startGate(ctx, path, ts.Getenv("NS"), count, pattern)
	ts.Check(err)
	return g, path
}

// findLock notes whether an answer has a Lease that holds a lock.
func (g *gate) findLock(r *http.Response) error {
	if r.Request.Method != http.MethodGet || !strings.Contains(r.Request.URL.Path, "/leases") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(`muster.dev/lock`)) {
		g.locked.Store(true)
	}
	return err
}

// writeGateConfig writes a kubeconfig without credentials: the gate has those of the administrator.
func writeGateConfig(path, namespace, server string) error {
	config := api.NewConfig()
	config.Clusters["gate"] = &api.Cluster{Server: server}
	config.AuthInfos["gate"] = &api.AuthInfo{}
	config.Contexts["gate"] = &api.Context{Cluster: "gate", AuthInfo: "gate", Namespace: namespace}
	config.CurrentContext = "gate"
	return clientcmd.WriteToFile(*config, path)
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.pattern.MatchString(r.Method+" "+r.URL.Path) || r.URL.Query().Has("watch") {
		if g.kills.Load() && r.Method != http.MethodGet && g.full() {
			<-r.Context().Done()
			return
		}
		g.proxy.ServeHTTP(w, r)
		return
	}
	if g.refuses.Load() {
		w.Header().Set("Retry-After", "60")
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		g.answered()
		return
	}
	g.mu.Lock()
	passes := g.left > 0
	if passes {
		g.left--
	}
	g.mu.Unlock()
	if !passes {
		select {
		case <-g.open:
		case <-r.Context().Done():
			return
		}
	}
	g.proxy.ServeHTTP(w, r)
	if passes {
		g.answered()
	}
}

// full reports whether all requests that pass have arrived.
func (g *gate) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.left == 0
}

// answered counts a request that was answered.
func (g *gate) answered() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.unanswered--; g.unanswered == 0 {
		close(g.passed)
	}
}

// killAtWrite runs a command and kills it as soon as a number of its writes that match a pattern
// were answered. No later write of any kind reaches the API server.
func killAtWrite(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 3, neg, "killatwrite COUNT REGEXP COMMAND [ARGUMENT]...")
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	defer cancel()
	g, kubeconfig := gated(ctx, ts, number(ts, args[0]), args[1])
	g.kills.Store(true)
	cmd := command(ctx, ts, args[2:])
	cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Start())
	await(ctx, g.passed)
	_ = cmd.Process.Kill() // one that has ended is reported below
	state := wait(ts, cmd)
	if status, ok := state.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL ||
		ctx.Err() != nil {
		ts.Fatalf("the command was not killed at the write: %v", state)
	}
}

// interruptAtWrite runs a command and interrupts it (Ctrl-C) as soon as a number of its writes were
// answered. Later writes reach the API server after the command has reported the interrupt.
func interruptAtWrite(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 3, neg, "interruptatwrite COUNT REGEXP COMMAND [ARGUMENT]...")
	interrupt(ts, args, true)
}

// interruptAfterWrite is like interruptAtWrite, but later writes never reach the API server.
func interruptAfterWrite(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 3, neg, "interruptafterwrite COUNT REGEXP COMMAND [ARGUMENT]...")
	interrupt(ts, args, false)
}

func interrupt(ts *testscript.TestScript, args []string, opens bool) {
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	defer cancel()
	g, kubeconfig := gated(ctx, ts, number(ts, args[0]), args[1])
	cmd := command(ctx, ts, args[2:])
	cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	reported := &interruptReport{Writer: ts.Stderr(), seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = ts.Stdout(), reported
	ts.Check(cmd.Start())
	await(ctx, g.passed)
	_ = cmd.Process.Signal(syscall.SIGINT)
	await(ctx, reported.seen)
	if opens {
		close(g.open)
	}
	if state := wait(ts, cmd); state.ExitCode() != exitInterrupted {
		ts.Fatalf("the interrupted command ended otherwise: %v", state)
	}
}

// interruptRefused runs a command whose matching writes are refused for the moment, and interrupts
// it (Ctrl-C) as soon as that happened. The command must end without sending the write again.
func interruptRefused(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, len(args) >= 2, neg, "interruptrefused REGEXP COMMAND [ARGUMENT]...")
	ctx, cancel := context.WithTimeout(context.Background(), hangTimeout)
	defer cancel()
	g, kubeconfig := gated(ctx, ts, 1, args[0])
	g.refuses.Store(true)
	cmd := command(ctx, ts, args[1:])
	cmd.Env = append(cmd.Env, "KUBECONFIG="+kubeconfig)
	cmd.Stdout, cmd.Stderr = ts.Stdout(), ts.Stderr()
	ts.Check(cmd.Start())
	await(ctx, g.passed)
	_ = cmd.Process.Signal(syscall.SIGINT)
	state := wait(ts, cmd)
	g.mu.Lock()
	defer g.mu.Unlock()
	if state.ExitCode() != exitInterrupted || g.unanswered != 0 {
		ts.Fatalf("ended with %v after %d more requests", state, -g.unanswered)
	}
}

// await waits until a channel is closed, or the context ends.
func await(ctx context.Context, closed <-chan struct{}) {
	select {
	case <-closed:
	case <-ctx.Done():
	}
}

// interruptReport is a writer that closes a channel when a command reports that it was interrupted.
type interruptReport struct {
	io.Writer
	seen chan struct{}
	once sync.Once
}

func (w *interruptReport) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("interrupted: ")) {
		w.once.Do(func() { close(w.seen) })
	}
	return w.Writer.Write(p)
}
