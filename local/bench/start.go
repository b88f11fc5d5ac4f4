package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// The steps of the scenario start.
const (
	program = "program" // its file, not a command
	version = "version"
	status  = "status"
)

// start measures the cost before any work: how long a program takes to say its version and the
// state of a small package, and how large it is.
func start(ctx context.Context, s *site) (results []*Result, err error) {
	g, err := s.raise(ctx, "plane")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.down(ctx)) }()
	packs := map[string]*pack{}
	for _, t := range s.tools {
		if t.status == nil {
			continue
		}
		home := "start-" + t.name
		p, err := newPack(filepath.Join(s.temp, home), home, []string{home})
		if err != nil {
			return nil, err
		}
		err = errors.Join(g.makeNamespaces(ctx, p.namespaces), p.write(mixed, s.objects, 1))
		if err != nil {
			return nil, err
		}
		create := invocation{tool: t, args: p.fill(t.create), mode: timing}
		if _, err := s.command(ctx, g, create); err != nil {
			return nil, err
		}
		packs[t.name] = p
	}
	return s.turns(func(t tool, _ int, m mode, set *resultSet) error {
		if t.version != nil {
			size, err := sizeOf(t.program)
			if err != nil {
				return err
			}
			set.of(s, t, "", program).Size = size
			in := invocation{tool: t, args: t.version, mode: m}
			if err := s.do(ctx, g, set.of(s, t, "", version), in); err != nil {
				return err
			}
		}
		if p := packs[t.name]; p != nil {
			return s.do(
				ctx,
				g,
				set.of(s, t, "", status),
				invocation{tool: t, args: p.fill(t.status), mode: m},
			)
		}
		return nil
	})
}

// sizeOf returns the size of a program on the PATH, in MB.
func sizeOf(program string) (float64, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}
