package output

import (
	"fmt"
	"io"
	"time"

	"github.com/muster-deploy/muster/internal/base/plaintext"
	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/show/report"
	"github.com/muster-deploy/muster/internal/show/view"
)

// PrintSection prints a text as a fold in the log of a job.
func PrintSection(out io.Writer, kind, title, text string, now time.Time) error {
	s := sectionOf(kind, title, now)
	text = plaintext.WithoutCommands(text)
	_, err := io.WriteString(cli.Raw(out), s.Begin()+text+s.End())
	return err
}

// sectionOf returns a fold. The time makes its name unique in the job.
func sectionOf(kind, title string, now time.Time) report.Section {
	if kind == GitLab {
		return report.GitLabSection(fmt.Sprintf("muster_%s_%d", title, now.UnixNano()), title, now)
	}
	return report.GitHubSection(title)
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
		s.open, s.name = sectionOf(s.kind, name, s.now()), name
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
