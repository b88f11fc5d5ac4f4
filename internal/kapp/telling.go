package kapp

import (
	"errors"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/kapp/change"
	"github.com/muster-deploy/muster/internal/kapp/ui"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
)

// telling makes kapp's lines and kapp's errors of the events of a run.
type telling struct {
	*rollout
	progress *ui.Progress
	errs     []error  // of changes, in the order in which they came
	overdue  []string // what was waited for when the time of the run was up
}

func (r *rollout) newTelling() *telling {
	items := make([]ui.Item, len(r.order.Steps))
	for i, step := range r.order.Steps {
		items[i] = ui.Item{Needs: append(step.Needs, step.After...)}
		if r.at[i] < 0 {
			continue
		}
		c := r.changes[r.at[i]]
		items[i].Word, items[i].Description = c.ApplyOp().Word(), c.Description()
		if items[i].WaitWord = string(c.WaitOp()); c.WaitOp() == change.None {
			items[i].WaitWord = string(change.Noop)
		}
	}
	return &telling{rollout: r, progress: ui.NewProgress(r.ui, items)}
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
	for _, made := range e.Made {
		told.Children = append(told.Children, ui.Child{State: stateOf(made.Status.State), Description: describe(made), Message: made.Status.Message})
	}
	switch e.Kind {
	case event.Acted:
		told.Kind = ui.Written
		switch {
		case e.Outcome == event.Failed:
			told.Kind, told.Err, told.Last = ui.Refused, t.refused(c, e.Err), t.apply.earlyApplyError
			if last := givenUp(e.Err); last != nil {
				told.Kind, told.Err = ui.GivenUp, asked(c, last)
			}
		case e.Outcome != event.Succeeded:
			told.Kind = ui.Left
		default:
			told.Message = t.overtaken(e)
		}
	case event.Retried:
		told.Kind, told.Err = ui.Retried, asked(c, e.Err)
	case event.Waiting, event.Observed:
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
func (t *telling) refused(c *change.Change, err error) error {
	if contested := (*engine.ContestedError)(nil); errors.As(err, &contested) {
		err = c.Exhausted(asked(c, contested.Last))
	}
	err = refusal(c, err)
	t.errs = append(t.errs, err)
	return err
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
	case e.Outcome == event.TimedOut && e.Own:
		told.Kind = ui.Left
		t.errs = append(t.errs, late(verb, c.Description(), t.apply.resourceTimeout))
	case e.Outcome == event.TimedOut:
		told.Kind = ui.Left
		t.overdue = append(t.overdue, c.Description())
	case e.Outcome == event.Failed && e.Status.State == ready.Failed:
		told.State = "fail"
		t.errs = append(t.errs, failed(verb, c.Description(), e.Status.Message))
	case e.Outcome == event.Failed && told.Kind == ui.Settled && e.Err != nil && !t.toldRefusal(e.Err):
		told.State, told.Message = "error", e.Err.Error()
		t.errs = append(t.errs, errored(verb, c.Description(), e.Err))
	default:
		told.Kind = ui.Left
	}
}

// toldRefusal reports whether the end of a change is that its write was refused, which was told when that happened.
func (t *telling) toldRefusal(err error) bool {
	for _, told := range t.errs {
		if strings.Contains(told.Error(), err.Error()) {
			return true
		}
	}
	return false
}

// result is the error of the run: the first if it ends with it, else all.
func (t *telling) result() error {
	if len(t.overdue) > 0 && len(t.errs) == 0 {
		return overdue(t.apply.waitTimeout, t.overdue)
	}
	if len(t.errs) == 0 {
		return nil
	}
	if t.apply.earlyApplyError && t.apply.earlyWaitError || len(t.errs) == 1 {
		return t.errs[0]
	}
	var texts []string
	for _, err := range t.errs {
		texts = append(texts, err.Error())
	}
	return errors.New(ui.List(texts))
}

// describe names an object that others made, as resource.Describe does.
func describe(made event.Made) string {
	version, where := made.Version, "cluster"
	if made.Ref.Group != "" {
		version = made.Ref.Group + "/" + version
	}
	if made.Ref.Namespace != "" {
		where = "namespace: " + made.Ref.Namespace
	}
	return strings.ToLower(made.Ref.Kind) + "/" + made.Ref.Name + " (" + version + ") " + where
}
