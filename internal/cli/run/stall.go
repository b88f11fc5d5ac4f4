package run

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/engine"
)

// stallLimit is how long a native run waits without progress.
type stallLimit struct {
	limit time.Duration
	given func() bool // reports whether the flag was typed
}

// add adds the flag to a command that has the flag total for the wait of each object.
func (s *stallLimit) add(cmd *cobra.Command, total string) {
	const name = "stall-timeout"
	cmd.Flags().DurationVar(&s.limit, name, engine.DefaultStall,
		"Time to wait while no object makes progress; 0 means no limit, which is the default with --"+
			total)
	s.given = func() bool { return cmd.Flags().Changed(name) }
}

// check returns an error for a negative limit.
func (s stallLimit) check() error { return cli.CheckTimeout("stall-timeout", s.limit) }

// value returns the limit: none by default if the user limits the whole wait for each object, which
// may be longer.
func (s stallLimit) value(total time.Duration) limit.Time {
	if total > 0 && s.given != nil && !s.given() {
		return limit.None()
	}
	return limit.OfFlag(s.limit)
}
