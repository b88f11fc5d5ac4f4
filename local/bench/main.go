// Command bench measures muster and other tools that deploy sets of objects, side by side, on a control plane of its own.
//
// A scenario is a piece of work. Every tool on the PATH does it, some rounds one after the other, so that what the machine
// does besides falls on all of them alike. Medians go to the standard output, all samples to a file on request. Nothing
// here judges a figure: docs/performance.md says how to read them.
//
// The program also runs itself: as "bench measure", which runs one command and tells what it used, and as "bench floor",
// which is the least that any tool could do.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/muster-deploy/muster/local/plane"
)

// scenario is a piece of work that is measured.
type scenario struct {
	name            string
	objects, rounds int                                             // unless told otherwise
	run             func(context.Context, *site) ([]*Result, error) // gives what there is also with an error
}

var scenarios = []scenario{
	{"ready", 1000, 1, ready},
	{"mixed", 200, 3, mixed},
}

// site is where a scenario runs, and with what.
type site struct {
	scenario
	tools      []tool
	plane      *plane.Plane
	kubeconfig string
	temp       string // the folder of everything that is written
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the program at once
	var err error
	switch {
	case len(os.Args) > 1 && os.Args[1] == "measure":
		os.Exit(measure(os.Args[2:]))
	case len(os.Args) > 1 && os.Args[1] == "floor":
		err = floor(ctx, os.Args[2:])
	default:
		err = bench(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench runs what the flags ask for.
func bench(ctx context.Context) error {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	only := flag.String("scenario", strings.Join(names, ","), "scenarios to run, separated by commas")
	with := flag.String("tools", "", "tools to run, separated by commas (default: all that are on the PATH)")
	objects := flag.Int("n", 0, "number of objects (default: the scenario's own)")
	rounds := flag.Int("rounds", 0, "number of rounds (default: the scenario's own)")
	file := flag.String("json", "", "file that gets all samples")
	bin := flag.String("bin", filepath.Join("..", "bin"), "folder of the built programs")
	flag.Parse()

	dir, err := filepath.Abs(*bin)
	if err != nil {
		return err
	}
	os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	found, err := findTools(*with)
	if err != nil {
		return err
	}
	var results []*Result
	for _, name := range strings.Split(*only, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(names, ", "))
		}
		s := &site{scenario: scenarios[i], tools: found}
		s.objects, s.rounds = or(*objects, s.objects), or(*rounds, s.rounds)
		done, err := s.onPlane(ctx, dir)
		printTable(os.Stdout, fmt.Sprintf("%s, %d objects, %d rounds", s.name, s.objects, s.rounds), done)
		results = append(results, done...)
		if err != nil {
			return errors.Join(fmt.Errorf("scenario %s: %w", name, err), writeJSON(*file, results))
		}
	}
	return writeJSON(*file, results)
}

// onPlane runs the scenario on a new plane in a temporary folder.
func (s *site) onPlane(ctx context.Context, bin string) (results []*Result, err error) {
	if s.temp, err = os.MkdirTemp("", "muster-bench-"); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(s.temp)) }()
	if s.plane, err = plane.Up(ctx, plane.Options{Dir: filepath.Join(s.temp, "plane"), Bin: bin, Nodes: 2, Tied: true}); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.plane.Down(context.WithoutCancel(ctx))) }()
	s.kubeconfig = s.plane.Kubeconfig()
	// No tool is charged with the definition that two of them need.
	if _, err := s.command(ctx, "muster", []string{"install-resource-group"}, nil); err != nil {
		return nil, err
	}
	return s.run(ctx, s)
}

func or(given, otherwise int) int {
	if given > 0 {
		return given
	}
	return otherwise
}
