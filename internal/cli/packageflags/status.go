package packageflags

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/ready"
)

// StatusFlags are the flags of status.
type StatusFlags struct {
	Until      cli.Choice
	Timeout    time.Duration
	Names      []string
	Namespaces []string
	Statuses   []string
	RuleFiles  []string
	LogLines   int
	Type       string
	Records    []string
}

// NewStatusFlags returns the flags with defaults.
func NewStatusFlags() StatusFlags {
	return StatusFlags{Until: cli.Choice{
		Value: "known", Meaning: "poll-until",
		Allowed: []string{"known", "current", "deleted", "forever"},
	}}
}

// Add adds the flags to a command.
func (f *StatusFlags) Add(cmd *cobra.Command) {
	f.Until.AddTo(cmd, "poll-until", "State to wait for")
	cli.AddRules(cmd, &f.RuleFiles)
	cli.AddLogLines(cmd, &f.LogLines)
	flags := cmd.Flags()
	flags.DurationVar(&f.Timeout, "timeout", 0, "Time to wait; 0 means no limit")
	flags.Duration("poll-period", 2*time.Second,
		"Ignored: objects are watched; accepted for compatibility with kpt")
	flags.StringVar(&f.Type, "inv-type", "local",
		"local for the objects of the package, remote for those of all inventories in the cluster")
	flags.StringSliceVar(&f.Records, "inv-names", nil,
		"With --inv-type remote, only inventories with these names")
	flags.StringSliceVar(&f.Names, "names", nil, "Only objects with these names")
	flags.StringSliceVar(&f.Namespaces, "namespaces", nil, "Only objects in these namespaces")
	flags.StringSliceVar(&f.Statuses, "statuses", nil,
		"Only these statuses, such as InProgress,Failed")
	cli.CompleteChoices(cmd, "inv-type", "local", "remote")
	cli.CompleteChoices(cmd, "statuses", states...)
}

// Remote reports whether the objects of all inventories in the cluster are shown.
func (f *StatusFlags) Remote() bool { return f.Type == "remote" }

// states are the values of --statuses, in any case.
var states = []string{
	string(ready.Current), string(ready.InProgress), string(ready.Failed),
	string(ready.Terminating), string(ready.NotFound), string(ready.Unknown),
}

// Check returns an error for invalid flags; output is the choice of the output format.
func (f *StatusFlags) Check(output *cli.Choice) error {
	if err := cli.CheckChoices(&f.Until, output); err != nil {
		return err
	}
	switch {
	case f.Type != "local" && f.Type != "remote":
		return errors.New("inv-type flag should be either local or remote")
	case f.Type == "local" && len(f.Records) > 0:
		return errors.New("inv-names flag should only be used when inv-type is set to remote")
	}
	for _, status := range f.Statuses {
		if !slices.ContainsFunc(
			states, func(state string) bool { return strings.EqualFold(state, status) },
		) {
			return fmt.Errorf("--statuses %q: must be one of %s", status, strings.Join(states, ", "))
		}
	}
	return errors.Join(cli.CheckTimeout("timeout", f.Timeout), cli.CheckLogLines(f.LogLines))
}

// Filter returns the objects that the filters match.
func (f *StatusFlags) Filter(refs []object.Ref) []object.Ref {
	return slices.DeleteFunc(refs, func(ref object.Ref) bool {
		return len(f.Names) > 0 && !slices.Contains(f.Names, ref.Name) ||
			len(f.Namespaces) > 0 && !slices.Contains(f.Namespaces, ref.Namespace)
	})
}

// Matches reports whether --statuses matches the status of an event.
func (f *StatusFlags) Matches(e event.Event) bool {
	return len(f.Statuses) == 0 || slices.ContainsFunc(f.Statuses, func(status string) bool {
		return strings.EqualFold(status, string(e.Status.State))
	})
}
