package engine

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
)

// TestSchedule plays scripts against the schedule. A line of a script is a question or a message,
// and what is expected:
//
//	next -> 0 1      every step that may start now
//	acted 0          the write of step 0 is over
//	settle 0 failed  step 0 has ended
//	blocked -> 2<0   every step that never starts, and because of which
//	guarded 3 -> failed
//	done -> false
func TestSchedule(t *testing.T) {
	for _, tc := range []struct {
		name   string
		steps  []plan.Step
		script string
	}{
		{
			name:  "steps without edges start at once, in order",
			steps: []plan.Step{{}, {}, {}},
			script: `next -> 0 1 2
				settle 1 succeeded
				settle 0 succeeded
				done -> false
				settle 2 failed
				done -> true`,
		},
		{
			name:  "a step starts when what it needs has succeeded, not when it was written",
			steps: []plan.Step{{}, {Needs: []int{0}}},
			script: `next -> 0
				acted 0
				next ->
				settle 0 succeeded
				next -> 1`,
		},
		{
			name:  "a step whose need fails is blocked at once, and so is what needs it",
			steps: []plan.Step{{}, {}, {Needs: []int{0, 1}}, {Needs: []int{2}}},
			script: `next -> 0 1
				settle 1 timed out
				blocked -> 2<1
				settle 2 skipped
				blocked -> 3<2
				settle 3 skipped
				settle 0 succeeded
				next ->
				done -> true`,
		},
		{
			name:  "after waits for the end, whatever it is",
			steps: []plan.Step{{}, {Op: plan.Barrier, After: []int{0}}, {Needs: []int{1}}},
			script: `next -> 0
				settle 0 failed
				next -> 1
				guarded 1 -> succeeded
				settle 1 succeeded
				next -> 2`,
		},
		{
			name:  "a guard fails when a step before it did, not when one was skipped",
			steps: []plan.Step{{}, {}, {Op: plan.Guard, After: []int{0, 1}}, {Needs: []int{2}}},
			script: `next -> 0 1
				settle 0 skipped
				settle 1 succeeded
				next -> 2
				guarded 2 -> succeeded`,
		},
		{
			name: "a guard fails when a step before it was blocked",
			steps: []plan.Step{{}, {Needs: []int{0}}, {Op: plan.Guard, After: []int{0, 1}},
				{Needs: []int{2}}},
			script: `next -> 0
				settle 0 skipped
				blocked -> 1<0
				settle 1 skipped
				next -> 2
				guarded 2 -> failed`,
		},
		{
			name:  "a failed guard blocks",
			steps: []plan.Step{{}, {}, {Op: plan.Guard, After: []int{0, 1}}, {Needs: []int{2}}},
			script: `next -> 0 1
				settle 0 succeeded
				settle 1 interrupted
				next -> 2
				guarded 2 -> failed
				settle 2 failed
				blocked -> 3<2`,
		},
		{
			name:  "a rank waits until lower ranks are written, not until they are ready",
			steps: []plan.Step{{Rank: 1}, {Rank: 1}, {Rank: 2}},
			script: `next -> 0 1
				acted 0
				next ->
				acted 1
				next -> 2`,
		},
		{
			name:  "a lower rank that has to wait for a higher one does not hold it back",
			steps: []plan.Step{{Rank: 5}, {Rank: 1, Needs: []int{0}}, {Rank: 7}},
			script: `next -> 0
				settle 0 succeeded
				next -> 1
				acted 1
				next -> 2`,
		},
		{
			name:  "settling twice counts once",
			steps: []plan.Step{{}, {}},
			script: `next -> 0 1
				settle 0 failed
				settle 0 succeeded
				done -> false
				settle 1 succeeded
				done -> true`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := newSchedule(tc.steps)
			var got []string
			for line := range strings.Lines(tc.script) {
				got = append(got, play(t, s, strings.TrimSpace(line)))
			}
			want := strings.ReplaceAll(tc.script, "\t", "")
			if diff := cmp.Diff(want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// play carries out a line of a script and gives it back with the schedule's own answer.
func play(t *testing.T, s *schedule, line string) string {
	t.Helper()
	question, _, _ := strings.Cut(line, "->")
	words := strings.Fields(question)
	step := 0
	if len(words) > 1 {
		if _, err := fmt.Sscan(words[1], &step); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
	}
	answer := func(answers ...string) string {
		return strings.TrimSpace(strings.TrimSpace(question) + " -> " + strings.Join(answers, " "))
	}
	var answers []string
	switch words[0] {
	case "next":
		for i, ok := s.next(); ok; i, ok = s.next() {
			answers = append(answers, fmt.Sprint(i))
		}
		return answer(answers...)
	case "blocked":
		for b, ok := s.blocked(); ok; b, ok = s.blocked() {
			answers = append(answers, fmt.Sprintf("%d<%d", b.step, b.by))
		}
		return answer(answers...)
	case "guarded":
		return answer(string(s.joinOutcome(step)))
	case "done":
		return answer(fmt.Sprint(s.done()))
	case "acted":
		s.acted(step)
	case "settle":
		s.settle(step, event.Outcome(strings.Join(words[2:], " ")))
	default:
		t.Fatalf("unknown line %q", line)
	}
	return line
}
