package kapp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
)

// A command that a signal ended says so, whatever it did.
func TestInterruption(t *testing.T) {
	for _, tc := range []struct {
		err  error
		want string
	}{
		{context.Canceled, "interrupted"},
		{fmt.Errorf("Getting app: %w", context.Canceled), "Getting app: interrupted"},
		{errors.New("Stopped"), "Stopped"},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("interrupted"))
		var out, errs strings.Builder
		u := ui.New(ui.Options{Out: &out, Err: &errs, Name: "kapp", Mode: ui.Plain})
		err := (&program{}).end(ctx, u, tc.err)
		coded := (*cli.ExitCodeError)(nil)
		if !errors.As(err, &coded) || coded.Code != cli.ExitInterrupted ||
			errs.String() != "kapp: Error: "+tc.want+"\n" {
			t.Errorf("%v: %v, printed %q", tc.err, err, errs.String())
		}
	}
}
