// Command bench measures muster and other tools that deploy sets of objects, side by side, on a
// control plane of its own.
//
// A scenario is a piece of work. Every tool on the PATH does it, some rounds one after the other,
// so that what the machine does besides falls on all of them alike. Medians and targets go to the
// standard output, all samples to a file on request. A target that is missed is printed and nothing
// more: docs/performance.md says how to read the figures.
//
// The program also runs itself: as "bench measure", which runs one command and reports what it
// used, and as "bench floor", which is the least that any tool could do.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// scenario is a piece of work that is measured.
type scenario struct {
	name            string
	objects, rounds int  // defaults
	fixed           bool // -n does not change the number of objects
	// run returns the results so far with an error.
	run func(context.Context, *site) ([]*Result, error)
}

var scenarios = []scenario{
	{"ready", 1000, 1, false, ready},
	{"mixed", 200, 3, false, work{content: mixed, spread: 1}.run},
	{"large", 4, 3, true, work{content: large, spread: 1, large: true}.run},
	{"namespaces", 2000, 2, false, work{content: mixed, spread: 200, fixed: true}.run},
	{"crowded", 20, 5, true, crowded},
	{"start", 6, 10, true, start},
	{"view", 200, 3, false, view},
	{"sets", 1000, 1, false, sets},
}

// site is where a scenario runs, and with what.
type site struct {
	scenario // with the numbers of objects and rounds that hold
	options  options
	tools    []tool
	temp     string // the folder of everything that is written
	profiled string // the muster that writes profiles, or empty
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
	o, err := parseOptions(os.Args[1:])
	if err != nil {
		return err
	}
	os.Setenv("PATH", o.bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	found, err := findTools(ctx, o.tools)
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp("", "muster-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	profiled, err := o.buildProfiled(ctx, temp)
	if err != nil {
		return err
	}
	var all []*Result
	for _, chosen := range o.scenarios {
		for _, n := range o.sizes(chosen) {
			s := &site{scenario: chosen, options: o, tools: found, profiled: profiled}
			s.objects, s.rounds = n, or(o.rounds, chosen.rounds)
			s.temp = filepath.Join(temp, fmt.Sprintf("%s-%d", s.name, n))
			results, err := s.run(ctx, s)
			err = errors.Join(err, os.RemoveAll(s.temp))
			all = append(all, results...)
			compare(results, recorded, absent(found))
			printTable(
				os.Stdout,
				fmt.Sprintf("%s, %d objects, %d rounds", s.name, s.objects, s.rounds),
				results,
			)
			if err != nil {
				return errors.Join(fmt.Errorf("scenario %s: %w", s.name, err), writeJSON(o.json, all, nil))
			}
		}
	}
	verdicts := judge(all)
	printVerdicts(os.Stdout, verdicts)
	return writeJSON(o.json, all, verdicts)
}

// scenariosNamed returns the scenarios with the given names, or all.
func scenariosNamed(wanted []string) ([]scenario, error) {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	var chosen []scenario
	for _, name := range wanted {
		i := slices.Index(names, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q; there are %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, scenarios[i])
	}
	if len(chosen) == 0 {
		return scenarios, nil
	}
	return chosen, nil
}

func or(given, otherwise int) int {
	if given > 0 {
		return given
	}
	return otherwise
}
