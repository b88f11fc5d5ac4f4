package look

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/history"
)

func TestHistoryTable(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	git := &history.Git{Commit: "9f31c2a0123", Branch: "main"}
	heads := []history.Head{
		{Meta: history.Meta{Number: 9, Time: now.Add(-2 * time.Minute), User: "ci-bot", Git: git,
			CI: "https://example.com/runs/812", Outcome: history.Failed,
			Changes:  []history.Change{{Op: "configured", Kind: "Deployment", Count: 1}},
			Failures: []string{"deployment.apps/web: ImagePull\tBackOff", "more"}}},
		{Pinned: true, Meta: history.Meta{Number: 8, Time: now.Add(-48 * time.Hour), Login: "ann",
			Git: &history.Git{Commit: "77ab010", Dirty: true}, Outcome: history.Succeeded,
			Changes: []history.Change{{Op: "configured", Kind: "Job", Count: 2},
				{Op: "created", Kind: "Job", Count: 1}, {Op: "orphaned", Kind: "Job", Count: 1}}}},
		{Meta: history.Meta{Number: 7, Time: now, Outcome: history.Failed,
			Artifact: "oci://example.com/team/shop:1.4.0@sha256:1c2d3e4f" + strings.Repeat("0", 56),
			Failures: []string{strings.Repeat("ü", 200)}}},
		{Meta: history.Meta{Number: 6}, Err: errors.New("of its part a, which is missing")},
	}
	var out strings.Builder
	env := &cli.Env{Out: &out, Now: func() time.Time { return now }}
	if err := historyTable(env, heads, false); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	want := []string{
		"REV AGE BY FROM CHANGED OUTCOME",
		"9 2m ci-bot (run 812) 9f31c2a main ~1 deployment " +
			"failed: deployment.apps/web: ImagePull BackOff",
		"8 2d ann 77ab010 (modified) +1 ~2 -1 ok, pinned",
		"7 0s - oci shop:1.4.0@sha256:1c2d3e4 - failed: " +
			strings.Repeat("ü", maxOutcome-len("failed: ")) + " ...",
		"6 - - - - unreadable: of its part a, which is missing",
		"",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
