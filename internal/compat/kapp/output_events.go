package kapp

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/muster-deploy/muster/internal/compat/kapp/change"
	"github.com/muster-deploy/muster/internal/compat/kapp/deploy"
	"github.com/muster-deploy/muster/internal/compat/kapp/ui"
	"github.com/muster-deploy/muster/internal/engine"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/ready"
	"github.com/muster-deploy/muster/internal/show/view"
)

// eventPrinter prints the events of a run as kapp's lines, and collects its errors.
type eventPrinter struct {
	ui       *ui.UI
	flags    applyFlags
	steps    int // of the plan
	progress *ui.Progress
	stop     func()         // stops calling Progress.Tick
	errs     []stepError    // in the order of the events
	refused  map[int]bool   // the steps whose write failed, which was printed then
	overdue  []string       // the objects that were waited for when the time of the run was up
	causes   map[int]string // the first cause of each step that was explained
}

// stepError is the error of a step.
type stepError struct {
	step int
	err  error
}

// newEventPrinter returns a printer for the steps of a plan. Close ends it.
func newEventPrinter(u *ui.UI, flags applyFlags, steps []plan.Step) *eventPrinter {
	items := make([]ui.Item, len(steps))
	for i, step := range steps {
		items[i] = ui.Item{Needs: slices.Concat(step.Needs, step.After)}
		w := deploy.WorkOf(step.Tag)
		if w == nil {
			continue
		}
		items[i].Word, items[i].Description = w.Change.ApplyOp().Word(), w.Change.Description()
		if items[i].WaitWord = string(w.Change.WaitOp()); w.Change.WaitOp() == change.AwaitNothing {
			items[i].WaitWord = string(change.Noop)
		}
	}
	p := &eventPrinter{
		ui: u, flags: flags, steps: len(steps), progress: ui.NewProgress(u, items),
		refused: map[int]bool{}, causes: map[int]string{},
	}
	p.stop = p.startTicking()
	return p
}

// tickEvery is the pause between two calls of Progress.Tick.
const tickEvery = time.Second

