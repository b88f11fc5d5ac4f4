// Ring runs the parts of a ring of tests, one after the other, and prints how long each took:
//
//	ring [-name NAME] [-limit MINUTES] [-runs COUNT] [-busy COUNT] PART... -- COMMAND [ARGUMENT]...
//
// The command runs for each part, whose name replaces {} in the arguments. After a part that fails
// the others run nevertheless, and ring fails at the end: nothing is run a second time because it
// has failed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := parse(os.Args[1:])
	if err == nil {
		r.execute, r.out = execute, os.Stdout
		err = r.run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "ring:", err)
		os.Exit(1)
	}
}

// ring is the parts of a ring and how they are run.
type ring struct {
	name           string   // of the ring; empty for one that is a part itself
	limit          int      // minutes that the ring may take; 0 for no limit
	runs, busy     int      // runs of each part; processors to keep busy meanwhile
	parts, command []string // the command has {} for the part
	execute        func(ctx context.Context, command []string) error
	out            io.Writer
}

// parse returns the ring that arguments describe.
func parse(args []string) (*ring, error) {
	r := &ring{}
	flags := flag.NewFlagSet("ring", flag.ContinueOnError)
	flags.StringVar(&r.name, "name", "", "print how long the ring of this name took")
	flags.IntVar(&r.limit, "limit", 0, "minutes that the ring may take")
	flags.IntVar(&r.runs, "runs", 1, "how often to run each part")
	flags.IntVar(&r.busy, "busy", 0, "how many processors to keep busy meanwhile")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	i := slices.Index(flags.Args(), "--")
	if i < 1 || i == flags.NArg()-1 {
		return nil, errors.New("name parts, and after -- a command")
	}
	r.parts, r.command = flags.Args()[:i], flags.Args()[i+1:]
	return r, nil
}

// run runs all parts and returns an error that names those that failed.
func (r *ring) run(ctx context.Context) error {
	idle := keepBusy(r.busy, compute)
	defer idle()
	began := time.Now()
	var failed []string
	for _, part := range r.parts {
		for i := range r.runs {
			name := part
			if r.runs > 1 {
				name = fmt.Sprintf("%s, run %d of %d", part, i+1, r.runs)
			}
			if !r.runPart(ctx, part, name) {
				failed = append(failed, name)
			}
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted in %s", name)
			}
		}
	}
	r.printTime(time.Since(began))
	if len(failed) > 0 {
		return fmt.Errorf("failed: %s", strings.Join(failed, "; "))
	}
	return nil
}

// runPart runs the command for a part and reports whether it succeeded.
func (r *ring) runPart(ctx context.Context, part, name string) bool {
	command := make([]string, len(r.command))
	for i, arg := range r.command {
		command[i] = strings.ReplaceAll(arg, "{}", part)
	}
	began := time.Now()
	err := r.execute(ctx, command)
	took := time.Since(began).Round(time.Second)
	if err != nil {
		fmt.Fprintf(r.out, "%s failed after %s: %v\n", name, took, err)
		return false
	}
	fmt.Fprintf(r.out, "%s took %s\n", name, took)
	return true
}

// printTime prints how long a ring took, and whether that is a fifth more than its limit.
func (r *ring) printTime(took time.Duration) {
	if r.name == "" {
		return
	}
	minutes, over := int((took+time.Minute-1)/time.Minute), ""
	if minutes*5 > r.limit*6 {
		over = ": it has outgrown its limit"
	}
	fmt.Fprintf(r.out, "make %s took %d minutes of %d%s\n", r.name, minutes, r.limit, over)
}

// execute runs a command with the input and output of this process. The end of ctx terminates it.
func execute(ctx context.Context, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	return cmd.Run()
}
