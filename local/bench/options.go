package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// options are what the flags ask for.
type options struct {
	scenarios []scenario
	tools     []string // names; all when empty
	objects   []int    // the scenario's own number when empty
	rounds    int      // the scenario's own number when 0
	foreign   int      // objects in the crowded cluster
	uncounted bool     // no round that counts requests
	json      string   // file of all samples, or empty
	profile   string   // folder of profiles, or empty
	before    string   // program of an earlier muster, or empty
	bin       string   // folder of the built programs
}

func parseOptions(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ExitOnError)
	only := flags.String("scenario", "", "scenarios to run, separated by commas (default: all)")
	with := flags.String(
		"tools",
		"",
		"tools to run, separated by commas (default: all that are on the PATH)",
	)
	objects := flags.String(
		"n",
		"",
		"numbers of objects, separated by commas (ready, mixed, namespaces, view)",
	)
	flags.IntVar(&o.rounds, "rounds", 0, "number of rounds (default: the scenario's own)")
	flags.IntVar(&o.foreign, "foreign", 20000, "number of foreign objects in the crowded cluster")
	flags.BoolVar(
		&o.uncounted,
		"uncounted",
		false,
		"leave out the round that counts requests and bytes",
	)
	flags.StringVar(&o.json, "json", "", "file that gets all samples and verdicts")
	flags.StringVar(
		&o.profile,
		"profile",
		"",
		"folder that gets profiles of muster, of a round of its own",
	)
	flags.StringVar(&o.before, "before", "",
		"program of an earlier muster, which takes part as muster-before and muster-app-before")
	serverSide := flags.Bool("server-side", false,
		"muster takes part with server-side apply, too, as muster-ssa and muster-app-ssa")
	flags.StringVar(&o.bin, "bin", filepath.Join("..", "bin"), "folder of the built programs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if o.scenarios, err = scenariosNamed(list(*only)); err != nil {
		return o, err
	}
	o.tools = list(*with)
	for _, text := range list(*objects) {
		n, err := strconv.Atoi(text)
		if err != nil || n <= 0 {
			return o, fmt.Errorf("-n: %q is no number of objects", text)
		}
		o.objects = append(o.objects, n)
	}
	for _, path := range []*string{&o.bin, &o.profile, &o.before} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return o, err
		}
	}
	if *serverSide {
		withServerSide()
	}
	if o.before != "" {
		withEarlier(o.before)
	}
	return o, nil
}

// list returns the parts of a text that are separated by commas, without empty ones.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}

// sizes returns the numbers of objects with which a scenario runs.
func (o options) sizes(s scenario) []int {
	if len(o.objects) == 0 || s.fixed {
		return []int{s.objects}
	}
	return o.objects
}

// buildProfiled builds the muster that writes profiles, if any are wanted. The folder of the tool's
// module is above that of this module, in which the bench is run.
func (o options) buildProfiled(ctx context.Context, temp string) (string, error) {
	if o.profile == "" {
		return "", nil
	}
	if err := os.MkdirAll(o.profile, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(temp, "muster-profiled")
	cmd := exec.CommandContext(ctx, "go", "build", "-tags", "profile", "-o", program, "./cmd/muster")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build muster with profiles: %w\n%s", err, out)
	}
	return program, nil
}
