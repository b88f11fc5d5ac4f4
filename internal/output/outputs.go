package output

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/muster-deploy/muster/internal/cli"
	"github.com/muster-deploy/muster/internal/event"
	"github.com/muster-deploy/muster/internal/plan"
	"github.com/muster-deploy/muster/internal/report"
	"github.com/muster-deploy/muster/internal/view"
)

// Outputs are the readers of one run. Close, or Printer and its Close, end them.
type Outputs struct {
	env    *cli.Env
	stdout string
	files  []target
}

// target is a reader with its file.
type target struct {
	Reader
	*file
}

// Open begins the files of readers. If one cannot be written, none is left.
func Open(env *cli.Env, readers []Reader) (*Outputs, error) {
	o := &Outputs{env: env, stdout: readers[0].Kind}
	for _, r := range readers[1:] {
		f, err := create(r.Path)
		if err != nil {
			o.Discard()
			return nil, fmt.Errorf("--output %s=%s: %w; nothing was changed", r.Kind, r.Path, err)
		}
		o.files = append(o.files, target{r, f})
	}
	return o, nil
}

// Stdout returns the kind of the reader on the standard output.
func (o *Outputs) Stdout() string { return o.stdout }

// Text reports whether the standard output is for people who follow the run.
func (o *Outputs) Text() bool {
	switch o.stdout {
	case Lines, Table, GitHub, GitLab, Live:
		return true
	default:
		return false
	}
}

// Discard removes the files of a run that did not begin. It does nothing after Close.
func (o *Outputs) Discard() {
	for _, t := range o.files {
		t.discard()
	}
}

// Print calls print for each reader of what is no run, and puts the files in their places.
func (o *Outputs) Print(print func(r Reader, out io.Writer) error) error {
	defer o.Discard()
	if err := print(Reader{Kind: o.stdout}, o.env.Out); err != nil {
		return err
	}
	for _, t := range o.files {
		if err := print(t.Reader, t.file); err != nil {
			return err
		}
		if err := t.commit(); err != nil {
			return fmt.Errorf("write the output %s: %w", t.Kind, err)
		}
	}
	return nil
}

// Render writes a report on recorded runs, or on a plan, for a reader. Of a plan the lines of the
// log are written before.
func Render(env *cli.Env, r Reader, out io.Writer, runs []*report.Run) error {
	each := &rendering{kind: r.Kind, out: out, job: r.Path == ""}
	return each.render(env, runs)
}

// Forms are how a command prints a run.
type Forms struct {
	// Form returns how lines, tables and JSON are printed to a writer.
	Form func(out io.Writer) view.RunForm
	// Live returns the printer of Live; nil if there is none.
	Live func(*plan.Plan, view.RunOptions) view.Printer
}

// Printer returns the printer for the run of a plan to all readers. show is how the run is printed
// on the standard output.
func (o *Outputs) Printer(p *plan.Plan, show view.RunOptions, forms Forms) view.Printer {
	all := &fanOut{outputs: o}
	if printer := o.stdoutPrinter(p, show, forms); printer != nil {
		all.printers = append(all.printers, printer)
	}
	var reports []*rendering
	for _, t := range o.files {
		switch t.Kind {
		case Lines, Table, JSON:
			all.printers = append(all.printers, plainTo(t.file, t.Kind, p, show, forms))
		default:
			reports = append(reports, &rendering{kind: t.Kind, out: t.file})
		}
	}
	switch o.stdout {
	case JUnit, HTML, Markdown:
		reports = append(reports, &rendering{kind: o.stdout, out: show.Out})
	case GitHub, GitLab:
		reports = append(reports, &rendering{kind: o.stdout, out: show.Out, job: true})
	}
	if len(reports) > 0 {
		reader := &report.Reader{}
		all.printers = append(all.printers, &reporting{
			Printer: plainTo(reader, JSON, p, show, forms), reader: reader, renderings: reports, env: o.env,
		})
	}
	return all
}

// stdoutPrinter returns the printer of what is printed during the run, or nil.
func (o *Outputs) stdoutPrinter(p *plan.Plan, show view.RunOptions, forms Forms) view.Printer {
	switch o.stdout {
	case JUnit, HTML, Markdown, Quiet:
		return nil
	case GitHub, GitLab:
		out := show.Out
		if o.stdout == GitHub {
			out = commandless{show.Out}
		}
		return &sections{
			Printer: plainTo(out, Lines, p, show, forms), out: show.Out, plan: p, kind: o.stdout,
			now: show.Now,
		}
	case Live:
		if forms.Live != nil {
			return forms.Live(p, show)
		}
	}
	return plainPrinter(p, show, o.stdout)
}

