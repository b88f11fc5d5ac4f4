package live_test

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/object"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/fullscreen"
	"github.com/muster-deploy/muster/internal/show/live"
	"github.com/muster-deploy/muster/internal/show/view"
	"github.com/muster-deploy/muster/internal/testing/golden"
)

// TestRun draws runs whose events, keys and pauses are in a script:
//
//	sizes COLUMNSxROWS...    what show draws, first of all
//	ascii, destroy           how the run is, before anything happens
//	acted STEPS              the objects of steps (3, or 3-9) are written
//	waiting STEPS MESSAGE    they are not ready, and have a status
//	cause STEP MESSAGE|LOG   why it is not ready, and the end of a log
//	ready|late|skipped STEPS they end
//	refused STEP ERROR       the server refuses the object
//	retried STEP ERROR       its write is sent again
//	lost ERROR, warn TEXT    a message about the run, and one beside it
//	log CONTAINER TEXT       a line comes in the log that is shown; - is no container
//	closed NUMBER            how many logs are not read any more
//	after DURATION           time passes
//	keys KEY...              keys are typed
//	show NAME                the screen is an output, in each size
func TestRun(t *testing.T) {
	golden.Run(t, "testdata/run_*.txtar", func(t *testing.T, in map[string]string) map[string]string {
		s := &script{out: map[string]string{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
		for line := range strings.Lines(in["script"]) {
			what, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			if err := s.do(what, rest); err != nil {
				t.Fatalf("%s: %v", strings.TrimSpace(line), err)
			}
		}
		return s.out
	})
}

// rollout returns the plan of a namespace, settings in it, 200 deployments that need both through a
// barrier, and a job that needs all of them.
func rollout(destroys bool) *plan.Plan {
	op := plan.Create
	if destroys {
		op = plan.Delete
	}
	p := &plan.Plan{Destroys: destroys, Steps: []plan.Step{
		{Ref: object.Ref{Kind: "Namespace", Name: "shop"}, Op: op},
		{Ref: object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: "settings"}, Op: op,
			Needs: []int{0}, Source: "settings.yaml"},
		{Op: plan.Barrier, After: []int{0, 1}},
	}}
	var all []int
	for i := range 200 {
		all = append(all, len(p.Steps))
		p.Steps = append(p.Steps, plan.Step{
			Ref: object.Ref{Group: "apps", Kind: "Deployment", Namespace: "shop",
				Name: fmt.Sprintf("app-%03d", i)},
			Op: op, Needs: []int{2}, Source: fmt.Sprintf("apps.yaml:%d", 11*i+1), Wait: true,
		})
	}
	p.Steps = append(p.Steps, plan.Step{
		Ref: object.Ref{Group: "batch", Kind: "Job", Namespace: "shop", Name: "smoke-test"}, Op: op,
		Needs: all,
	})
	return p
}

// script is a run that is drawn.
type script struct {
	sizes   [][2]int
	options live.Options
	destroy bool
	plan    *plan.Plan
	run     *live.Run
	log     *live.Log // that was opened last
	stopped int       // how many logs were closed
	now     time.Time
	out     map[string]string
}

func (s *script) start() {
	if s.run != nil {
		return
	}
	s.plan = rollout(s.destroy)
	s.options.Title = `apply package "shop" in namespace shop, context prod`
	s.options.Now = func() time.Time { return s.now }
	s.options.Reason = view.PlainReason
	s.options.Notice = func(e event.Event) string {
		if e.Kind == event.Observed && e.Err != nil {
			return "still trying: " + e.Err.Error()
		}
		return ""
	}
	s.options.Logs = func(_ int, to *live.Log) func() {
		s.log = to
		return func() { s.stopped++ }
	}
	s.run = live.NewRun(s.plan, s.options)
}

var keyNames = map[string]fullscreen.Key{
	"Up": fullscreen.Up, "Down": fullscreen.Down, "Left": fullscreen.Left,
	"Right": fullscreen.Right, "PgUp": fullscreen.PageUp, "PgDn": fullscreen.PageDown,
	"Home": fullscreen.Home, "End": fullscreen.End, "Enter": fullscreen.Enter,
	"Esc": fullscreen.Escape, "Backspace": fullscreen.Backspace, "Space": ' ',
}

func (s *script) do(what, rest string) error {
	switch what {
	case "sizes":
		for size := range strings.FieldsSeq(rest) {
			var columns, rows int
			if _, err := fmt.Sscanf(size, "%dx%d", &columns, &rows); err != nil {
				return err
			}
			s.sizes = append(s.sizes, [2]int{columns, rows})
		}
		return nil
	case "ascii":
		s.options.ASCII = true
		return nil
	case "destroy":
		s.destroy = true
		return nil
	}
	s.start()
	switch what {
	case "after":
		d, err := time.ParseDuration(rest)
		s.now = s.now.Add(d)
		return err
	case "keys":
		for name := range strings.FieldsSeq(rest) {
			k, ok := keyNames[name]
			if !ok {
				k = fullscreen.Key([]rune(name)[0])
			}
			s.run.Key(k)
		}
	case "log":
		container, text, _ := strings.Cut(rest, " ")
		line := live.LogLine{Container: container, Text: text}
		if container == "-" {
			line = live.LogLine{Text: text, Note: true}
		}
		s.log.Add(line)
	case "closed":
		if fmt.Sprint(s.stopped) != rest {
			return fmt.Errorf("%d logs were closed", s.stopped)
		}
	case "warn":
		s.run.Warn(rest + "\n")
	case "lost":
		s.run.Event(event.Event{Kind: event.Observed, Step: 0, Err: errors.New(rest)})
	case "show":
		return s.show(rest)
	default:
		return s.send(what, rest)
	}
	return nil
}

// show adds the screen in each size. No line may exceed it.
func (s *script) show(name string) error {
	for _, size := range s.sizes {
		lines := s.run.Frame(size[0], size[1])
		if len(lines) > size[1] {
			return fmt.Errorf("%d lines on a screen of %d", len(lines), size[1])
		}
		var text strings.Builder
		for _, line := range lines {
			if n := fullscreen.Width(line.Text()); n > size[0] {
				return fmt.Errorf("%d columns on a screen of %d: %s", n, size[0], line.Text())
			}
			text.WriteString(strings.TrimRight(line.Text(), " ") + "\n")
		}
		s.out[fmt.Sprintf("%s_%dx%d", name, size[0], size[1])] = text.String()
	}
	return nil
}

// send sends the events of a line.
func (s *script) send(what, rest string) error {
	steps, text, _ := strings.Cut(rest, " ")
	first, last, several := strings.Cut(steps, "-")
	from, err := strconv.Atoi(first)
	to := from
	if several && err == nil {
		to, err = strconv.Atoi(last)
	}
	if err != nil {
		return err
	}
	for i := from; i <= to; i++ {
		for _, e := range eventsOf(what, text) {
			e.Step, e.Ref, e.Op = i, s.plan.Steps[i].Ref, s.plan.Steps[i].Op
			s.run.Event(e)
		}
	}
	return nil
}

func eventsOf(what, text string) []event.Event {
	status := ready.Status{State: ready.InProgress, Message: text}
	acted := func(o event.Outcome) event.Event { return event.Event{Kind: event.Acted, Outcome: o} }
	settled := func(o event.Outcome) event.Event {
		return event.Event{Kind: event.Settled, Outcome: o}
	}
	switch what {
	case "acted":
		return []event.Event{acted(event.Succeeded)}
	case "waiting":
		return []event.Event{{Kind: event.Waiting, Status: status}}
	case "cause":
		parts := strings.Split(text, "|")
		return []event.Event{{Kind: event.Explained, Causes: []ready.Cause{{
			Object: object.Ref{Kind: "Pod", Namespace: "shop", Name: "app-pod"}, Count: 1,
			Message: parts[0], Log: slices.Clip(parts[1:]),
		}}}}
	case "ready":
		return []event.Event{{
			Kind: event.Settled, Outcome: event.Succeeded, Status: ready.Status{State: ready.Current},
		}}
	case "late":
		return []event.Event{settled(event.TimedOut)}
	case "skipped":
		e := acted(event.Skipped)
		e.Reason = text
		return []event.Event{e, settled(event.Skipped)}
	case "refused":
		e := acted(event.Failed)
		e.Err = errors.New(text)
		return []event.Event{e, settled(event.Failed)}
	case "retried":
		return []event.Event{{Kind: event.Retried, Err: errors.New(text)}}
	}
	panic("unknown line " + what)
}

// BenchmarkFrame draws a run of thousands of objects.
func BenchmarkFrame(b *testing.B) {
	p := &plan.Plan{}
	for i := range 5000 {
		ref := object.Ref{Kind: "ConfigMap", Namespace: "shop", Name: fmt.Sprintf("settings-%04d", i)}
		p.Steps = append(p.Steps, plan.Step{Ref: ref, Op: plan.Create})
	}
	run := live.NewRun(p, live.Options{Now: time.Now, Reason: view.PlainReason})
	for b.Loop() {
		run.Frame(200, 60)
	}
}
