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
func (j *job) enter(p Phase) { j.progress(func(to *Progress) { to.Phase = p }) }

// progress changes how far the run is.
func (j *job) progress(change func(*Progress)) {
	j.run.mutex.Lock()
	defer j.run.mutex.Unlock()
	change(&j.run.progress)
}

// hear returns the sink of the events of the run. The slot of the gate is given back when
// everything is written, or when nothing was written for a while after the plan was made.
func (j *job) hear() func(muster.Event) {
	quiet := j.runner.quiet()
	j.idle = time.AfterFunc(time.Hour, j.leave)
	j.idle.Stop()
	waiting := map[muster.Object]string{} // causes of objects that are waited for
	return func(e muster.Event) {
		news := false
		j.progress(func(p *Progress) {
			switch e.Type {
			case muster.Written:
				j.idle.Reset(quiet)
				if p.Written++; p.Written >= p.Total {
					j.leave()
				}
			case muster.Explained:
				if len(e.State.Causes) > 0 {
					news = waiting[e.Object] != e.State.Causes[0]
					waiting[e.Object] = e.State.Causes[0]
				}
			case muster.Ended:
				if e.Outcome == muster.Succeeded {
					p.Ready++
				}
				_, news = waiting[e.Object]
				delete(waiting, e.Object)
			default:
				return
			}
			if news {
				p.Causes = causesOf(waiting)
			}
		})
		if news {
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
