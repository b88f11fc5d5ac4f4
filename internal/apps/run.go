package apps

import (
	"context"

	"github.com/muster-deploy/muster/internal/apps/app"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/config"
)

// Run is a set of changes, from their calculation to their execution.
type Run interface {
	// Calculate decides the changes that make the inputs of the existing objects, and their order.
	Calculate(existing, inputs []liveObject) error
	// Changes returns the changes in the order in which they are printed.
	Changes() []*change.Change
	// Excluded reports whether a filter has excluded changes.
	Excluded() bool
	// Plan builds the plan of the changes.
	Plan(ctx context.Context) error
	// Execute runs the plan and prints its progress.
	Execute(ctx context.Context) error
}

// RunOptions are the circumstances of a Run.
type RunOptions struct {
	Config  *config.Config
	App     *app.App
	Deletes bool                // the app is deleted
	Adopted map[liveObject]bool // live objects that lack the label of the app
	// CheckOwner returns an error for a live object that belongs to another app.
	CheckOwner func(ctx context.Context, input, live liveObject) error
}

// Review says how changes are calculated, and how the user sees them before they are made.
type Review struct {
	NewRun       func(RunOptions) Run
	ChangeFilter string // in JSON; NewRun applies it
	// live objects keep managed fields, which diffs print
	ManagedFields bool
	Print         func(Run) error // prints the changes
	// serves the changes to a browser instead of making them
	Serve  func(context.Context, Run) error
	DryRun bool // changes are only printed
}
