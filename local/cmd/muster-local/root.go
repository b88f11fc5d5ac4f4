package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/local/plane"
)

const rootHelp = `Runs a real Kubernetes control plane on this machine: etcd, kube-apiserver,
kube-controller-manager and kube-scheduler, with simulated nodes. Pods become ready without running
containers, and misbehave on demand (see docs/local.md). All servers listen on 127.0.0.1 only.

Several planes can run side by side, each with a name. The state of a plane is in the folder of its
name under $MUSTER_LOCAL_STATE, or $XDG_STATE_HOME/muster-local, or ~/.local/state/muster-local.

Exit codes: 0 success, 1 failure (of status: the plane is not healthy), 130 interrupted.`

// target is the plane that a command is about.
type target struct {
	name string
}

func rootCommand() *cobra.Command {
	t := &target{}
	root := &cobra.Command{
		Use:           "muster-local",
		Short:         "A real Kubernetes control plane on this machine",
		Long:          rootHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&t.name, "name", "default", "name of the plane")
	root.AddCommand(
		upCommand(t),
		downCommand(t),
		statusCommand(t),
		kubeconfigCommand(t),
		resetCommand(t),
		logsCommand(t),
	)
	return root
}

// dir returns the state folder of the plane.
func (t *target) dir() (string, error) {
	if t.name == "" || t.name != filepath.Base(t.name) || strings.HasPrefix(t.name, ".") {
		return "", fmt.Errorf("%q is no name for a plane: it names a folder", t.name)
	}
	root := os.Getenv("MUSTER_LOCAL_STATE")
	if root == "" {
		base := os.Getenv("XDG_STATE_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", fmt.Errorf("find the state folder: %w", err)
			}
			base = filepath.Join(home, ".local", "state")
		}
		root = filepath.Join(base, "muster-local")
	}
	return filepath.Join(root, t.name), nil
}

// open finds a plane that was started at some time.
func (t *target) open() (*plane.Plane, error) {
	dir, err := t.dir()
	if err != nil {
		return nil, err
	}
	p, err := plane.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no plane %q: run \"muster-local up\" first", t.name)
	}
	return p, err
}
