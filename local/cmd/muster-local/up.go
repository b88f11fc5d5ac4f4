package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/muster-deploy/muster/local/plane"
)

const upHelp = `Starts the plane and prints how to reach it. Components that run already are left alone. A plane
that was down continues with its data. If up fails or is interrupted, it stops the components that it
started.`

func upCommand(t *target) *cobra.Command {
	o := plane.Options{}
	wait := true
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start the plane",
		Long:  upHelp,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.NoWait = !wait
			if err := readNodeFlags(cmd.Flags(), &o); err != nil {
				return err
			}
			return up(cmd, t, o)
		},
	}
	flags := cmd.Flags()
	addNodeFlags(flags)
	flags.BoolVar(&wait, "wait", true, "return when the plane is ready, not when it is started")
	return cmd
}

const (
	nodesFlag = "nodes"
	realFlag  = "real-node"
)

func addNodeFlags(flags *pflag.FlagSet) {
	flags.Int(nodesFlag, 0,
		"number of simulated nodes (default: as before, else 1, or none beside real ones)")
	flags.Int(realFlag, 0,
		"number of nodes that run containers, for root (default: as before, else none)")
	flags.Lookup(realFlag).NoOptDefVal = "1"
}

// readNodeFlags sets the numbers of nodes that the command line gives.
func readNodeFlags(flags *pflag.FlagSet, o *plane.Options) error {
	for name, field := range map[string]**int{nodesFlag: &o.Nodes, realFlag: &o.Real} {
		if !flags.Changed(name) {
			continue
		}
		number, err := flags.GetInt(name)
		if err != nil || number < 0 {
			return errors.Join(err, fmt.Errorf("--%s: %d is less than 0", name, number))
		}
		*field = &number
	}
	return nil
}

func up(cmd *cobra.Command, t *target, o plane.Options) error {
	dir, err := t.dir()
	if err != nil {
		return err
	}
	begin := time.Now()
	o.Dir = dir
	p, err := plane.Up(cmd.Context(), o)
	if err != nil {
		return fmt.Errorf("start plane %q: %w", t.name, err)
	}
	out := cmd.OutOrStdout()
	switch started := p.Started(); {
	case len(started) == 0:
		fmt.Fprintf(out, "plane %q is already up\n", t.name)
	case len(started) < len(p.Names()):
		fmt.Fprintf(out, "plane %q is up again: started %s\n", t.name, strings.Join(started, ", "))
	case o.NoWait:
		fmt.Fprintf(out, "plane %q is started\n", t.name)
	default:
		fmt.Fprintf(out, "plane %q is up after %.1fs\n", t.name, time.Since(begin).Seconds())
	}
	fmt.Fprintf(out, "  server      %s\n  kubeconfig  %s\n", p.Server(), p.Kubeconfig())
	fmt.Fprintf(out, "\nexport KUBECONFIG=%s\n", quote(p.Kubeconfig()))
	return nil
}

// quote makes a path one word for a shell.
func quote(path string) string {
	if strings.ContainsAny(path, " \t\n'\"\\$&;|<>()*?[]#~`!{}") {
		return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
	}
	return path
}

func downCommand(t *target) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "Stop the plane and keep its data",
		Long: `Stops the processes that up started. The data stays: up continues with it. Nothing happens if the
plane is down.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := existing(t)
			if err != nil {
				return err
			}
			if p == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "there is no plane %q\n", t.name)
				return nil
			}
			if err := p.Down(cmd.Context()); err != nil {
				return fmt.Errorf("end plane %q: %w", t.name, err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "plane %q is down\n", t.name)
			return nil
		},
	}
}

func resetCommand(t *target) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset",
		Short: "End the plane, delete its data, and start it again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := existing(t)
			if err != nil {
				return err
			}
			if p != nil {
				if err := p.Delete(cmd.Context()); err != nil {
					return fmt.Errorf("delete plane %q: %w", t.name, err)
				}
			}
			o := plane.Options{}
			if err := readNodeFlags(cmd.Flags(), &o); err != nil {
				return err
			}
			return up(cmd, t, o)
		},
	}
	addNodeFlags(cmd.Flags())
	return cmd
}

// existing opens the plane; of one that was never up there is none, which is no error.
func existing(t *target) (*plane.Plane, error) {
	dir, err := t.dir()
	if err != nil {
		return nil, err
	}
	p, err := plane.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return p, err
}
