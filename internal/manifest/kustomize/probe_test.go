package kustomize

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// probe notices what a build must not do: to start a program, to connect, to write, and to open a
// file that is outside of the folder of the build.
type probe struct {
	address     string // of a listener on this machine
	marker      string // a file that exists as soon as a program of the search path was started
	outside     string // a folder beside that of the build, with a file of the name secret
	temporary   string // the folder for temporary files
	connections atomic.Int32
	accepted    chan struct{}   // receives after the listener has counted a connection
	opened      func() []string // the files of outside that were opened; nil if nothing is known
	children    func() bool     // whether a process was started and has ended; nil if unknown
}

// secret is the content of the file outside. An environment file may have it.
const secret = "a=OUTSIDE-WAS-READ"

// programs are all that the library and its plugins would start.
var programs = []string{"git", "helm", "docker", "go", "sh", "bash", "touch"}

// newProbe returns a probe. For the rest of the test, only its programs are on the search path, the
// home folder is outside, and what this process asks of web and name servers is counted.
func newProbe(t testing.TB) *probe {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := &probe{
		marker: filepath.Join(dir, "marker"), outside: filepath.Join(dir, "outside"),
		temporary: filepath.Join(dir, "temporary"), children: watchChildren(t),
		accepted: make(chan struct{}, 1),
	}
	path := filepath.Join(dir, "path")
	for _, folder := range []string{path, p.outside, p.temporary} {
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"secret", "kustomization.yaml"} {
		if err := os.WriteFile(filepath.Join(p.outside, name), []byte(secret), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\necho \"$0 $*\" >>" + p.marker + "\nexit 1\n"
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(path, name), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path)
	t.Setenv("TMPDIR", p.temporary)
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "KUSTOMIZE_PLUGIN_HOME"} {
		t.Setenv(name, p.outside)
	}
	transport, resolver := http.DefaultTransport, net.DefaultResolver
	t.Cleanup(func() { http.DefaultTransport, net.DefaultResolver = transport, resolver })
	http.DefaultTransport = p
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: p.dial}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	p.address = listener.Addr().String()
	go func() { // ends with the listener
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.connections.Add(1)
			conn.Close()
			select {
			case p.accepted <- struct{}{}:
			default:
			}
		}
	}()
	p.opened = watchOpened(t, p.outside)
	return p
}

// RoundTrip counts a request, and sends nothing.
func (p *probe) RoundTrip(*http.Request) (*http.Response, error) {
	p.connections.Add(1)
	return nil, errors.New("nothing is sent")
}

// dial counts a question to a name server, and sends nothing.
func (p *probe) dial(context.Context, string, string) (net.Conn, error) {
	p.connections.Add(1)
	return nil, errors.New("nothing is asked")
}

// findings returns what the probe has noticed since it was made or asked.
func (p *probe) findings(t testing.TB) []string {
	t.Helper()
	var found []string
	if text, err := os.ReadFile(p.marker); err == nil {
		found = append(found, "a program was started: "+strings.TrimSpace(string(text)))
		os.Remove(p.marker)
	}
	if p.children != nil && p.children() {
		found = append(found, "a process was started")
	}
	if p.connections.Swap(0) > 0 {
		found = append(found, "a connection was made")
	}
	if left, _ := os.ReadDir(p.temporary); len(left) > 0 {
		found = append(found, "a temporary file was written: "+left[0].Name())
		os.RemoveAll(filepath.Join(p.temporary, left[0].Name()))
	}
	if p.opened != nil {
		for _, name := range p.opened() {
			found = append(found, "a file outside of the folder was opened: "+name)
		}
	}
	return found
}

// expand replaces the names of a text that stand for parts of the probe.
func (p *probe) expand(text string) string {
	return strings.NewReplacer("ADDRESS", p.address, "MARKER", p.marker, "OUTSIDE", p.outside).
		Replace(text)
}

// TestProbe does what a probe must notice.
func TestProbe(t *testing.T) {
	p := newProbe(t)
	if found := p.findings(t); len(found) > 0 {
		t.Fatalf("a new probe has found %q", found)
	}
	for want, act := range map[string]func(){
		"a program was started":                   func() { _ = exec.Command("git", "fetch").Run() },
		"a connection was made":                   func() { _, _ = http.Get("http://" + p.address) },
		"a connection was made: by its name":      func() { _, _ = net.LookupHost("example.com") },
		"a connection was made: without a client": func() { _, _ = net.Dial("tcp", p.address) },
		"a temporary file was written":            func() { _, _ = os.MkdirTemp("", "kustomize-") },
		"a process was started": func() {
			_ = exec.Command(filepath.Join(filepath.Dir(p.marker), "path", "git")).Run()
			os.Remove(p.marker)
		},
		"a file outside of the folder was opened": func() {
			_, _ = os.ReadFile(filepath.Join(p.outside, "secret"))
		},
	} {
		if runtime.GOOS != "linux" && (strings.Contains(want, "process") ||
			strings.Contains(want, "opened")) {
			continue
		}
		prefix, _, _ := strings.Cut(want, ":")
		act()
		if want == "a connection was made: without a client" {
			<-p.accepted
		}
		found := p.findings(t)
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasPrefix(f, prefix) }) {
			t.Errorf("found %q, want %q", found, want)
		}
	}
}
