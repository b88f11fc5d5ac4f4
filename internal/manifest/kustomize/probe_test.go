package kustomize

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// probe notices what a build must not do: to start a program, to connect, and to open a file that
// is outside of the folder of the build.
type probe struct {
	address     string // of a listener on this machine
	marker      string // a file that exists as soon as a program of the search path was started
	outside     string // a folder beside that of the build, with a file of the name secret
	connections atomic.Int32
	opened      func() []string // the files of outside that were opened; nil if nothing is known
}

// programs are all that the library and its plugins would start.
var programs = []string{"git", "helm", "docker", "go", "sh", "bash", "touch"}

// newProbe returns a probe. For the rest of the test, only its programs are on the search path.
func newProbe(t testing.TB) *probe {
	t.Helper()
	dir := t.TempDir()
	p := &probe{marker: filepath.Join(dir, "marker"), outside: filepath.Join(dir, "outside")}
	path := filepath.Join(dir, "path")
	for _, folder := range []string{path, p.outside} {
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(p.outside, "secret"), []byte("a=b"), 0o666); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho \"$0 $*\" >>" + p.marker + "\nexit 1\n"
	for _, name := range programs {
		if err := os.WriteFile(filepath.Join(path, name), []byte(script), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", path)
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
		}
	}()
	p.opened = watchOpened(t, p.outside)
	return p
}

// findings returns what the probe has noticed so far.
func (p *probe) findings(t testing.TB) []string {
	t.Helper()
	var found []string
	if text, err := os.ReadFile(p.marker); err == nil {
		found = append(found, "a program was started: "+strings.TrimSpace(string(text)))
	}
	if p.connections.Load() > 0 {
		found = append(found, "a connection was made")
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
