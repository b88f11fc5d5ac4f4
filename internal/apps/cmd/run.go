package cmd

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/muster-deploy/muster/internal/apps"
	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/ui"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/view"
)

// runOptions returns how the flags want changes to be calculated and made.
func (s *session) runOptions(diff diffFlags, apply applyFlags, kinds kindFlags) apps.RunOptions {
	return apps.RunOptions{
		ChangeFilter: diff.filter, Mask: diff.mask, UseLastApplied: diff.lastApplied,
		UpdateStrategy: apply.updateStrategy, ApplyIgnored: apply.applyIgnored,
		Wait: apply.wait, WaitIgnored: apply.waitIgnored, AwaitUnchanged: apply.holdUnready,
		ServerSide: apply.merges(), HintRecreation: s.native, LeaveReplicas: s.native,
		Conflicts:                apply.conflictMode(s.native),
		IgnoreFailingAPIServices: kinds.ignoreFailing,
		WaitTimeout:              apply.resourceTimeout, Rules: apply.userRules, ShowChildren: !s.native,
		Engine: engine.Options{
			Limits:      apply.limits(),
			Retry:       engine.Retry{Every: apply.applyInterval, For: limitOf(apply.applyTimeout)},
			StopOn:      apply.stopOn(),
			Concurrency: apply.applyAtOnce,
			Successors:  true,
			NoCauses:    !s.native,
			GiveUp:      s.native,
			LogLines:    apply.logLines,
		},
		Debug: s.global.debug, DebugHistory: s.env.Getenv("KAPP_DEBUG_RESOURCE_WITH_HISTORY") == "true",
	}
}

// limitOf returns the limit of a flag for the engine, whose 0 is without limit. As with kapp, 0 or
// less leaves a single attempt.
func limitOf(flag time.Duration) time.Duration { return max(flag, time.Nanosecond) }

// limits returns the limits of waiting. If nothing is waited for, an object to be recreated may
// take as long to be gone as a write may take: it must not stay deleted.
func (f *applyFlags) limits() engine.Limits {
	limits := engine.Limits{Idle: limitOf(f.waitTimeout)}
	if f.waitTimeout <= 0 {
		limits.Delete = limitOf(f.applyTimeout)
	}
	return limits
}

// stopOn returns the failures that end a run early.
func (f *applyFlags) stopOn() engine.StopOn {
	return engine.StopOn{
		WriteError: f.earlyApplyError || f.failFast, WaitError: f.earlyWaitError || f.failFast,
		Stuck: f.failFast,
	}
}

// review returns how a command prints changes and their progress.
func (s *session) review(diff diffFlags, apply applyFlags) apps.Review {
	review := apps.Review{
		Print: func(r *apps.Run) error {
			if err := s.changes(diff, r).print(); err != nil {
				return err
			}
			s.printOwners(r)
			return nil
		},
		DryRun: diff.run, Fields: diff.changes,
		NewPrinter: func(r *apps.Run) apps.RunPrinter {
			lines := newEventPrinter(s.ui, apply, r.Plan().Steps)
			if s.global.output != outputJSON {
				return lines
			}
			options := view.PhaseOptions{Waits: apply.wait}
			return jsonPrinter{lines, view.Phases(r.Plan(), options, s.jsonLines().Print)}
		},
	}
	if diff.page {
		review.Serve = func(ctx context.Context, r *apps.Run) error { return s.serve(ctx, r) }
	}
	return review
}

// printOwners prints which fields of changed objects others own.
func (s *session) printOwners(r *apps.Run) {
	for _, c := range r.Changes() {
		owned := r.Ownership(c)
		lines := view.Contests(&plan.Step{Contested: owned.Contested}, c.ApplyOp() != change.Update)
		if owned.Replicas != "" {
			lines = append(lines, owned.Replicas)
		}
		for _, line := range lines {
			s.ui.Line(c.Description() + ": " + line)
		}
	}
}

// conflictMode returns what happens with fields that others own.
func (f *applyFlags) conflictMode(native bool) plan.Conflicts {
	switch {
	case !native:
		return plan.ConflictsIgnored
	case f.conflicts != "":
		return plan.Conflicts(f.conflicts)
	default:
		return plan.NoteConflicts
	}
}

// outputJSON is the value of --output that prints the events of a run as JSON lines. All other text
// goes to the standard error then.
const outputJSON = "json"

func (s *session) jsonLines() view.JSONLines {
	return view.JSONLines{Out: s.env.Out, Now: s.env.Now, Reason: view.PlainReason, Detailed: true}
}

// jsonPrinter prints the events of a run as JSON, beside kapp's lines.
type jsonPrinter struct {
	*eventPrinter
	json view.Printer
}

// Event prints an event in both forms.
func (p jsonPrinter) Event(e event.Event) {
	p.json.Event(e)
	p.eventPrinter.Event(e)
}

// Close ends both forms. An error of the JSON output matters only if the run has none.
func (p jsonPrinter) Close(complete bool) error {
	failed := p.eventPrinter.Close(complete)
	return cmp.Or(failed, p.json.Close(failed))
}

// printJSONError prints the error of a command as JSON, if that is its output, and returns it.
func (s *session) printJSONError(err error) error {
	exit := (*ui.ExitError)(nil)
	if err != nil && s.global.output == outputJSON && !errors.As(err, &exit) {
		_ = s.jsonLines().Fail(err.Error()) // the error itself matters more
	}
	return err
}
