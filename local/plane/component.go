package plane

import (
	"fmt"
	"slices"
	"strings"
)

// component is one program of the control plane, as data.
type component struct {
	name   string
	binary string
	needs  []string // components that must answer before this one starts
	args   func(paths, *state) []string
	port   func(*state) int // where its health is asked for
	starts string           // path that says that those who need it may start; empty: as ready
	ready  string           // path that says that it is healthy
}

const (
	binComponents = "muster-components"
	binKwok       = "muster-kwok"
)

// Names of the components.
const (
	etcd        = "etcd"
	apiServer   = "kube-apiserver"
	controllers = "kube-controller-manager"
	scheduler   = "kube-scheduler"
	kwok        = "kwok"
)

// components lists what a plane is made of.
func components(s *state) []component {
	all := []component{
		{
			name: etcd, binary: binComponents, args: etcdArgs,
			port: func(s *state) int { return s.Ports.Etcd }, ready: "/health",
		},
		{
			name: apiServer, binary: binComponents, args: apiServerArgs, needs: []string{etcd},
			port: func(s *state) int { return s.Ports.APIServer }, starts: "/healthz", ready: "/readyz",
		},
		{
			name: controllers, binary: binComponents, args: controllersArgs, needs: []string{apiServer},
			port: func(s *state) int { return s.Ports.Controllers }, ready: "/healthz",
		},
		{
			name: scheduler, binary: binComponents, args: schedulerArgs, needs: []string{apiServer},
			port: func(s *state) int { return s.Ports.Scheduler }, ready: "/readyz",
		},
		{
			name: kwok, binary: binKwok, args: kwokArgs, needs: []string{apiServer},
			port: func(s *state) int { return s.Ports.Kubelet }, ready: "/healthz",
		},
	}
	for i := range s.Real {
		all = append(all, realComponent(i))
	}
	return all
}

// waves sorts components by their needs: everything in one wave needs only what is in earlier ones.
// A need that is not in the list, or a cycle, is an error.
func waves(all []component) ([][]component, error) {
	placed := map[string]bool{}
	for _, c := range all {
		for _, need := range c.needs {
			if !slices.ContainsFunc(all, func(o component) bool { return o.name == need }) {
				return nil, fmt.Errorf("component %s needs %s, which does not exist", c.name, need)
			}
		}
	}
	var out [][]component
	rest := slices.Clone(all)
	for len(rest) > 0 {
		var wave, later []component
		for _, c := range rest {
			if slices.ContainsFunc(c.needs, func(need string) bool { return !placed[need] }) {
				later = append(later, c)
			} else {
				wave = append(wave, c)
			}
		}
		if len(wave) == 0 {
			return nil, fmt.Errorf("components need each other: %s", strings.Join(names(later), ", "))
		}
		for _, c := range wave {
			placed[c.name] = true
		}
		out, rest = append(out, wave), later
	}
	return out, nil
}

func names(list []component) []string {
	out := make([]string, 0, len(list))
	for _, c := range list {
		out = append(out, c.name)
	}
	return out
}