// startTicking calls Progress.Tick regularly until stop is called.
func (p *eventPrinter) startTicking() (stop func()) {
	ticker, done, ended := time.NewTicker(tickEvery), make(chan struct{}), make(chan struct{})
	// Close waits for it by stop.
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				p.progress.Tick()
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

// states are kapp's words for the states of an object.
var states = map[ready.State]string{ready.Current: "ok", ready.Failed: "fail"}

func stateOf(s ready.State) string {
	if word, ok := states[s]; ok {
		return word
	}
	return "ongoing"
}

// Event prints an event. It is called from one goroutine.
func (p *eventPrinter) Event(e event.Event) {
	w := deploy.WorkOf(e.Tag)
	if w == nil {
		return
	}
	line := ui.Event{
		Step: e.Step, State: stateOf(e.Status.State), Message: e.Status.Message, Released: e.Released,
	}
	for _, child := range e.Children {
		line.Children = append(line.Children, ui.Child{
			State: stateOf(child.Status.State), Description: describeChild(child),
			Message: child.Status.Message,
		})
	}
	switch e.Kind {
	case event.Acted:
		p.acted(w, e, &line)
	case event.Retried:
		err := e.Err
		if deleted := (*engine.NotRecreatedError)(nil); errors.As(err, &deleted) {
			err = deleted.Err
		}
		if lingering := (*engine.LingeringError)(nil); errors.As(err, &lingering) {
			return // kapp prints nothing while it waits for the end of a deletion
		}
		line.Kind, line.Err = ui.Retried, deploy.RequestError(w.Change, w.Change.ApplyOp(), err)
	case event.Waiting, event.Observed:
		if unanswered := (*engine.UnansweredError)(nil); errors.As(e.Err, &unanswered) {
			p.ui.Info(e.Err.Error(), "Interrupted")
			return
		}
		if e.Err != nil { // said once for all objects
			p.ui.Info(fmt.Sprintf("%v; what is waited for is looked for again", e.Err), "Waiting")
			return
		}
		if e.Status.Reason == event.DeletionRequested {
			return
		}
		line.Kind = ui.Seen
	case event.Settled:
		p.settled(w, e, &line)
		line.Last = p.flags.stopOn().WaitError && line.State != "ok" && line.Kind == ui.Settled
	case event.Explained:
		p.explained(w, e)
		return
	default:
		return
	}
	p.progress.Take(line)
}

// acted completes the line of a finished write.
func (p *eventPrinter) acted(w *deploy.Work, e event.Event, line *ui.Event) {
	line.Kind = ui.Written
	switch {
	case e.Outcome == event.Failed:
		p.refused[e.Step] = true
		line.Kind, line.Err, line.Last = ui.Refused, p.refusal(w, e), p.flags.stopOn().WriteError
		if last := lastRetry(e.Err); last != nil {
			line.Kind, line.Err = ui.GivenUp, deploy.RequestError(w.Change, sent(w, e), last)
		}
	case e.Outcome != event.Succeeded:
		line.Kind = ui.Dropped
	default:
		line.Message = rebasedMessage(w, e)
	}
}

// explained prints why an object is not ready: a line for each cause, with the end of a log below.
func (p *eventPrinter) explained(w *deploy.Work, e event.Event) {
	lines := view.Causes(e)
	if len(lines) == 0 {
		return
	}
	p.causes[e.Step] = strings.TrimSpace(lines[0])
	p.progress.Note(append([]string{w.Change.Description() + " is not " + view.Goal(e.Op) + ":"},
		lines...)...)
}

// rebasedMessage returns the message of a change whose object others changed before it was written.
func rebasedMessage(w *deploy.Work, e event.Event) string {
	if w.Rebased == nil || e.Op == plan.Create {
		return ""
	}
	switch moved := w.Rebased.FieldsChangedByOthers(); {
	case w.Rebased.Op == change.Keep:
		return "Changed by others meanwhile in the same way"
	case len(moved) > 0:
		return "Changed by others meanwhile, which is left as it is: " + strings.Join(moved, ", ")
	}
	return ""
}

// refusal records the error of a change that could not be applied, and returns it.
func (p *eventPrinter) refusal(w *deploy.Work, e event.Event) error {
	c, err := w.Change, e.Err
	if contested := (*engine.ContestedError)(nil); errors.As(err, &contested) {
		err = c.ExhaustedError(deploy.RequestError(c, sent(w, e), contested.Last))
	}
	err = p.flags.refusal(c, sent(w, e), err)
	p.record(e, err)
	return err
}

// sent returns the last request for a change: a creation where the object of an update was deleted
// to be recreated.
func sent(w *deploy.Work, e event.Event) change.Op {
	if w.Change.ApplyOp() == change.Update && e.Op == plan.Create && !w.Existed {
		return change.Add
	}
	return w.Change.ApplyOp()
}

// lastRetry returns the last error of a change that was retried until its time was up; nil for
// others.
func lastRetry(err error) error {
	late := (*engine.TimedOutError)(nil)
	if lingering := (*engine.LingeringError)(nil); errors.As(err, &lingering) ||
		!errors.As(err, &late) {
		return nil
	}
	return late.Last
}

// settled completes the line of a finished step, and records its error.
func (p *eventPrinter) settled(w *deploy.Work, e event.Event, line *ui.Event) {
	line.Kind = ui.Settled
	c, verb := w.Change, string(w.Change.WaitOp())
	switch {
	case e.Outcome == event.Succeeded:
		line.State = "ok"
		if c.WaitOp() == change.AwaitDelete {
			line.Message = ""
		}
	case e.Outcome == event.TimedOut && e.StepTimeout:
		line.Kind = ui.Dropped
		p.record(e, late(verb, c.Description(), p.flags.resourceTimeout))
	case e.Outcome == event.TimedOut:
		line.Kind = ui.Dropped
		p.overdue = append(p.overdue, c.Description())
	case e.Outcome != event.Failed || p.refused[e.Step]:
		line.Kind = ui.Dropped
	case e.Err != nil:
		line.State, line.Message = "error", e.Err.Error()
		p.record(e, errored(verb, c.Description(), e.Err))
	default:
		line.State = "fail"
		if cause := p.causes[e.Step]; cause != "" && e.Status.State != ready.Failed {
			line.Message = cause // the object is stuck, although its status does not say so
		}
		p.record(e, failed(verb, c.Description(), line.Message))
	}
}

func (p *eventPrinter) record(e event.Event, err error) {
	p.errs = append(p.errs, stepError{e.Step, err})
}

// Close ends the output. It returns the first error if the run ends with it, else all, in the order
// of the changes.
func (p *eventPrinter) Close(complete bool) error {
	p.stop()
	p.progress.End(complete)
	errs := p.errs
	if len(p.overdue) > 0 {
		errs = append(errs, stepError{p.steps, overdue(p.flags.waitTimeout, p.overdue)})
	}
	switch early := p.flags.stopOn(); {
	case len(errs) == 0:
		return nil
	case len(errs) == 1, early.WriteError && early.WaitError:
		return errs[0].err
	}
	slices.SortStableFunc(errs, func(a, b stepError) int { return cmp.Compare(a.step, b.step) })
	var texts []string
	for _, e := range errs {
		texts = append(texts, e.err.Error())
	}
	return errors.New(ui.List(texts))
}

// describeChild names a child object, as resource.Describe does.
func describeChild(child ready.Child) string {
	version, where := child.Version, "cluster"
	if child.Ref.Group != "" {
		version = child.Ref.Group + "/" + version
	}
	if child.Ref.Namespace != "" {
		where = "namespace: " + child.Ref.Namespace
	}
	return strings.ToLower(child.Ref.Kind) + "/" + child.Ref.Name + " (" + version + ") " + where
}
