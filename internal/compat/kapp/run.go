package kapp

import (
	"context"

	"github.com/muster-deploy/muster/internal/base/limit"
	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/engine"
)

// logLines is how many lines of the log of a failed container are printed.
const logLines = 3

// runOptions returns how the flags want changes to be calculated and made.
func (s *session) runOptions(diff diffFlags, apply applyFlags, kinds kindFlags) deploy.RunOptions {
	return deploy.RunOptions{
		ChangeFilter: diff.filter, Mask: diff.mask, UseLastApplied: diff.lastApplied,
		UpdateStrategy: apply.updateStrategy, ApplyIgnored: apply.applyIgnored,
		AwaitUnchanged: apply.holdUnready,
		Wait:           apply.wait, WaitIgnored: apply.waitIgnored, ServerSide: apply.merges(),
		IgnoreFailingAPIServices: kinds.ignoreFailing,
		WaitTimeout:              apply.resourceTimeout, ShowChildren: true,
		Engine: engine.Options{
			DryRun: engine.DryRunNone,
			Limits: apply.limits(),
			Retry: engine.Retry{
				Every: apply.applyInterval, For: limit.After(apply.applyTimeout),
			},
			StopOn:      apply.stopOn(),
			Concurrency: apply.applyAtOnce,
			Successors:  true,
			NoCauses:    true,
			LogLines:    logLines,
		},
		Debug: s.global.debug, DebugHistory: s.env.Getenv("KAPP_DEBUG_RESOURCE_WITH_HISTORY") == "true",
	}
}

// limits returns the limits of waiting. As with kapp, 0 or less leaves a single attempt. If nothing
// is waited for, an object to be recreated may take as long to be gone as a write may take: it must
// not stay deleted.
func (f *applyFlags) limits() engine.Limits {
	limits := engine.Limits{Idle: limit.After(f.waitTimeout), Stall: limit.None()}
	if f.waitTimeout <= 0 {
		limits.Delete = limit.After(f.applyTimeout)
	}
	return limits
}

// stopOn returns the failures that end a run early.
func (f *applyFlags) stopOn() engine.StopOn {
	return engine.StopOn{
		WriteError: f.earlyApplyError, WaitError: f.earlyWaitError,
	}
}

// review returns how a command prints changes and their progress.
func (s *session) review(diff diffFlags, apply applyFlags) deploy.Review {
	review := deploy.Review{
		Print:  func(r *deploy.Run) error { return s.changes(diff, r).print() },
		DryRun: diff.run, Fields: diff.changes,
		NewPrinter: func(r *deploy.Run) deploy.RunPrinter {
			return newEventPrinter(s.ui, apply, r.Plan().Steps)
		},
	}
	if diff.page {
		review.Serve = func(ctx context.Context, r *deploy.Run) error { return s.serve(ctx, r) }
	}
	return review
}
