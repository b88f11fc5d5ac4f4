package output

import (
	"io"
	"time"

	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/report"
	"github.com/muster-deploy/muster/internal/view"
)

// commandless writes lines in which GitHub finds no commands.
type commandless struct{ out io.Writer }

// Write writes whole lines.
func (c commandless) Write(text []byte) (int, error) {
	if _, err := io.WriteString(c.out, report.PlainGitHub(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}

// sections prints the lines of a run in folds of the log of a job: one for what is applied, and one
// for what is deleted.
type sections struct {
	view.Printer
	out  io.Writer
	plan *plan.Plan
	kind string
	now  func() time.Time
	open report.Section
	name string
}

// Event prints one event.
func (s *sections) Event(e event.Event) {
	step := &s.plan.Steps[e.Step]
	name := "apply"
	if step.Op.Removes() || step.Op == plan.AwaitDeleted {
		name = "prune"
		if s.plan.Destroys {
			name = "destroy"
		}
	}
	if e.Kind == event.Acted && name != s.name {
		s.end()
		s.open, s.name = report.GitHubSection(name), name
		if s.kind == GitLab {
			s.open = report.GitLabSection("muster_"+name, name, s.now())
		}
		_, _ = io.WriteString(s.out, s.open.Begin()) // an error repeats with the lines
	}
	s.Printer.Event(e)
}

// end closes the open section.
func (s *sections) end() {
	if s.name != "" {
		_, _ = io.WriteString(s.out, s.open.End())
	}
	s.name = ""
}

// Close ends the section before the totals.
func (s *sections) Close(failed error) error {
	s.end()
	return s.Printer.Close(failed)
}
