package run

import (
	"cmp"
	"slices"
	"time"

	"github.com/muster-deploy/muster"
)

// quietTime is how long a run has a slot without writing anything.
const quietTime = 5 * time.Second

// quiet returns how long a run has a slot without writing anything.
func (r *Runner) quiet() time.Duration { return cmp.Or(r.Quiet, quietTime) }

// enter notes that a phase begins.
func (j *job) enter(p Phase) {
	j.progress(func(to *Progress) { to.Phase = p })
	j.limitPhase(p)
}

// opens notes that a revision of the source is fetched.
func (j *job) opens(revision string) {
	j.enter(Opening)
	j.run.mutex.Lock()
	defer j.run.mutex.Unlock()
	j.run.revision = revision
}

// progress changes how far the run is.
func (j *job) progress(change func(*Progress)) {
	j.run.mutex.Lock()
	defer j.run.mutex.Unlock()
	change(&j.run.progress)
}

// rest notes that nothing more is written for now, and leaves the gate.
func (j *job) rest() {
	j.slot.leave()
	j.lighten()
	if j.ended != nil {
		j.ended()
	}
	j.progress(func(to *Progress) { to.Idle = true })
	j.runner.Changed(j.name())
}

// hear returns the sink of the events of the run, which passes them on to another one, unless that
// is nil. The run rests when everything is written, or when nothing was written for a while after
// the plan was made.
func (j *job) hear(next func(muster.Event)) func(muster.Event) {
	quiet := j.runner.quiet()
	j.idle = time.AfterFunc(time.Hour, j.rest)
	j.idle.Stop()
	waiting := map[muster.Object]string{} // causes of objects that are waited for
	return func(e muster.Event) {
		if next != nil {
			next(e)
		}
		news, rests := false, false
		j.progress(func(p *Progress) {
			switch e.Type {
			case muster.Written:
				p.Written++
				p.Idle, rests = false, p.Written >= p.Total
				j.run.compared, j.run.wrote = false, time.Now()
				j.idle.Reset(quiet)
			case muster.Explained:
				if len(e.State.Causes) > 0 {
					news = waiting[e.Object] != e.State.Causes[0]
					waiting[e.Object] = e.State.Causes[0]
				}
			case muster.Ended:
				_, news = waiting[e.Object]
				delete(waiting, e.Object)
			default:
				return
			}
			if news {
				p.Causes = causesOf(waiting)
			}
		})
		if rests {
			j.idle.Stop()
			j.rest()
		} else if news {
			j.runner.Changed(j.name())
		}
	}
}

// causesOf returns causes in the order of their objects.
func causesOf(waiting map[muster.Object]string) (causes []Cause) {
	for object, message := range waiting {
		causes = append(causes, Cause{Object: object, Message: message})
	}
	slices.SortFunc(causes, func(a, b Cause) int {
		return cmp.Compare(a.Object.String(), b.Object.String())
	})
	return causes
}