// plainTo returns a printer of lines, a table or JSON to a writer that is no terminal.
func plainTo(
	out io.Writer, kind string, p *plan.Plan, show view.RunOptions, forms Forms,
) view.Printer {
	show.RunForm, show.Out, show.Terminal = forms.Form(out), out, view.Terminal{}
	return plainPrinter(p, show, kind)
}

func plainPrinter(p *plan.Plan, show view.RunOptions, kind string) view.Printer {
	show.Output = view.OutputText
	if kind == Table || kind == JSON {
		show.Output = kind
	}
	return show.Printer(p)
}

// fanOut passes a run to many printers and puts the files in their places at the end.
type fanOut struct {
	outputs  *Outputs
	printers []view.Printer
}

// Event passes one event on.
func (f *fanOut) Event(e event.Event) {
	for _, p := range f.printers {
		p.Event(e)
	}
}

// Close ends all printers and files.
func (f *fanOut) Close(failed error) error {
	var errs []error
	for _, p := range f.printers {
		errs = append(errs, p.Close(failed))
	}
	for _, t := range f.outputs.files {
		if err := t.commit(); err != nil {
			errs = append(errs, fmt.Errorf("write the output %s: %w", t.Kind, err))
		}
	}
	if len(errs) > 0 && cli.IsBrokenPipe(errs[0]) {
		errs = errs[1:] // nobody reads the standard output any more; the files matter
	}
	return errors.Join(errs...)
}

// rendering is a report on a run that is written at its end.
type rendering struct {
	kind string
	out  io.Writer
	job  bool // the lines of the run are in the log already
}

// reporting collects a run as JSON and renders reports at its end.
type reporting struct {
	view.Printer
	reader     *report.Reader
	renderings []*rendering
	env        *cli.Env
}

// Close writes the reports.
func (r *reporting) Close(failed error) error {
	errs := []error{r.Printer.Close(failed)}
	for _, each := range r.renderings {
		errs = append(errs, each.render(r.env, r.reader.Runs()))
	}
	return errors.Join(errs...)
}

// render writes one report. GitHub and GitLab as the reader of a job have the lines of the run
// before; with a file they are what the service takes as a file.
func (r *rendering) render(env *cli.Env, runs []*report.Run) error {
	workspace := env.Getenv("GITHUB_WORKSPACE")
	switch {
	case r.kind == GitHub && r.job:
		_, err := io.WriteString(r.out, report.Annotations(runs, workspace))
		return errors.Join(err, appendSummary(env, runs))
	case r.kind == GitLab && r.job:
		return nil
	}
	return RenderFile(env, r.kind, r.out, runs)
}

// RenderFile writes a report as a file: of GitHub the step summary, of GitLab the code quality
// report, and of every other kind what is printed too.
func RenderFile(env *cli.Env, kind string, out io.Writer, runs []*report.Run) error {
	switch kind {
	case GitHub:
		return report.Render(out, report.Markdown, runs, "")
	case GitLab:
		text, err := report.CodeQuality(runs, env.Getenv("CI_PROJECT_DIR"))
		if err == nil {
			_, err = out.Write(text)
		}
		return err
	default:
		return report.Render(out, report.Format(kind), runs, env.Getenv("GITHUB_WORKSPACE"))
	}
}

// summaryVariable has the name of the file with the summary of a step on GitHub.
const summaryVariable = "GITHUB_STEP_SUMMARY"

// appendSummary appends the summary of runs to that of the step. GitHub shows none that is larger
// than it allows; what other commands of the step wrote counts too.
func appendSummary(env *cli.Env, runs []*report.Run) error {
	path := env.Getenv(summaryVariable)
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("write $%s: %w", summaryVariable, err)
	}
	limit := report.SummaryLimit
	if info, err := f.Stat(); err == nil {
		limit -= int(min(info.Size(), report.SummaryLimit))
	}
	_, err = f.WriteString(report.Summary(runs, limit))
	return errors.Join(err, f.Close())
}
