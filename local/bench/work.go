package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// work is what tools do in most scenarios: they create a package, apply it again unchanged, apply
// it with one object in a hundred changed, and delete it.
type work struct {
	content content
	spread  int    // namespaces that the objects take turns in
	fixed   bool   // the same namespaces for all tools and rounds; otherwise new ones every time
	large   bool   // some objects are too large for tools that keep a copy in an annotation
	where   string // what the cluster is like, where a scenario has several
}

// mode is what a round is for. Only one of them keeps times, since what is done for the others
// takes time itself.
type mode int

const (
	counting  mode = iota // requests and bytes are counted
	timing                // times and memory are taken
	profiling             // muster writes profiles
)

// step is one command of a round.
type step struct {
	name    string
	args    func(tool) []string
	edition int
	repeats bool // the floor has nothing like it
}

// The names of the steps.
const (
	created   = "create"
	unchanged = "unchanged"
	changed   = "1% changed"
	deleted   = "delete"
)

var steps = []step{
	{created, func(t tool) []string { return t.create }, 1, false},
	{unchanged, tool.again, 1, true},
	{changed, tool.again, 2, true},
	{deleted, func(t tool) []string { return t.destroy }, 2, false},
}

// again returns the arguments for objects that exist.
func (t tool) again() []string {
	if t.apply != nil {
		return t.apply
	}
	return t.create
}

// modes returns the rounds of a scenario.
func (s *site) modes() []mode {
	modes := slices.Repeat([]mode{timing}, s.rounds)
	if !s.options.uncounted {
		modes = slices.Insert(modes, 0, counting)
	}
	if s.profiled != "" {
		modes = append(modes, profiling)
	}
	return modes
}

// run does all rounds of all tools on a new plane.
func (w work) run(ctx context.Context, s *site) (results []*Result, err error) {
	g, err := s.raise(ctx, "plane")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.down(ctx)) }()
	return s.turns(func(t tool, round int, m mode, set *resultSet) error {
		return s.turn(ctx, g, w, t, round, m, set)
	})
}

// turns calls for all rounds of all tools that take part in them, and returns the results in the
// order of the tools. A tool that has failed has no more turns.
func (s *site) turns(
	turn func(t tool, round int, m mode, set *resultSet) error,
) ([]*Result, error) {
	var set resultSet
	for round, m := range s.modes() {
		for _, t := range rotated(s.tools, round) {
			if set.failed(t) || m == profiling && t.role != ours {
				continue
			}
			fmt.Fprintf(os.Stderr, "bench: %s, %d objects, round %d, %s\n", s.name, s.objects, round, t.name)
			if err := turn(t, round, m, &set); err != nil {
				return set.inOrder(s.tools), err
			}
		}
	}
	return set.inOrder(s.tools), nil
}

// rotated begins with another tool in every round.
func rotated(tools []tool, round int) []tool {
	at := round % len(tools)
	return slices.Concat(tools[at:], tools[:at])
}

// turn runs one round of one tool.
func (s *site) turn(
	ctx context.Context,
	g *ground,
	w work,
	t tool,
	round int,
	m mode,
	set *resultSet,
) error {
	home := fmt.Sprintf("%s-%s-%d", s.name, t.name, round)
	dir := filepath.Join(s.temp, home+w.where)
	if w.fixed {
		home = s.name
	}
	p, err := newPack(dir, home, spreadOver(home, w.spread))
	if err != nil {
		return err
	}
	if err := g.makeNamespaces(ctx, append([]string{home}, p.namespaces...)); err != nil {
		return err
	}
	for _, st := range steps {
		if st.repeats && t.once {
			continue
		}
		if err := p.write(w.content, s.objects, st.edition); err != nil {
			return err
		}
		result := set.of(s, t, w.where, st.name)
		args := p.fill(st.args(t))
		if w.large && st.name != deleted {
			args = append(args, t.large...)
		}
		if err := s.do(ctx, g, result, invocation{tool: t, args: args, mode: m}); err != nil {
			return err
		}
		if result.Failed != "" {
			break
		}
	}
	return s.tidy(ctx, g, p)
}

// do runs a command, and has the result say what it took, or that it failed. The error is that of
// the bench itself.
func (s *site) do(ctx context.Context, g *ground, result *Result, in invocation) error {
	in.label = result.label()
	done, err := s.command(ctx, g, in)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		result.Failed = err.Error()
		fmt.Fprintf(
			os.Stderr,
			"bench: %s has failed and is left out from here on: %v\n",
			in.tool.name,
			err,
		)
		return nil
	}
	result.take(done, in.mode)
	return nil
}

// tidy removes what a tool left behind, and waits until the controllers are done with it, so that
// this falls on nobody else.
func (s *site) tidy(ctx context.Context, g *ground, p *pack) error {
	remove := invocation{tool: tools[0], args: p.fill(tools[0].clear), mode: timing}
	if _, err := s.command(ctx, g, remove); err != nil {
		return err
	}
	return g.settle(ctx, p.home)
}
