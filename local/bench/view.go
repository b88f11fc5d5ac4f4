package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/creack/pty"
)

// The two ways in which the scenario view shows a run.
const (
	shownLive = "live"
	shownNot  = "quiet"
)

// view applies the same objects with the live view, on a terminal, and without any output, in turn:
// the difference of the CPU times is what drawing takes.
func view(ctx context.Context, s *site) (results []*Result, err error) {
	g, err := s.raise(ctx, "plane")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.down(ctx)) }()
	return s.turns(func(t tool, round int, m mode, set *resultSet) error {
		if t.view == nil || m == counting {
			return nil
		}
		order := []string{shownNot, shownLive}
		for i := range order {
			where := order[(i+round)%len(order)]
			if err := s.viewTurn(ctx, g, where, round, invocation{tool: t, mode: m}, set); err != nil {
				return err
			}
		}
		return nil
	})
}

// viewTurn applies a package of its own, shown in one way, and destroys it.
func (s *site) viewTurn(
	ctx context.Context, g *ground, where string, round int, in invocation, set *resultSet,
) error {
	home := fmt.Sprintf("view-%s-%s-%d", in.tool.name, where, round)
	p, err := newPack(filepath.Join(s.temp, home), home, []string{home})
	if err != nil {
		return err
	}
	err = errors.Join(g.makeNamespaces(ctx, p.namespaces), p.write(rollouts, s.objects, 1))
	if err != nil {
		return err
	}
	in.args = append(p.fill(in.tool.view), "--output="+where)
	in.terminal = where == shownLive
	drawn := false
	in.line = func(line string, _ time.Time) { drawn = drawn || strings.Contains(line, fullScreen) }
	result := set.of(s, in.tool, where, created)
	if err := s.do(ctx, g, result, in); err != nil {
		return err
	}
	if result.Failed == "" && drawn != in.terminal {
		return fmt.Errorf("%s --output=%s: the run was drawn: %t", in.tool.name, where, drawn)
	}
	return s.tidy(ctx, g, p)
}

// fullScreen is how programs ask a terminal for a screen of their own.
const fullScreen = "\x1b[?1049h"

// Of the objects of the scenario view.
const (
	maxRollouts   = 200 // Deployments; the others are ConfigMaps
	firstReady    = 5   // seconds until the first of them are ready
	rolloutSpread = 30  // seconds from the first to the last
)

// slowRollout is a Deployment, for its name, its metadata, the label set and seconds until it is
// ready.
const slowRollout = `apiVersion: apps/v1
kind: Deployment
%[2]sspec:
  replicas: 1
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata:
      labels: {app: %[1]s, set: %[3]q}
      annotations: {local.muster.dev/ready-after: %[4]ds}
    spec: {containers: [{name: main, image: "example/web:1"}]}
`

// rollouts returns Deployments that become ready one after the other, and ConfigMaps.
func rollouts(p *pack, n, edition int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		var file bytes.Buffer
		for i := range n {
			name := fmt.Sprintf("bench-%05d", i)
			about := p.metadata(name, i, edition)
			file.WriteString("---\n")
			if i < maxRollouts {
				fmt.Fprintf(&file, slowRollout, name, about, p.home+"-bench", firstReady+i%rolloutSpread)
			} else {
				fmt.Fprintf(&file, "apiVersion: v1\nkind: ConfigMap\n%sdata: {key: value}\n", about)
			}
		}
		yield("objects.yaml", file.Bytes())
	}
}

// The size of the terminal, in columns and rows.
const (
	terminalColumns = 120
	terminalRows    = 40
)

// startOnTerminal starts a command on a terminal of its own. The reader returns what is written to
// it, and ends without an error.
func startOnTerminal(cmd *exec.Cmd) (io.ReadCloser, error) {
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = nil, nil, nil
	cmd.Env = append(cmd.Env, "TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR=", "CI=")
	file, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: terminalColumns, Rows: terminalRows})
	if err != nil {
		return nil, err
	}
	return terminalReader{file}, nil
}

// terminalReader reads from a terminal until nobody can write to it any more, which is an error of
// files.
type terminalReader struct{ *os.File }

func (r terminalReader) Read(p []byte) (int, error) {
	n, err := r.File.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}
