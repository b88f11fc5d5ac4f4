package plane

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
)

// A port that another process takes between the choice and the start is chosen again, but not for
// ever.
func TestPortsAreChosenAgain(t *testing.T) {
	bin, err := filepath.Abs("../../bin")
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	for name, test := range map[string]struct {
		spoil func(*ports)
		tries int // that are spoilt
		ok    bool
	}{
		"etcd":       {func(p *ports) { p.Etcd = port }, 1, true},
		"API server": {func(p *ports) { p.APIServer = port }, 1, true},
		"kwok":       {func(p *ports) { p.Kubelet = port }, 1, true},
		"every time": {func(p *ports) { p.EtcdPeer = port }, portTries, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, p := context.Background(), &Plane{paths: newPaths(t)}
			o := Options{Bin: bin, Tied: true, NoWait: name == "etcd"}
			if err := p.prepare(ctx, o); err != nil {
				t.Fatal(err)
			}
			tries := 0
			err := p.up(ctx, o, func() (ports, error) {
				chosen, err := freePorts()
				if tries++; tries <= test.tries {
					test.spoil(&chosen)
				}
				return chosen, err
			})
			var dead *ComponentError
			if test.ok && err != nil || !test.ok && !errors.As(err, &dead) {
				t.Errorf("after %d tries: %v", tries, err)
			}
			if want := min(test.tries+1, portTries); tries != want {
				t.Errorf("chosen %d times, want %d", tries, want)
			}
			if err := p.Down(ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// A plane has one node unless it had another number before; none is a number, too.
func TestNumberOfNodes(t *testing.T) {
	p, bin := &Plane{paths: newPaths(t)}, t.TempDir()
	for _, name := range []string{binComponents, binKwok} {
		if err := os.WriteFile(filepath.Join(bin, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for i, test := range []struct {
		nodes *int
		want  int
	}{{nil, 1}, {new(3), 3}, {nil, 3}, {new(0), 0}, {nil, 0}} {
		if err := p.prepare(t.Context(), Options{Bin: bin, Nodes: test.nodes}); err != nil {
			t.Fatal(err)
		}
		if err := p.state.save(p.paths); err != nil {
			t.Fatal(err)
		}
		if p.state.Nodes != test.want {
			t.Errorf("step %d: %d nodes, want %d", i, p.state.Nodes, test.want)
		}
	}
}
