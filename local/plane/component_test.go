package plane

import (
	"strings"
	"testing"
)

func TestWaves(t *testing.T) {
	tests := []struct {
		name string
		in   []component
		want string // waves, or the start of the error
	}{
		{"nothing", nil, ""},
		{"in order of needs, not of the list",
			[]component{
				{name: "c", needs: []string{"b"}},
				{name: "b", needs: []string{"a"}},
				{name: "a"},
			}, "a | b | c"},
		{"together what can be",
			[]component{
				{name: "a"},
				{name: "b", needs: []string{"a"}},
				{name: "c", needs: []string{"a"}},
				{name: "d"},
			}, "a d | b c"},
		{"a cycle",
			[]component{{name: "a", needs: []string{"b"}}, {name: "b", needs: []string{"a"}}, {name: "c"}},
			"error: components need each other: a, b"},
		{
			"needs itself",
			[]component{{name: "a", needs: []string{"a"}}},
			"error: components need each other: a",
		},
		{
			"unknown need",
			[]component{{name: "a", needs: []string{"x"}}},
			"error: component a needs x, which does not exist",
		},
		{
			"the real ones",
			components(&state{Real: make([]realNode, 2)}),
			"etcd | kube-apiserver | kube-controller-manager kube-scheduler kwok real-0 real-1",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			order, err := waves(test.in)
			var got []string
			for _, wave := range order {
				got = append(got, strings.Join(names(wave), " "))
			}
			text := strings.Join(got, " | ")
			if err != nil {
				text = "error: " + err.Error()
			}
			if text != test.want {
				t.Errorf("got %q, want %q", text, test.want)
			}
		})
	}
}

// No argument may hold a secret: arguments are for all to see.
func TestArgumentsAreNoSecrets(t *testing.T) {
	s := &state{Nodes: 1, Real: make([]realNode, 1)}
	for _, c := range components(s) {
		for _, arg := range c.args("/state", s) {
			if strings.Contains(arg, "PRIVATE") || strings.Contains(arg, "token=") ||
				strings.Contains(arg, "password") {
				t.Errorf("%s: %s", c.name, arg)
			}
			if strings.Contains(arg, "0.0.0.0") {
				t.Errorf("%s listens to the world: %s", c.name, arg)
			}
		}
	}
}

func TestFreePorts(t *testing.T) {
	p, err := freePorts()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{0: true}
	for _, port := range []int{p.Etcd, p.EtcdPeer, p.APIServer, p.Controllers, p.Scheduler,
		p.Kubelet} {
		if seen[port] {
			t.Errorf("port %d is chosen twice or not at all: %+v", port, p)
		}
		seen[port] = true
	}
}
