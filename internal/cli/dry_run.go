package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/engine"
)

// DryRunFlag is the flag --dry-run of the native commands: none, client or server. Alone it means
// client or, with server-side apply, server.
type DryRunFlag struct{ value string }

// Add adds the flag, with completion.
func (f *DryRunFlag) Add(cmd *cobra.Command, usage string) {
	f.add(cmd, usage+". One of: `none|client|server`; alone it is client or, with "+
		"--server-side, server")
}

// AddAlone adds the flag to a command without server-side apply, with completion.
func (f *DryRunFlag) AddAlone(cmd *cobra.Command, usage string) {
	f.add(cmd, usage+". One of: `none|client|server`; alone it is client")
}

func (f *DryRunFlag) add(cmd *cobra.Command, usage string) {
	flags := cmd.Flags()
	flags.Var(f, "dry-run", usage)
	flags.Lookup("dry-run").NoOptDefVal = "true"
	CompleteFlag(cmd, "dry-run", func(*cobra.Command) []string {
		return []string{"none", "client", "server"}
	})
}

// Is reports whether nothing may be changed.
func (f *DryRunFlag) Is() bool { return f.Mode(false) != engine.DryRunNone }

// Mode returns the mode of the run.
func (f *DryRunFlag) Mode(serverSide bool) engine.DryRun {
	switch f.value {
	case "", "none", "false":
		return engine.DryRunNone
	case "true":
		if serverSide {
			return engine.DryRunServer
		}
		return engine.DryRunClient
	default:
		return engine.DryRun(f.value)
	}
}

// Set sets the value.
func (f *DryRunFlag) Set(value string) error {
	switch value {
	case "none", "client", "server", "true", "false":
		f.value = value
		return nil
	}
	return fmt.Errorf("must be none, client or server")
}

// String returns the value.
func (f *DryRunFlag) String() string { return f.value }

// Type returns bool, so that help does not show the value of the flag alone.
func (f *DryRunFlag) Type() string { return "bool" }
