package cmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/apps/change"
	"github.com/muster-deploy/muster/internal/apps/ui"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// telling makes kapp's lines and kapp's errors of the events of a run.
type telling struct {
	*rollout
	progress *ui.Progress
	errs     []stepError  // in the order in which they came
	denied   map[int]bool // the steps whose write was refused, which was told then
	overdue  []string     // what was waited for when the time of the run was up
}

// stepError is what went wrong with a step.
type stepError struct {
	step int
	err  error
}

func (r *rollout) newTelling() *telling {
	items := make([]ui.Item, len(r.order.Steps))
	for i, step := range r.order.Steps {
		items[i] = ui.Item{Needs: slices.Concat(step.Needs, step.After)}
		if r.at[i] < 0 {
			continue
		}
		c := r.changes[r.at[i]]
		items[i].Word, items[i].Description = c.ApplyOp().Word(), c.Description()
		if items[i].WaitWord = string(c.WaitOp()); c.WaitOp() == change.None {
			items[i].WaitWord = string(change.Noop)
		}
	}
	return &telling{rollout: r, progress: ui.NewProgress(r.ui, items), denied: map[int]bool{}}
}

// tickEvery is how often the lines of what is still waited for may be told again.
const tickEvery = time.Second

// tick has what is waited for told again from time to time, until the function is called.
func (t *telling) tick() (stop func()) {
	ticker, done, ended := time.NewTicker(tickEvery), make(chan struct{}), make(chan struct{})
	// The caller waits for it by stop.
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				t.progress.Tick()
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
		<-ended
	}
}

// states are kapp's words for what is told of an object.
var states = map[ready.State]string{ready.Current: "ok", ready.Failed: "fail"}

func stateOf(s ready.State) string {
	if word, ok := states[s]; ok {
		return word
	}
	return "ongoing"
}

// take tells of an event. It is called from one goroutine.
func (t *telling) take(e event.Event) {
	if t.at[e.Step] < 0 {
		return
	}
	c := t.changes[t.at[e.Step]]
	told := ui.Event{Step: e.Step, State: stateOf(e.Status.State), Message: e.Status.Message, Released: e.Released}
	for _, made := range e.Children {
		told.Children = append(told.Children, ui.Child{State: stateOf(made.Status.State), Description: describe(made), Message: made.Status.Message})
	}
	switch e.Kind {
	case event.Acted:
		told.Kind = ui.Written
		switch {
		case e.Outcome == event.Failed:
			t.denied[e.Step] = true
			told.Kind, told.Err, told.Last = ui.Refused, t.refused(c, e), t.apply.earlyApplyError
			if last := givenUp(e.Err); last != nil {
				told.Kind, told.Err = ui.GivenUp, asked(c, t.sent(c, e), last)
			}
		case e.Outcome != event.Succeeded:
			told.Kind = ui.Left
		default:
			told.Message = t.overtaken(e)
		}
	case event.Retried:
		told.Kind, told.Err = ui.Retried, asked(c, c.ApplyOp(), e.Err)
	case event.Waiting, event.Observed:
		if e.Err != nil { // the cluster is out of sight for the moment, which is told once
			t.ui.Info(fmt.Sprintf("%v; what is waited for is looked for again", e.Err), "Waiting")
			return
		}
		told.Kind = ui.Seen
	case event.Settled:
		t.settle(c, e, &told)
		told.Last = t.apply.earlyWaitError && told.State != "ok" && told.Kind == ui.Settled
	default:
		return
	}
	t.progress.Take(told)
}

// overtaken says what became of a change whose object somebody else had changed by the time it was written.
func (t *telling) overtaken(e event.Event) string {
	carried, ok := t.carried.Load(t.order.Steps[e.Step].Ref)
	if !ok || e.Op == plan.Create {
		return ""
	}
	c := carried.(*change.Change)
	switch moved := c.Moved(); {
	case c.Op == change.Keep:
		return "Changed by others meanwhile in the same way"
	case len(moved) > 0:
		return "Changed by others meanwhile, which is left as it is: " + strings.Join(moved, ", ")
	}
	return ""
}

// refused notes the error of a change that could not be applied.
func (t *telling) refused(c *change.Change, e event.Event) error {
	err := e.Err
	if contested := (*engine.ContestedError)(nil); errors.As(err, &contested) {
		err = c.Exhausted(asked(c, t.sent(c, e), contested.Last))
	}
	err = refusal(c, t.sent(c, e), err)
	t.note(e, err)
	return err
}

// sent is what was asked of the server last for a change: a creation where the object of an update was deleted for that.
func (t *telling) sent(c *change.Change, e event.Event) change.Op {
	if _, there := t.met.Load(e.Ref); t.order.Steps[e.Step].Op == plan.Update && e.Op == plan.Create && !there {
		return change.Add
	}
	return c.ApplyOp()
}

// givenUp is the last error of a change that was tried again until its time was up; nil for others.
func givenUp(err error) error {
	late := (*engine.TimedOutError)(nil)
	if lingering := (*engine.LingeringError)(nil); errors.As(err, &lingering) || !errors.As(err, &late) {
		return nil
	}
	return late.Last
}

// settle makes the end of a change an event, and notes what was bad about it.
func (t *telling) settle(c *change.Change, e event.Event, told *ui.Event) {
	told.Kind = ui.Settled
	verb := string(c.WaitOp())
	switch {
	case e.Outcome == event.Succeeded:
		told.State = "ok"
		if c.WaitOp() == change.Gone {
			told.Message = ""
		}
	case e.Outcome == event.TimedOut && e.StepTimeout:
		told.Kind = ui.Left
		t.note(e, late(verb, c.Description(), t.apply.resourceTimeout))
	case e.Outcome == event.TimedOut:
		told.Kind = ui.Left
		t.overdue = append(t.overdue, c.Description())
	case e.Outcome == event.Failed && e.Status.State == ready.Failed:
		told.State = "fail"
		t.note(e, failed(verb, c.Description(), e.Status.Message))
	case e.Outcome == event.Failed && e.Err != nil && !t.denied[e.Step]:
		told.State, told.Message = "error", e.Err.Error()
		t.note(e, errored(verb, c.Description(), e.Err))
	default:
		told.Kind = ui.Left
	}
}

// note keeps what went wrong.
func (t *telling) note(e event.Event, err error) { t.errs = append(t.errs, stepError{e.Step, err}) }

// result is the error of the run: the first if it ends with it, else all, in the order of the changes.
func (t *telling) result() error {
	errs := t.errs
	if len(t.overdue) > 0 {
		errs = append(errs, stepError{len(t.at), overdue(t.apply.waitTimeout, t.overdue)})
	}
	switch {
	case len(errs) == 0:
		return nil
	case len(errs) == 1, t.apply.earlyApplyError && t.apply.earlyWaitError:
		return errs[0].err
	}
	slices.SortStableFunc(errs, func(a, b stepError) int { return cmp.Compare(a.step, b.step) })
	var texts []string
	for _, e := range errs {
		texts = append(texts, e.err.Error())
	}
	return errors.New(ui.List(texts))
}

// describe names an object that others made, as resource.Describe does.
func describe(made event.Child) string {
	version, where := made.Version, "cluster"
	if made.Ref.Group != "" {
		version = made.Ref.Group + "/" + version
	}
	if made.Ref.Namespace != "" {
		where = "namespace: " + made.Ref.Namespace
	}
	return strings.ToLower(made.Ref.Kind) + "/" + made.Ref.Name + " (" + version + ") " + where
}
