package sets

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/lock"
	"github.com/muster-deploy/muster/internal/plan"
)

// definer is the part of an operation whose record may need a new definition.
type definer struct {
	emitter
	again bool
	log   func(string) error
}

func (d definer) makePlan(_ context.Context, op *Operation) error {
	op.Plan = &plan.Plan{}
	return d.log("make")
}

func (d definer) Define(context.Context) (bool, error) { return d.again, d.log("define") }

// A set is changed in the same order by everybody. What fails ends the change, and the lock is
// released in any case.
func TestProtocol(t *testing.T) {
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		fails string
		again bool
		want  []string
	}{
		"all": {"", false, []string{"lock", "plan", "make", "revise", "define", "run", "unlock"}},
		"another definition": {"", true, []string{"lock", "plan", "make", "revise", "define", "make",
			"revise", "check", "run", "unlock"}},
		"locked":      {"lock", false, []string{"lock"}},
		"no plan":     {"make", false, []string{"lock", "plan", "make", "unlock"}},
		"no revision": {"revise", false, []string{"lock", "plan", "make", "revise", "unlock"}},
		"undefined": {"define", true,
			[]string{"lock", "plan", "make", "revise", "define", "unlock"}},
		"refused then": {"check", true, []string{"lock", "plan", "make", "revise", "define", "make",
			"revise", "check", "unlock"}},
		"run": {"run", false,
			[]string{"lock", "plan", "make", "revise", "define", "run", "unlock"}},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []string
			log := func(call string) error {
				if calls = append(calls, call); call == c.fails {
					return broken
				}
				return nil
			}
			part := definer{again: c.again, log: log}
			op := &Operation{
				format: part, work: part,
				Revise: func(context.Context) error { return log("revise") },
			}
			var given error
			err := Protocol{
				Lock: func(ctx context.Context, _ lock.Set) (*lock.Lock, context.Context, error) {
					return nil, ctx, log("lock")
				},
				Unlock: func(_ context.Context, _ *lock.Lock, err error) error {
					given = err
					return errors.Join(err, log("unlock"))
				},
				Plan: func(ctx context.Context, locked bool) error {
					if locked {
						t.Error("there is no lock")
					}
					return errors.Join(log("plan"), op.MakePlan(ctx))
				},
				Check: func(context.Context) error { return log("check") },
				Run:   func(context.Context, *lock.Lock) error { return log("run") },
			}.Change(t.Context(), op)
			if !slices.Equal(calls, c.want) {
				t.Errorf("calls = %q, want %q", calls, c.want)
			}
			if fails := c.fails != ""; errors.Is(err, broken) != fails {
				t.Errorf("error = %v", err)
			}
			if c.fails != "lock" && errors.Is(given, broken) != (c.fails != "") {
				t.Errorf("the lock is released with the error %v", given)
			}
		})
	}
}

// What begins a run comes before its first event, and not in a dry run.
func TestOperationBegins(t *testing.T) {
	broken := errors.New("broken")
	for mode, want := range map[engine.DryRun][]string{
		engine.DryRunNone:   {"begin", "heard", "sink"},
		engine.DryRunServer: {"heard", "sink"},
	} {
		var calls []string
		op := emitting(&plan.Plan{}, event.Event{Kind: event.Settled})
		op.Begin = func(context.Context) error {
			calls = append(calls, "begin")
			return nil
		}
		op.Listeners = []event.Sink{func(event.Event) { calls = append(calls, "heard") }}
		_, err := op.Run(t.Context(), engine.Options{DryRun: mode}, func(event.Event) {
			calls = append(calls, "sink")
		})
		if err != nil || !slices.Equal(calls, want) {
			t.Errorf("%s: calls = %q, want %q, %v", mode, calls, want, err)
		}
		op.Begin = func(context.Context) error { return broken }
		calls = nil
		_, err = op.Run(t.Context(), engine.Options{DryRun: mode}, func(event.Event) {})
		if begins := mode == engine.DryRunNone; errors.Is(err, broken) != begins ||
			begins != (len(calls) == 0) {
			t.Errorf("%s: calls = %q, %v", mode, calls, err)
		}
	}
}
