package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
)

// The two clusters of the scenario crowded, and what is in the second besides the package.
const (
	inEmpty       = "empty"
	inCrowded     = "crowded"
	definitions   = 300
	crowdedSpread = 2 // namespaces that the package and the foreign objects share
)

// crowded does the same work in turn on an empty cluster and on one with many definitions and, in
// the package's own namespaces, many objects of others.
func crowded(ctx context.Context, s *site) (results []*Result, err error) {
	grounds := map[string]*ground{}
	for _, where := range []string{inEmpty, inCrowded} {
		g, err := s.raise(ctx, where)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, g.down(ctx)) }()
		grounds[where] = g
	}
	if err := s.fill(ctx, grounds[inCrowded]); err != nil {
		return nil, err
	}
	return s.turns(func(t tool, round int, m mode, set *resultSet) error {
		for where, g := range inTurn(grounds, round) {
			w := work{content: mixed, spread: crowdedSpread, fixed: true, where: where}
			if err := s.turn(ctx, g, w, t, round, m, set); err != nil {
				return err
			}
			if set.failed(t) {
				return nil
			}
		}
		return nil
	})
}

// inTurn returns the two grounds; the first one alternates between rounds.
func inTurn(grounds map[string]*ground, round int) iter.Seq2[string, *ground] {
	order := []string{inEmpty, inCrowded}
	return func(yield func(string, *ground) bool) {
		first, second := order[round%2], order[(round+1)%2]
		_ = yield(first, grounds[first]) && yield(second, grounds[second])
	}
}

// fill creates the foreign objects of the crowded cluster and waits until it is idle.
func (s *site) fill(ctx context.Context, g *ground) error {
	fmt.Fprintf(
		os.Stderr,
		"bench: crowded: making %d definitions and %d objects\n",
		definitions,
		s.options.foreign,
	)
	home := s.name
	for _, part := range []struct {
		name    string
		content content
		number  int
	}{{"definitions", manyDefinitions, definitions}, {"objects", foreign, s.options.foreign}} {
		p, err := newPack(
			filepath.Join(s.temp, "foreign-"+part.name),
			home,
			spreadOver(home, crowdedSpread),
		)
		if err != nil {
			return err
		}
		err = errors.Join(
			g.makeNamespaces(ctx, p.namespaces),
			p.write(part.content, part.number, 1),
		)
		if err != nil {
			return err
		}
		create := invocation{tool: tools[0], args: p.fill(tools[0].create), mode: timing}
		if _, err := s.command(ctx, g, create); err != nil {
			return err
		}
	}
	_, err := g.rest(ctx)
	return err
}

// manyDefinitions returns n definitions in as many groups.
func manyDefinitions(_ *pack, n, _ int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for i := range n {
			text := customDefinition(
				fmt.Sprintf("group%03d.example.com", i),
				"Foreign",
				"              text: {type: string}\n",
			)
			if !yield(fmt.Sprintf("definition-%03d.yaml", i), []byte(text)) {
				return
			}
		}
	}
}
