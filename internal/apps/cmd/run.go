package cmd

import (
	"context"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/engine"
)

// runOptions returns how the flags want changes to be calculated and made.
func (s *session) runOptions(diff diffFlags, apply applyFlags, kinds kindFlags) apps.RunOptions {
	return apps.RunOptions{
		ChangeFilter: diff.filter, Mask: diff.mask, UseLastApplied: diff.lastApplied,
		UpdateStrategy: apply.updateStrategy, ApplyIgnored: apply.applyIgnored,
		Wait: apply.wait, WaitIgnored: apply.waitIgnored, AwaitUnchanged: apply.holdUnready,
		ServerSide: apply.merges(), IgnoreFailingAPIServices: kinds.ignoreFailing,
		WaitTimeout: apply.resourceTimeout, Rules: apply.userRules, ShowChildren: !s.native,
		Engine: engine.Options{
			Limits:      engine.Limits{Idle: apply.waitTimeout},
			Retry:       engine.Retry{Every: apply.applyInterval, For: apply.applyTimeout},
			StopOn:      apply.stopOn(),
			Concurrency: apply.applyAtOnce,
			NoCauses:    !s.native,
			LogLines:    apply.logLines,
		},
		Debug: s.global.debug, DebugHistory: s.env.Getenv("KAPP_DEBUG_RESOURCE_WITH_HISTORY") == "true",
	}
}

// stopOn returns the failures that end a run early.
func (f *applyFlags) stopOn() engine.StopOn {
	return engine.StopOn{
		WriteError: f.earlyApplyError || f.failFast, WaitError: f.earlyWaitError || f.failFast, Stuck: f.failFast,
	}
}

// review returns how a command prints changes and their progress.
func (s *session) review(diff diffFlags, apply applyFlags) apps.Review {
	review := apps.Review{
		Print:  func(r *apps.Run) error { return s.changes(diff, r).print() },
		DryRun: diff.run, Fields: diff.changes,
		NewPrinter: func(r *apps.Run) apps.RunPrinter { return newEventPrinter(s.ui, apply, r.Steps()) },
	}
	if diff.page {
		review.Serve = func(ctx context.Context, r *apps.Run) error { return s.serve(ctx, r) }
	}
	return review
}
